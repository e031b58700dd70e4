"""Every host has a clock of its own, which is wrong and too fast or too slow."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape


def twist(shape: Shape, draw: random.Random) -> Shape:
    return replace(shape, clock_skew_ms=draw.choice([50, 2_000, 60_000]), clock_drift=draw.choice([0.0, 0.001, 0.03]))
