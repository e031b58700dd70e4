"""Whether a cluster is well at this moment: what is not, where, and what to do about it."""

from collections.abc import Mapping

from millstream_client.admin import Setting
from millstream_client.brokers import Node
from millstream_client.cluster import Cluster
from millstream_client.errors import Unreachable
from millstream_client.metadata import NO_LEADER, Snapshot
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.describe_log_dirs import DescribeLogDirsRequest

MIN_ISR = "min.insync.replicas"
_ANSWER_MS = 5_000
"""How long each broker has to say what it knows of its directories."""


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    where: tuple[str, ...]
    fix: str


async def troubles(
    cluster: Cluster, nodes: list[Node], snapshot: Snapshot, settings: Mapping[str, Mapping[str, Setting]]
) -> list[Finding]:
    """What is not well at this moment. `settings`: by topic."""
    least = {name: int(found[MIN_ISR].value or 1) for name, found in settings.items() if MIN_ISR in found}
    failed, silent = await _failed_directories(cluster, nodes)
    return [*_of_brokers(nodes, silent), *_of_directories(failed), *_of_partitions(snapshot, least)]


async def _failed_directories(cluster: Cluster, nodes: list[Node]) -> tuple[tuple[str, ...], set[int]]:
    """Data directories that their brokers cannot use, and who of the live brokers does not answer."""
    failed, silent = [], set()
    for node in nodes:
        if node.is_fenced:
            continue
        try:
            answer = await cluster.ask(node.node_id, DescribeLogDirsRequest(topics=[]), timeout_ms=_ANSWER_MS)
        except Unreachable:
            silent.add(node.node_id)
            continue
        # Who may not describe the cluster is told of no directory.
        failed += [f"{each.log_dir} of broker {node.node_id}" for each in answer.results if each.error_code]
    return tuple(failed), silent


def _of_brokers(nodes: list[Node], silent: set[int]) -> list[Finding]:
    away = tuple(f"broker {each.node_id}" for each in nodes if each.is_fenced or each.node_id in silent)
    if not away:
        return []
    return [Finding("brokers that do not answer", away, "start them, or move what they hold: millstream broker drain")]


def _of_directories(failed: tuple[str, ...]) -> list[Finding]:
    if not failed:
        return []
    fix = "mend or replace them and restart their brokers; replicas that others have are made again after a while"
    return [Finding("data directories that have failed", failed, fix)]


def _of_partitions(snapshot: Snapshot, least: Mapping[str, int]) -> list[Finding]:
    """Each partition in the worst that is so of it, and no other."""
    offline, blocked, thin = [], [], []
    for topic in snapshot.topics.values():
        for each in topic.partitions:
            name = f"{topic.name}-{each.index}"
            if each.leader_id == NO_LEADER:
                offline.append(name)
            elif len(each.isr) < least.get(topic.name, 1):
                blocked.append(name)
            elif len(each.isr) < len(each.replicas):
                thin.append(name)
    kinds: tuple[tuple[str, list[str], str], ...] = (
        (
            "partitions without a leader",
            offline,
            "start the brokers that hold them; they can be neither read nor written",
        ),
        (
            "partitions with fewer replicas in sync than min.insync.replicas",
            blocked,
            "start the brokers that are away; writing with acks=all waits for them",
        ),
        (
            "partitions with replicas that are not in sync",
            thin,
            "they catch up by themselves once their brokers are there",
        ),
    )
    return [Finding(what, tuple(sorted(where)), fix) for what, where, fix in kinds if where]
