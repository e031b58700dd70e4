"""Controller mutations (KIP-599): how many partitions a client may create or delete a second, by a bucket of tokens for each.

Requests of versions that know THROTTLING_QUOTA_EXCEEDED are refused what comes once the bucket is overdrawn (strict). Older ones
are never refused: their client waits.
"""

from millstream_cluster.quotas.accounts import Accounts
from millstream_cluster.quotas.bounds import Bounds, Client, QuotasByEntity
from millstream_cluster.quotas.keys import MUTATIONS
from millstream_cluster.quotas.throttled import Throttled
from millstream_cluster.quotas.token_bucket import TokenBucket
from millstream_cluster.quotas.windows import Windows

REMEMBERED_MS = 3_600_000
"""A bucket that is overdrawn takes time to fill; whoever did nothing for so long begins anew, as in Kafka."""


class Allowance:
    """What one request may change; this one may change anything."""

    throttle_ms = 0
    """How long its client has to wait."""

    def take(self, partitions: int) -> bool:
        """Whether so many partitions more may be created or deleted."""
        return True


UNLIMITED = Allowance()


class MutationQuota:
    def __init__(self, windows: Windows) -> None:
        self.throttled = Throttled(MUTATIONS)
        self._windows = windows
        self._bounds = Bounds({}, MUTATIONS)
        self._buckets: Accounts[TokenBucket] = Accounts(REMEMBERED_MS)

    @property
    def accounts(self) -> int:
        """How many clients are remembered."""
        return len(self._buckets)

    def configure(self, quotas: QuotasByEntity) -> None:
        """From now on these hold; a bucket keeps what it has."""
        self._bounds = Bounds(quotas, MUTATIONS)
        if not self._bounds:
            self._buckets.clear()

    def allowance(self, client: Client, now_ms: int, *, is_strict: bool) -> Allowance:
        found = self._bounds.find(client)
        if found is None:
            return UNLIMITED
        owner, per_s = found
        bucket = self._buckets.find(owner, now_ms)
        if bucket is None:
            bucket = self._buckets.open(owner, TokenBucket(self._windows, now_ms))
        return _Limited(bucket, self.throttled, per_s, now_ms, is_strict=is_strict)


class _Limited(Allowance):
    def __init__(
        self, bucket: TokenBucket, throttled: Throttled, per_s: float, now_ms: int, *, is_strict: bool
    ) -> None:
        self._bucket = bucket
        self._throttled = throttled
        self._per_s = per_s
        self._now_ms = now_ms
        self._is_strict = is_strict

    def take(self, partitions: int) -> bool:
        overdrawn_ms = self._bucket.throttle_ms(self._per_s, self._now_ms)
        if overdrawn_ms and self._is_strict:
            self._note(overdrawn_ms)
            return False
        self._bucket.take(partitions, self._per_s, self._now_ms)
        if not self._is_strict:
            self._note(self._bucket.throttle_ms(self._per_s, self._now_ms))
        return True

    def _note(self, throttle_ms: int) -> None:
        if throttle_ms:
            self._throttled.note(throttle_ms - self.throttle_ms)
            self.throttle_ms = throttle_ms
