"""Kinds of trouble, one module for those that belong together.

To add one: a coroutine that takes the Scene, breaks something, waits, and mends it; and its line in TROUBLES. What it does
is told to the story, and what it brings about is noted as a situation (situations.py).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from millstream_simulation.troubles import (
    clocks,
    cuts,
    directories,
    disks,
    downs,
    links,
    pauses,
    replicas,
    slow_nodes,
    stores,
    storms,
)
from millstream_simulation.troubles.scene import Scene


def _nothing(scene: Scene) -> None:
    return


@dataclass(frozen=True, slots=True)
class Trouble:
    strike: Callable[[Scene], Awaitable[None]]
    weight: int = 1
    """How often it is chosen, beside the others of its run."""
    probability: float = 1.0
    """In how many of the drawn runs it happens at all: a run with some kinds of trouble finds what a run with all of them hides."""
    needs: str | None = None
    """Only in runs with this twist (shapes/)."""
    settle: Callable[[Scene], None] = _nothing
    """Called when the time of trouble is over, for what must not go on into peace."""


TROUBLES: Mapping[str, Trouble] = {
    "kill": Trouble(downs.kill, weight=2),
    "stop": Trouble(downs.stop),
    "cut": Trouble(cuts.cut),
    "isolate": Trouble(cuts.isolate, weight=2),
    "pause": Trouble(pauses.pause),
    "storm": Trouble(storms.storm),
    "cut-one-way": Trouble(links.cut_one_way, probability=0.5),
    "silence": Trouble(links.silence, probability=0.5),
    "slow-link": Trouble(links.slow_link, probability=0.4),
    "breaking-link": Trouble(links.breaking_link, probability=0.4),
    "slow-node": Trouble(slow_nodes.slow_node, probability=0.4),
    "clock-jump": Trouble(clocks.jump, weight=3, needs="clocks"),
    "lose-store": Trouble(stores.lose_store, needs="kubernetes", settle=stores.settle),
    "strand-active": Trouble(stores.strand_active, weight=3, probability=0.9, needs="kubernetes", settle=stores.settle),
    "store-outage": Trouble(stores.store_outage, weight=2, needs="kubernetes", settle=stores.settle),
    "lose-power": Trouble(disks.lose_power, weight=3, needs="flushed"),
    "black-out": Trouble(disks.black_out, weight=2, probability=0.5, needs="flushed"),
    "lose-store-power": Trouble(disks.lose_store_power, probability=0.5),
    "fill-disk": Trouble(disks.fill, probability=0.4),
    "fail-flush": Trouble(disks.fail_flush, probability=0.7, needs="flushed"),
    "fail-disk": Trouble(disks.fail, weight=2, probability=0.6),
    "lose-directory": Trouble(disks.lose_directory, weight=5, needs="exposed"),
    "fail-log-dir": Trouble(directories.fail_log_dir, weight=4, needs="directories"),
    "replace-log-dir": Trouble(directories.replace_log_dir, weight=2, probability=0.6, needs="directories"),
    "cut-brokers": Trouble(replicas.cut_brokers, weight=2, probability=0.7, needs="replicated"),
    "slow-follower": Trouble(replicas.slow_follower, weight=2, probability=0.6, needs="replicated"),
    "kill-broker": Trouble(replicas.kill_broker, weight=3, probability=0.8, needs="replicated"),
    "kill-together": Trouble(replicas.kill_together, weight=2, probability=0.5, needs="replicated"),
    "stop-broker": Trouble(replicas.stop_broker, weight=2, probability=0.6, needs="replicated"),
    "lose-disk": Trouble(replicas.lose_disk, weight=2, probability=0.5, needs="replicated"),
    "lose-power-of-one": Trouble(replicas.lose_power_of_one, weight=2, probability=0.5, needs="replicated"),
    "store-out-of-sorts": Trouble(stores.store_out_of_sorts, needs="kubernetes", settle=stores.settle),
}
