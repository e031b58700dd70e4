"""Three replicas of everything on three brokers or more, of which two have to have what is acknowledged."""

import random
from dataclasses import replace

from millstream.roles import Role
from millstream_simulation.shape import SETTINGS, Kind, Shape

FACTOR = 3
MIN_ISR = 2
REPLICATION = {
    "default.replication.factor": str(FACTOR),
    "min.insync.replicas": str(MIN_ISR),
    "offsets.topic.replication.factor": str(FACTOR),
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.replication.factor": str(FACTOR),
    "transaction.state.log.min.isr": str(MIN_ISR),
    "transaction.state.log.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": str(FACTOR),
    "share.coordinator.state.topic.min.isr": str(MIN_ISR),
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "400",
}
FETCH_BYTES = ("300", "1048576")
"""Little: a follower needs many fetches for what it has missed, and something happens between two of them."""


def twist(shape: Shape, draw: random.Random) -> Shape:
    """Less of everything else: each request is followed by others between brokers."""
    settings = {
        **shape.settings,
        **REPLICATION,
        "replica.lag.time.max.ms": draw.choice(["1500", "4000"]),
        "replica.fetch.max.bytes": draw.choice(FETCH_BYTES),
    }
    if "log.cleaner.backoff.ms" in settings:
        settings["log.cleaner.backoff.ms"] = "1500"  # there are as many cleaners as replicas
    return replace(
        shape,
        counts={Role.CONTROLLER: 2, Role.BROKER: draw.choice([3, 3, 3, 4, 5]), Role.COORDINATOR: draw.choice([1, 2])},
        partitions=draw.choice([1, 2]),
        members=min(shape.members, 2),
        trouble_s=draw.choice([12.0, 20.0, 30.0]),
        settings=settings,
        replicated=True,
    )


def replicated(kind: Kind, troubles: tuple[str, ...], trouble_s: float = 20.0) -> Shape:
    """A small cluster of three brokers with these kinds of trouble."""
    return Shape(
        kinds=(kind,),
        counts={Role.CONTROLLER: 2, Role.BROKER: 3, Role.COORDINATOR: 1},
        partitions=1,
        producers=2,
        members=1,
        trouble_s=trouble_s,
        settings={**SETTINGS, **REPLICATION},
        troubles=troubles,
        replicated=True,
    )
