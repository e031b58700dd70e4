"""What a seed decides before a log's course begins."""

import random
from dataclasses import dataclass
from enum import StrEnum

from millstream_log import LogConfig


class Trouble(StrEnum):
    CUT = "cut"
    POWER = "power"
    BAD_FLUSH = "bad flush"
    FULL_DISK = "full disk"


@dataclass(frozen=True, slots=True)
class Draw:
    compacts: bool
    follows: bool
    """Whether it takes a leader's batches, with gaps where that one compacted."""
    cleans: bool
    """Whether it is compacted here too: gaps may come from the leader alone."""
    config: LogConfig
    delete_retention_ms: int
    troubles: frozenset[Trouble]
    """Beside kills: some find what all of them together hide."""

    @classmethod
    def of(cls, draw: random.Random) -> "Draw":
        compacts = draw.random() < 0.5
        config = LogConfig(
            segment_bytes=draw.choice([400, 800, 3000]),
            index_interval_bytes=draw.choice([60, 200]),
            flush_messages=draw.choice([1, 5, (1 << 63) - 1]),
        )
        troubles = frozenset(trouble for trouble in Trouble if draw.random() < 0.5)
        follows = compacts and draw.random() < 0.5
        cleans = compacts and not (follows and draw.random() < 0.5)
        return cls(compacts, follows, cleans, config, draw.choice([0, 1000]), troubles)
