"""ISRs that leaders here propose and that the controller was not asked for yet; the newest of each partition."""

import asyncio

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.effects import ProposeIsr


class IsrChanges:
    def __init__(self) -> None:
        self.wake = asyncio.Event()
        """Set while there is something to ask for."""
        self._untold: dict[ReplicaKey, ProposeIsr] = {}

    def add(self, key: ReplicaKey, proposal: ProposeIsr) -> None:
        self._untold[key] = proposal
        self.wake.set()

    def take(self) -> dict[ReplicaKey, ProposeIsr]:
        """All of them, whose answers are the taker's to tell."""
        taken, self._untold = self._untold, {}
        self.wake.clear()
        return taken
