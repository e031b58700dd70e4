"""In the end one broker comes back with an empty disk."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape


def twist(shape: Shape, draw: random.Random) -> Shape:
    return replace(shape, empty_disk=True)
