"""`millstream cluster info` and `health`: what a cluster is made of, and what is not well about it."""

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from millstream.commands.command import Unwell
from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table
from millstream_client import Cluster
from millstream_client.admin import Resource, ResourceType, Setting, describe_all_settings
from millstream_client.errors import Unreachable, check
from millstream_client.metadata import NO_LEADER, Snapshot
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.api_versions import ApiVersionsRequest
from millstream_wire.messages.describe_cluster import DescribeClusterRequest
from millstream_wire.messages.describe_log_dirs import DescribeLogDirsRequest

MIN_ISR = "min.insync.replicas"
_ANSWER_MS = 5_000
"""How long each broker has to say what it knows of its directories."""
_NAMED_MAX = 5
"""How many partitions a finding names; it counts the others."""


@dataclass(frozen=True, slots=True)
class Node:
    node_id: int
    address: str
    rack: str | None
    is_fenced: bool


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    where: tuple[str, ...]
    fix: str


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        if options.action == "info":
            await _info(cluster, options)
        else:
            await _health(cluster, options)


async def nodes_of(cluster: Cluster) -> tuple[str, int, list[Node]]:
    """The cluster's id, the controller as clients are told of it, and the brokers, those that are fenced too."""
    answer = await cluster.ask_any(DescribeClusterRequest(include_fenced_brokers=True))
    check(answer.error_code, answer.error_message)
    nodes = [Node(each.broker_id, f"{each.host}:{each.port}", each.rack, each.is_fenced) for each in answer.brokers]
    return answer.cluster_id, answer.controller_id, sorted(nodes, key=lambda each: each.node_id)


async def live_brokers(cluster: Cluster) -> list[int]:
    """Without coordinators that are processes of their own, which metadata names beside them."""
    _, _, nodes = await nodes_of(cluster)
    return [each.node_id for each in nodes if not each.is_fenced]


async def _info(cluster: Cluster, options: Namespace) -> None:
    cluster_id, controller_id, nodes = await nodes_of(cluster)
    snapshot = await cluster.describe()
    versions = await cluster.ask_any(ApiVersionsRequest(client_software_name="millstream", client_software_version="0"))
    features = {each.name: each.max_version_level for each in versions.finalized_features}
    partitions = sum(len(topic.partitions) for topic in snapshot.topics.values())
    if options.json:
        print_json(
            {
                "cluster_id": cluster_id,
                "controller": controller_id,
                "topics": len(snapshot.topics),
                "partitions": partitions,
                "brokers": brokers_shown(nodes, snapshot),
                "features": features,
            }
        )
        return
    print(f"cluster {cluster_id}  controller {controller_id}")
    print(f"topics {len(snapshot.topics)}  partitions {partitions}")
    print("features  " + (", ".join(f"{name}={level}" for name, level in sorted(features.items())) or "none") + "\n")
    print_brokers(nodes, snapshot)


def brokers_shown(nodes: list[Node], snapshot: Snapshot) -> list[dict[str, Any]]:
    partitions = [each for topic in snapshot.topics.values() for each in topic.partitions]
    led = Counter(each.leader_id for each in partitions)
    replicas = Counter(node_id for each in partitions for node_id in each.replicas)
    return [{**asdict(each), "leaders": led[each.node_id], "replicas": replicas[each.node_id]} for each in nodes]


def print_brokers(nodes: list[Node], snapshot: Snapshot) -> None:
    rows = [
        [each["node_id"], each["address"], each["rack"], _state(each["is_fenced"]), each["leaders"], each["replicas"]]
        for each in brokers_shown(nodes, snapshot)
    ]
    print_table((">BROKER", "ADDRESS", "RACK", "STATE", ">LEADERS", ">REPLICAS"), rows)


def _state(is_fenced: bool) -> str:
    return "fenced" if is_fenced else "live"


async def _health(cluster: Cluster, options: Namespace) -> None:
    _, _, nodes = await nodes_of(cluster)
    snapshot = await cluster.describe()
    settings = await describe_all_settings(cluster, [Resource(ResourceType.TOPIC, name) for name in snapshot.topics])
    findings = await troubles(cluster, nodes, snapshot, {each.name: found for each, found in settings.items()})
    report(findings, options, f"{len(nodes)} brokers and {len(snapshot.topics)} topics are well")


async def troubles(
    cluster: Cluster, nodes: list[Node], snapshot: Snapshot, settings: Mapping[str, Mapping[str, Setting]]
) -> list[Finding]:
    """What is not well at this moment. `settings`: by topic."""
    least = {name: int(found[MIN_ISR].value or 1) for name, found in settings.items() if MIN_ISR in found}
    failed, silent = await _failed_directories(cluster, nodes)
    return [*_of_brokers(nodes, silent), *_of_directories(failed), *_of_partitions(snapshot, least)]


def report(findings: list[Finding], options: Namespace, well: str) -> None:
    """Raises Unwell if there are any. `well`: what is said if there are none."""
    if options.json:
        print_json({"healthy": not findings, "findings": [asdict(each) for each in findings]})
    elif findings:
        for finding in findings:
            named = ", ".join(finding.where[:_NAMED_MAX])
            others = len(finding.where) - _NAMED_MAX
            print(f"{finding.what}: {named}{f' and {others} more' if others > 0 else ''}\n    {finding.fix}")
    else:
        print(well)
    if findings:
        raise Unwell


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
