"""Carries out what a partition's step machine decided: tells those who wait, and the log."""

import logging
from collections.abc import Iterable
from typing import Final, assert_never

from millstream_broker.core.partition.effects import (
    Committed,
    CommitWaitsEnded,
    Effect,
    LeadershipBegan,
    LeadershipEnded,
    LogGrew,
    LogStartsMoved,
    ProposeIsr,
)
from millstream_broker.core.reads.bounds import Bound
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.partition.hosted import HostedPartition

logger = logging.getLogger(__name__)

_LOG_END: Final = Bound.LOG_END
_HIGH_WATERMARK: Final = Bound.HIGH_WATERMARK
_LAST_STABLE_OFFSET: Final = Bound.LAST_STABLE_OFFSET


def perform(effects: Iterable[Effect], hosted: HostedPartition, delays: Delays) -> None:
    for effect in effects:
        if isinstance(effect, LogGrew):
            delays.reached(hosted.place(_LOG_END), effect.end_offset, effect.size)
        elif isinstance(effect, Committed):
            delays.reached(hosted.place(_HIGH_WATERMARK), effect.high_watermark, effect.size)
            if effect.stable_size:
                place = hosted.place(_LAST_STABLE_OFFSET)
                delays.reached(place, effect.last_stable_offset, effect.stable_size)
        elif isinstance(effect, CommitWaitsEnded):
            for wait in effect.waits:
                wait.answer(effect.error_code)
        elif isinstance(effect, LeadershipBegan):
            epoch, offset = effect.leader_epoch, effect.start_offset
            logger.debug("leadership began partition=%s leader_epoch=%d offset=%d", hosted.name, epoch, offset)
        elif isinstance(effect, LeadershipEnded):
            logger.debug("leadership ended partition=%s", hosted.name)
            wake_all(hosted, delays)
        elif isinstance(effect, ProposeIsr):
            hosted.isr_changes.add(hosted.key, effect)
        elif isinstance(effect, LogStartsMoved):
            delays.changed(hosted.starts_place)
        else:
            assert_never(effect)


def wake_all(hosted: HostedPartition, delays: Delays) -> None:
    """Have everybody who waits here answered with what there is now."""
    for bound in Bound:
        delays.changed(hosted.place(bound))
    delays.changed(hosted.starts_place)
