"""Segments of a few batches, read from the disk, cleaned eagerly and let go soon."""

import random
from dataclasses import replace

from millstream_simulation.shape import Shape


def twist(shape: Shape, draw: random.Random) -> Shape:
    """A segment is full when its index is: after so many entries, each for so many bytes.

    Smaller ones, with a cleaner in more of a hurry, cost more than all the rest of a run.
    """
    entries, interval_bytes = draw.choice([(3, 0), (5, 0), (2, 400), (5, 400), (2, 1000), (5, 1000)])
    settings = {
        "log.index.size.max.bytes": str(12 * (entries + 1)),
        "log.index.interval.bytes": str(interval_bytes),
        "log.cleaner.backoff.ms": "500",
        "log.cleaner.min.cleanable.ratio": "0.01",
        "log.cleaner.min.compaction.lag.ms": draw.choice(["0", "8000"]),
        "log.cleaner.delete.retention.ms": draw.choice(["20000", "86400000"]),  # longer than the audit may be away
        "log.segment.delete.delay.ms": draw.choice(["0", "1000"]),
    }
    return replace(
        shape,
        settings={**shape.settings, **settings},
        cold_reads=draw.choice([0.0, 0.05]),
        fading_topics=True,
    )
