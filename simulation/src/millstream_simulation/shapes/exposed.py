"""A topic is there whose directories get lost."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape


def twist(shape: Shape, draw: random.Random) -> Shape:
    return replace(shape, exposed_topics=True)
