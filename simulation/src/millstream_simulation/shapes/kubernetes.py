"""The metadata log is in an API server, not in a directory."""

import random
from dataclasses import replace

from millstream.roles import Role
from millstream_simulation.metadata_stores import IN_KUBERNETES, PROPERTY
from millstream_simulation.shape import SETTINGS, Kind, Shape

CHECKPOINT = "log.flush.offset.checkpoint.interval.ms"


def twist(shape: Shape, draw: random.Random) -> Shape:
    """Brokers write down seldom what metadata they have applied, or often."""
    checkpoint_ms = draw.choice(["300", "60000"])
    return replace(shape, settings={**shape.settings, PROPERTY: IN_KUBERNETES, CHECKPOINT: checkpoint_ms})


def stranded(*, quiet: bool = False) -> Shape:
    """Active controllers that lose the API server and nothing else, one after another; `quiet`: and no client wants anything of them."""
    return Shape(
        kinds=(Kind.CLASSIC,),
        counts={Role.CONTROLLER: 2, Role.BROKER: 2, Role.COORDINATOR: 1},
        partitions=1,
        producers=1,
        members=1,
        settings={**SETTINGS, PROPERTY: IN_KUBERNETES, CHECKPOINT: "60000"},
        troubles=("strand-active",),
        passing_topics=not quiet,
        lasting_topics=not quiet,
    )
