"""The end of a run: its metadata store is put back to how it was at the beginning, and every process is started again.

None of the run's topics is in that older log, and a broker that believed it would take their partitions for strays. So nobody may:
brokers or controllers have to stop and say why, and what is on the brokers' disks has to stay as it is.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from millstream.processes import PlannedProcess
from millstream.roles import Role
from millstream_runtime.service import ServiceFailed
from millstream_simulation.host import Host
from millstream_simulation.metadata_stores import MetadataStore
from millstream_simulation.stage import SETTLE_S
from millstream_simulation.story import Story, Violation

LOOK_S = 0.5
LOGS = "log.dirs"


class RestoredStore:
    def __init__(
        self,
        store: MetadataStore,
        planned: Sequence[PlannedProcess],
        directory: Path,
        host: Callable[..., Host],
        story: Story,
    ) -> None:
        """`directory`: where all processes have theirs; `host` makes one of a planned process and of who is told of its end."""
        self._story = story
        self._store = store
        self._directory = directory
        self._logs = [Path(each.properties[LOGS]) for each in planned if LOGS in each.properties]
        self._hosts = [host(each, self._ended) for each in planned]
        self._stopped: dict[str, str] = {}
        self._wrong: str | None = None

    def back_up(self) -> None:
        """With the controllers at work: what a copy of the store has at some moment."""
        self._store.back_up()

    async def judge(self) -> None:
        """All processes have stopped in peace."""
        before = self._partitions()
        self._store.put_back()
        self._story.add("store put back")
        for host in self._hosts:
            host.start()
        try:
            async with asyncio.timeout(SETTLE_S):
                while not self._is_noticed():
                    await asyncio.sleep(LOOK_S)
                    self._expect_unharmed(before)
        except TimeoutError:
            raise Violation("the metadata store was put back, and nobody noticed") from None
        finally:
            for host in self._hosts:
                await host.kill()
        self._expect_unharmed(before)
        self._story.add("store doubted", stopped=sorted(self._stopped))

    def _ended(self, name: str, error: BaseException | None) -> None:
        """A process came to its end by itself."""
        reasons = _leaves(error)
        self._stopped[name] = "; ".join(map(str, reasons))
        for reason in reasons:
            if not isinstance(reason, ServiceFailed):
                self._wrong = f"{name} failed: {reason!r}"

    def _is_noticed(self) -> bool:
        """Whether no broker can do harm any more: all of them have stopped, or all controllers."""
        stopped = [host.role for host in self._hosts if host.name in self._stopped]
        return any(
            stopped.count(role) == sum(host.role is role for host in self._hosts)
            for role in (Role.BROKER, Role.CONTROLLER)
        )

    def _expect_unharmed(self, before: dict[str, int]) -> None:
        if self._wrong is not None:
            raise Violation(self._wrong)
        after = self._partitions()
        if harmed := sorted(name for name, size in before.items() if after.get(name) != size):
            raise Violation(f"the metadata store was put back, and that changed {harmed[:5]}")

    def _partitions(self) -> dict[str, int]:
        """Sizes of all segments, by where they are; what was deleted in the run itself may go."""
        segments = (path for logs in self._logs for path in logs.rglob("*.log"))
        kept = (path for path in segments if not path.parent.name.endswith("-delete"))
        return {str(path.relative_to(self._directory)): path.stat().st_size for path in kept}


def _leaves(error: BaseException | None) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error] if error is not None else []
