"""Holds back what this broker copies for throttled replicas: the follower's side of KIP-73.

A copy that is held is not asked for, and is forgotten by the leader's session meanwhile.
"""

import asyncio

from millstream_broker.core.partition.follower import FetchFrom
from millstream_broker.core.replication.throttle import Copying, Throttle
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.replication.followed import Followed
from millstream_cluster.configs.key import LONG_MAX


class FollowerThrottling:
    """One bucket for all leaders."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._world = broker.world
        self._throttle = Throttle()

    def question(self, followed: Followed) -> FetchFrom | None:
        """What to ask for it now; None, too, while it is held."""
        question = followed.question()
        if question is None or not self._names(followed):
            return question
        now_ms = self._now_ms()
        if self._throttle.admits(self._copying(followed), now_ms):
            return question
        if not followed.is_held:
            followed.is_held = True
            wait_s = self._throttle.wait_ms(now_ms) / 1000
            asyncio.get_running_loop().call_later(wait_s, self._release, followed)
        return None

    def took(self, followed: Followed, size: int, high_watermark: int) -> None:
        """An answer for it brought so many bytes; its leader has committed up to `high_watermark`."""
        if self._names(followed):
            self._throttle.took(self._copying(followed), size, self._now_ms())
        followed.is_nearly_in_sync = 0 <= high_watermark <= followed.replica.log.log_end_offset

    def _release(self, followed: Followed) -> None:
        followed.is_held = False
        followed.on_changed(followed)

    def _names(self, followed: Followed) -> bool:
        replica = followed.replica
        return replica.settings.follower_throttled.has(replica.index, self._broker.config.node_id)

    def _copying(self, followed: Followed) -> Copying:
        partition = self._broker.image.partition(*followed.replica.key)
        in_sync = partition is not None and self._broker.config.node_id in partition.isr
        return Copying(throttled=True, in_sync=in_sync, nearly=followed.is_nearly_in_sync)

    def _now_ms(self) -> int:
        """With the rate as it is set now."""
        now_ms = self._world.monotonic_ms()
        rate = self._broker.config.follower_throttled_rate
        self._throttle.configure(None if rate == LONG_MAX else rate, now_ms)
        return now_ms
