"""Looks at all groups every few seconds, for the plots of their lag and for who reads a topic; bounded in groups and in time."""

import asyncio
import contextlib
import logging
from collections import OrderedDict

from millstream_client import KafkaError
from millstream_client.groups import Lag, ListedGroup, list_groups
from millstream_client.lags import lags_of_groups
from millstream_console.groups.history import GROUPS_MAX, History, Sums
from millstream_console.view import METADATA_AGE_MS, Remembered, View

logger = logging.getLogger(__name__)

EVERY_S = 10.0
ASKED_FOR_MAX = 100


class LagWatch:
    def __init__(self, view: View) -> None:
        self._view = view
        self._groups = Remembered(lambda: list_groups(view.cluster), METADATA_AGE_MS, view.cluster.world.monotonic_ms)
        self._asked_for: OrderedDict[str, None] = OrderedDict()
        self._trouble = ""
        self._closed = asyncio.Event()
        self.history = History()
        self.latest: dict[str, list[Lag]] = {}
        """As of the last round."""

    async def groups(self) -> list[ListedGroup]:
        return await self._groups.get()

    def forget(self) -> None:
        self._groups.forget()

    def want(self, group_id: str) -> None:
        """Somebody looks at this one."""
        self._asked_for[group_id] = None
        self._asked_for.move_to_end(group_id)
        while len(self._asked_for) > ASKED_FOR_MAX:
            self._asked_for.popitem(last=False)

    async def run(self) -> None:
        while not self._closed.is_set():
            try:
                await self.look()
                self._trouble = ""
            except KafkaError as error:
                if str(error) != self._trouble:  # once, however long it lasts
                    self._trouble = str(error)
                    logger.warning("groups not seen reason=%s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await self._closed.wait()

    def close(self) -> None:
        """A round that is under way is the last one."""
        self._closed.set()

    async def look(self) -> None:
        """At groups that somebody has asked for, then at the others by name."""
        groups = await self.groups()
        chosen = sorted(groups, key=lambda each: (each.group_id not in self._asked_for, each.group_id))[:GROUPS_MAX]
        self.latest = await lags_of_groups(self._view.cluster, chosen, await self._view.snapshot())
        seen = {group_id: Sums.of(lags) for group_id, lags in self.latest.items() if lags}
        self.history.add(self._view.cluster.world.now_ms(), seen)
