"""Nothing is asked of the controllers but what nodes ask: no client's request makes a node look for another one."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape


def twist(shape: Shape, draw: random.Random) -> Shape:
    return replace(shape, passing_topics=False, lasting_topics=False)
