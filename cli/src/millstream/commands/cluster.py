"""`millstream cluster info` and `health`: what a cluster is made of, and what is not well about it."""

from argparse import Namespace
from collections import Counter
from dataclasses import asdict
from typing import Any

from millstream.commands.command import Unwell
from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table
from millstream_client import Cluster
from millstream_client.admin import Resource, ResourceType, describe_all_settings
from millstream_client.brokers import Node, nodes_of
from millstream_client.health import Finding, troubles
from millstream_client.metadata import Snapshot
from millstream_wire.messages.api_versions import ApiVersionsRequest

_NAMED_MAX = 5
"""How many partitions a finding names; it counts the others."""


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        if options.action == "info":
            await _info(cluster, options)
        else:
            await _health(cluster, options)


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
