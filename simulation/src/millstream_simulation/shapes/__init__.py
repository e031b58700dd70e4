"""Kinds of shape: what sets a drawn run apart from the plain one, one module each.

To add one: a function that takes the shape drawn so far and returns it changed (its draws are its own, so that it changes no
other's), and its line in TWISTS.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millstream_simulation.shape import Shape
from millstream_simulation.shapes import (
    clocks,
    directories,
    empty_disk,
    exposed,
    flushed,
    kubernetes,
    lasting,
    quiet,
    replicated,
    small_segments,
)


@dataclass(frozen=True, slots=True)
class Twist:
    apply: Callable[[Shape, random.Random], Shape]
    probability: float
    """In how many of the drawn runs."""


TWISTS: Mapping[str, Twist] = {
    "kubernetes": Twist(kubernetes.twist, 0.5),
    "clocks": Twist(clocks.twist, 0.4),
    "lasting": Twist(lasting.twist, 0.5),
    "small-segments": Twist(small_segments.twist, 0.5),
    "flushed": Twist(flushed.twist, 0.5),
    "exposed": Twist(exposed.twist, 0.4),
    "empty-disk": Twist(empty_disk.twist, 0.4),
    "quiet": Twist(quiet.twist, 0.2),
    "replicated": Twist(replicated.twist, 0.6),
    "directories": Twist(directories.twist, 0.35),
}
