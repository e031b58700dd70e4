"""Every record is flushed before it is acknowledged: so all that is acknowledged survives a power loss, wherever it happens."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape

EACH = {"log.flush.interval.messages": "1"}
BEFORE_VISIBLE = {"flush.messages": str(2**63 - 1), "millstream.visible.after.flush": "true"}
"""Of topics, beside which those of the coordinators are flushed record by record."""


def twist(shape: Shape, draw: random.Random) -> Shape:
    """By an append that waits for its disk, or by being shown and acknowledged only when all in sync have flushed it."""
    return flushed(shape, before_visible=draw.random() < 0.4)


def flushed(shape: Shape, *, before_visible: bool) -> Shape:
    topic_configs = {**shape.topic_configs, **(BEFORE_VISIBLE if before_visible else {})}
    return replace(shape, settings={**shape.settings, **EACH}, topic_configs=topic_configs)
