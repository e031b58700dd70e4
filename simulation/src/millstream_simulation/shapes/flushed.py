"""Every record is flushed before it is acknowledged: so all that is acknowledged survives a power loss."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape


def twist(shape: Shape, draw: random.Random) -> Shape:
    return replace(shape, settings={**shape.settings, "log.flush.interval.messages": "1"})
