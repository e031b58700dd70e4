"""`millstream check`: is this cluster fit for production? What is not, each with what to do; nothing is changed."""

from argparse import Namespace
from collections.abc import Iterable, Mapping

from millstream.commands.cluster import report
from millstream.commands.connection import cluster_of
from millstream_client import Cluster, Refused, Unreachable
from millstream_client.acls import AclFilter, list_acls
from millstream_client.admin import Resource, ResourceType, Setting, describe_all_settings, describe_settings
from millstream_client.brokers import Node, nodes_of
from millstream_client.errors import check
from millstream_client.health import MIN_ISR, Finding, troubles
from millstream_client.metadata import Snapshot, Topic
from millstream_cluster.coordinator_topics import FACTORS
from millstream_cluster.ids import METADATA_TOPIC
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.describe_quorum import DescribeQuorumRequest, RequestPartitionData, RequestTopicData

_Settings = Mapping[str, Mapping[str, Setting]]
"""By topic, or by broker as findings name it."""
_BROKERS_LEAST = 3
_REPLICAS_LEAST = 3
_IN_SYNC_LEAST = 2
_UNCLEAN = "unclean.leader.election.enable"
_DEFAULTS = ("default.replication.factor", *FACTORS)
_PLAIN = ("PLAINTEXT", "SASL_PLAINTEXT")


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        _, _, nodes = await nodes_of(cluster)
        snapshot = await cluster.describe()
        topics = await describe_all_settings(cluster, [Resource(ResourceType.TOPIC, name) for name in snapshot.topics])
        of_topics = {each.name: found for each, found in topics.items()}
        of_brokers = await _of_brokers(cluster, nodes)
        findings = [
            *await troubles(cluster, nodes, snapshot, of_topics),
            *_of_size(nodes, await _controllers(cluster)),
            *_of_topics(snapshot, of_topics),
            *_of_settings(of_brokers),
            *_of_listeners(of_brokers),
            *await _of_authorization(cluster),
        ]
        report(findings, options, f"{len(nodes)} brokers and {len(snapshot.topics)} topics are fit for production")


async def _of_brokers(cluster: Cluster, nodes: list[Node]) -> _Settings:
    found = {}
    for node in nodes:
        if node.is_fenced:
            continue
        try:
            settings = await describe_settings(cluster, Resource(ResourceType.BROKER, str(node.node_id)))
        except Unreachable:
            continue  # it is a finding of its own
        found[f"broker {node.node_id}"] = {each.name: each for each in settings}
    return found


async def _controllers(cluster: Cluster) -> tuple[str, ...]:
    """Those that may lead, the active one among them."""
    metadata = RequestTopicData(topic_name=METADATA_TOPIC, partitions=[RequestPartitionData(partition_index=0)])
    answer = await cluster.ask_any(DescribeQuorumRequest(topics=[metadata]))
    check(answer.error_code, answer.error_message, subject="controllers")
    [partition] = answer.topics[0].partitions
    check(partition.error_code, partition.error_message, subject="controllers")
    return tuple(f"controller {each.replica_id}" for each in partition.current_voters)


def _of_size(nodes: list[Node], controllers: tuple[str, ...]) -> list[Finding]:
    brokers = tuple(f"broker {each.node_id}" for each in nodes)
    findings = []
    if len(brokers) < _BROKERS_LEAST:
        fix = "add brokers: three keep two replicas in sync while one is away"
        findings.append(Finding("fewer than three brokers", brokers, fix))
    if len(controllers) < 2:
        fix = "add a controller that takes over; without one no leader is elected and no topic made"
        findings.append(Finding("a single controller", controllers, fix))
    return findings


def _of_topics(snapshot: Snapshot, settings: _Settings) -> list[Finding]:
    """Each topic under the first that is so of its replicas."""
    alone, short, stiff, loose, internal, unclean = [], [], [], [], [], []
    for name, topic in sorted(snapshot.topics.items()):
        found = settings.get(name, {})
        if _says(found, _UNCLEAN, "true"):
            unclean.append(name)
        least = int(found[MIN_ISR].value or 1) if MIN_ISR in found else 1
        replicas = _fewest_replicas(topic)
        if topic.is_internal:
            if replicas < _REPLICAS_LEAST or least < _IN_SYNC_LEAST:
                internal.append(name)
        elif least > replicas:
            short.append(name)
        elif replicas == 1:
            alone.append(name)
        elif least == replicas:
            stiff.append(name)
        elif least < _IN_SYNC_LEAST:
            loose.append(name)
    more = "millstream topic reassign TOPIC --replication-factor 3 --execute"
    two = f"millstream config set topic TOPIC {MIN_ISR}=2"
    return [
        *_finding(f"topics with fewer replicas than {MIN_ISR}, so that acks=all is refused", short, more),
        *_finding("topics with one replica, lost with its disk", alone, f"{more}, then {two}"),
        *_finding(f"topics with as many replicas as {MIN_ISR}: one broker away stops acks=all", stiff, more),
        *_finding(f"topics with {MIN_ISR}=1, where what was acknowledged may be lost with one broker", loose, two),
        *_finding(
            f"internal topics with fewer than three replicas or {MIN_ISR}=1: groups and transactions hang on one broker",
            internal,
            f"{more}, then {two}",
        ),
        *_finding(
            "topics that may elect a leader without all that was acknowledged",
            unclean,
            f"millstream config set topic TOPIC {_UNCLEAN}=false",
        ),
    ]


def _fewest_replicas(topic: Topic) -> int:
    return min((len(each.replicas) for each in topic.partitions), default=0)


def _of_settings(brokers: _Settings) -> list[Finding]:
    findings = []
    for key in _DEFAULTS:
        # A coordinators' topic whose factor nobody has set has as many replicas as there are brokers, up to three.
        low = [
            name
            for name, found in brokers.items()
            if key in found and (found[key].value or "").isdecimal() and int(found[key].value or 0) < _REPLICAS_LEAST
        ]
        findings += _finding(f"{key} less than 3", low, f"set {key}=3 on every broker")
    automatic = [name for name, found in brokers.items() if _says(found, "auto.create.topics.enable", "true")]
    findings += _finding(
        "brokers that make a topic for every misspelt name", automatic, "set auto.create.topics.enable=false"
    )
    unclean = [name for name, found in brokers.items() if _says(found, _UNCLEAN, "true")]
    findings += _finding(
        "brokers whose new topics may elect a leader without all that was acknowledged",
        unclean,
        f"set {_UNCLEAN}=false",
    )
    return findings


def _of_listeners(brokers: _Settings) -> list[Finding]:
    plain = []
    for broker, found in brokers.items():
        protocols = dict(_pairs(found, "listener.security.protocol.map"))
        names = [name for name, _ in _pairs(found, "listeners")]
        plain += [f"{name} of {broker}" for name in names if protocols.get(name, name) in _PLAIN]
    return _finding(
        "listeners without encryption, where passwords and records can be read on the way",
        plain,
        "give them SSL or SASL_SSL in listener.security.protocol.map, with ssl.keystore.location",
    )


def _pairs(settings: Mapping[str, Setting], key: str) -> Iterable[tuple[str, str]]:
    """Of NAME:rest,NAME:rest,..."""
    text = (settings[key].value if key in settings else None) or ""
    for each in text.split(","):
        name, _, rest = each.strip().partition(":")
        if name:
            yield name.upper(), rest


async def _of_authorization(cluster: Cluster) -> list[Finding]:
    try:
        await list_acls(cluster, AclFilter())
    except Refused as error:
        if error.code is not ErrorCode.SECURITY_DISABLED:
            raise
        fix = "set authorizer.class.name on every node, and super.users for yourself"
        return [Finding("no authorizer: whoever can connect may do everything", ("the cluster",), fix)]
    return []


def _says(settings: Mapping[str, Setting], key: str, value: str) -> bool:
    return key in settings and settings[key].value == value


def _finding(what: str, where: list[str], fix: str) -> list[Finding]:
    return [Finding(what, tuple(where), fix)] if where else []
