"""Topics are made in the middle of trouble, and stay."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape


def twist(shape: Shape, draw: random.Random) -> Shape:
    return replace(shape, lasting_topics=True)
