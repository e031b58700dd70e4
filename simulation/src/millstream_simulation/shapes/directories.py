"""Every broker has two data directories, of which one may fail, and replicas move between them."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape

AWAY_MS = "11000"
"""Since when a directory is away becomes known after ten seconds."""


def twist(shape: Shape, draw: random.Random) -> Shape:
    """What stays away is made again within the run, as often as not."""
    settings = {**shape.settings, "broker.replacement.timeout.ms": draw.choice([AWAY_MS, AWAY_MS, "600000"])}
    return replace(shape, log_dirs=2, settings=settings)


def two_directories(shape: Shape) -> Shape:
    return replace(shape, log_dirs=2, settings={**shape.settings, "broker.replacement.timeout.ms": AWAY_MS})
