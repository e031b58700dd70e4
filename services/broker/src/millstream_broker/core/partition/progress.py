"""How far one follower is, as its leader knows it from its fetches in the present leader epoch.

A follower lags by time, not by records: it may be behind for as long as it reaches the leader's end now and then. The time
is when its fetch arrived. How long the leader then takes to answer is no fault of the follower (KIP-501).
"""

from typing import Final

from mypy_extensions import i64

NO_BROKER_EPOCH: Final = -1
NO_TIME: Final = -1
UNKNOWN_END: Final = -1


class Progress:
    """Invariant (`check`): nothing is known of who has not fetched; times do not go back."""

    __slots__ = (
        "broker_epoch",
        "cannot_append",
        "caught_up_ms",
        "end_offset",
        "fetched_ms",
        "leader_end_offset",
        "log_start_offset",
    )

    def __init__(self) -> None:
        self.end_offset: i64 = UNKNOWN_END
        """Its log reached up to here at its last fetch. This is what counts for the high watermark; it may fall when it restarts."""
        self.broker_epoch: i64 = NO_BROKER_EPOCH
        """The life that fetched last (KIP-903): an ISR is proposed with it, and a late fetch of an earlier life says nothing."""
        self.caught_up_ms: i64 = NO_TIME
        """When it last had everything that the leader had; of who is new in the ISR, when it was first looked at."""
        self.fetched_ms: i64 = NO_TIME
        """When its last fetch arrived."""
        self.leader_end_offset: i64 = 0
        """Where the leader's log ended then."""
        self.log_start_offset: i64 = UNKNOWN_END
        """Where its log begins, as it last said."""
        self.cannot_append = False
        """Its log refused an append, as it last said: it will not have more before that is mended."""

    def on_fetched(self, fetch_offset: i64, *, leader_end_offset: i64, broker_epoch: i64, now_ms: i64) -> bool:
        """Note a fetch that arrived at `now_ms`; False if it is of an earlier life."""
        if broker_epoch < self.broker_epoch:
            return False
        if fetch_offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif fetch_offset >= self.leader_end_offset and self.fetched_ms >= 0:
            # It now has what there was at its fetch before: so it kept up at that time, however much came since.
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.end_offset = fetch_offset
        self.broker_epoch = broker_epoch
        self.fetched_ms = max(self.fetched_ms, now_ms)
        self.leader_end_offset = max(self.leader_end_offset, leader_end_offset)
        return True

    def on_joining(self, now_ms: i64) -> None:
        """It is about to be in the ISR, and gets the whole time that a member may lag."""
        self.caught_up_ms = max(self.caught_up_ms, now_ms)

    def look(self, now_ms: i64) -> None:
        """A member of the ISR that was not heard of yet has its time from now on."""
        if self.caught_up_ms < 0:
            self.caught_up_ms = now_ms

    def lags(self, leader_end_offset: i64, now_ms: i64, lag_max_ms: i64) -> bool:
        """Who cannot append lags from the moment that it says so: waiting for it would be in vain."""
        if self.cannot_append:
            return True
        return self.end_offset < leader_end_offset and now_ms - self.caught_up_ms > lag_max_ms

    def check(self) -> None:
        assert (self.fetched_ms < 0) == (self.end_offset < 0)
        assert self.end_offset >= 0 or (self.broker_epoch == NO_BROKER_EPOCH and not self.cannot_append)
        assert self.end_offset <= self.leader_end_offset or self.end_offset < 0
