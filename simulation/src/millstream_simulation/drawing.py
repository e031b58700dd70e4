"""Draws a run's shape from its seed: the plain one first, then which twists and which kinds of trouble it has."""

import random
from dataclasses import replace

from millstream.roles import Role
from millstream_simulation.shape import SETTINGS, Kind, Shape
from millstream_simulation.shapes import TWISTS
from millstream_simulation.troubles import TROUBLES


def drawn(seed: int) -> Shape:
    """Each twist and each trouble draws for itself: one more of them leaves the others' draws as they were."""
    shape = _plain(seed)
    for name, twist in TWISTS.items():
        draw = random.Random(f"{seed} twist {name}")
        if draw.random() < twist.probability:
            shape = replace(twist.apply(shape, draw), twists=(*shape.twists, name))
    troubles = [
        name
        for name, trouble in TROUBLES.items()
        if (trouble.needs is None or trouble.needs in shape.twists)
        and random.Random(f"{seed} trouble {name}").random() < trouble.probability
    ]
    return replace(shape, troubles=tuple(troubles))


def _plain(seed: int) -> Shape:
    """Small, and of many kinds: that finds more in the same time than much of one kind."""
    draw = random.Random(f"{seed} shape")
    kinds = draw.choice([(kind,) for kind in Kind] * 2 + [tuple(Kind)[:3]])
    return Shape(
        kinds=kinds,
        counts={
            Role.CONTROLLER: draw.choice([1, 2, 2]),
            Role.BROKER: draw.choice([1, 2, 3]),
            Role.COORDINATOR: draw.choice([1, 2, 2, 3]),
        },
        partitions=draw.choice([1, 2, 3, 4]),
        producers=2,
        members=draw.choice([1, 2, 3, 4]),
        trouble_s=draw.choice([10.0, 16.0, 25.0, 40.0]),
        settings={**SETTINGS, "group.consumer.assignment.interval.ms": draw.choice(["0", "200", "1000"])},
        producer_pause_s=draw.choice([(0.02, 0.5), (0.1, 1.5), (0.1, 1.5), (0.2, 2.0)]),
    )
