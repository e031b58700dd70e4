"""Configurations beside Apache Kafka's: every key that it lists, and what it says to changes, good and bad.

The keys that Kafka has and we have not are listed here with the reason, and so is every other difference: a key that comes
anew on either side fails the test until somebody decides.
"""

import re
from collections.abc import Sequence

import pytest
import servers
from ask import ask
from kafka_broker import KafkaBroker

from millstream_wire import messages as m
from millstream_wire.messages import create_topics, describe_configs
from millstream_wire.messages.alter_configs import AlterableConfig as WholeConfig
from millstream_wire.messages.alter_configs import AlterConfigsResource as WholeResource
from millstream_wire.messages.describe_configs import DescribeConfigsResourceResult
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource

TOPIC_NAME = "a-topic"
TOPIC, BROKER, LOGGERS, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
ME = "me"

NOT_OURS = {
    TOPIC: (),
    CLIENT_METRICS: (),
    GROUP: (
        r"streams\.",  # the streams protocol (KIP-1071) is not there
    ),
    BROKER: (
        r"(sasl|ssl|security|delegation\.token)\.",  # no security yet
        r"(authorizer|principal\.builder|early\.start\.listeners|super\.users|connections\.max\.reauth)",
        r"connection\.failed\.authentication",
        r"(inter\.broker\.listener\.name|listener\.security\.protocol\.map)",
        r"controller\.(listener\.names|quorum|quota|socket)",  # the metadata log's home is a store, not a quorum
        r"metadata\.(log|max)\.|initial\.broker\.registration",
        r"(remote|follower\.fetch\.last\.tiered)",  # no tiered storage
        r"(alter\.log\.dirs|cordoned|log\.dir\.failure)",  # a node has one data directory
        r"replica\.(fetch|high|selector|socket)|replication\.quota|num\.replica|leader\.imbalance|auto\.leader",
        r"(controlled\.shutdown)",
        r".*(policy|callback|providers|reporters)(\.class(\.name)?)?$",  # Java classes to plug in
        r"(kafka\.metrics|metrics\.|telemetry)",  # measured otherwise: /metrics
        r".*threads.*",  # one event loop
        r".*purgatory.*|.*cached\.buffer.*|.*append\.linger.*|.*load\.buffer\.size|log\.cleaner\.io\.buffer.*",
        r"(max\.connection\.creation\.rate|max\.connections\.per\.ip\.overrides|queued\.max\.request\.bytes)",
        r"(max\.request\.partition\.size\.limit|socket\.connection\.setup.*)",
        r"group\.streams\.",  # the streams protocol (KIP-1071) is not there
        r"group\.consumer\.(assignors|(min|max)\.(session|heartbeat|assignment).*)",  # one group's policy has limits
        r"group\.coordinator\.rebalance\.protocols|offsets\.topic\.compression\.codec",
        r"transaction\.(state\.log\.min\.isr|two\.phase.*)",
        r"group\.share\.(assignors|initialize.*)|share\.(coordinator|fetch)\..*",
    ),
}
"""By resource type, what the names of keys that only Kafka has begin with."""

MILLSTREAMS_OWN = re.compile(r"Millstream's own\.")

READ_AT_START = {
    "group.consumer.assignment.interval.ms",
    "group.share.assignment.interval.ms",
    "listeners",
    "num.replica.fetchers",
}
"""What Kafka can change while it runs, and we read once."""

OF_LISTENERS = re.compile(
    r"(ssl|sasl|plain|security)\.|(controller\.)?listener|advertised\.listeners|connections\.max\.reauth"
)
"""With us there is no GSSAPI and no JKS to default to, and what these are is read once; the files that they name can change."""

OTHER_DEFAULTS = {
    "broker.heartbeat.interval.ms",  # a silent broker is replaced sooner
    "broker.session.timeout.ms",
    "log.dir",  # its path has Kafka's name
    "node.id",  # Kafka has none
    "process.roles",  # Kafka has none
    "replica.lag.time.max.ms",  # who lags holds up acks=all for less long
    "replica.socket.timeout.ms",
    "queued.max.requests",  # 500 of all connections together
    "socket.listen.backlog.size",  # 50, which thousands of clients that come back at once overflow
    "socket.receive.buffer.bytes",  # 102400, and we leave both to the system
    "socket.send.buffer.bytes",
}


class Side:
    """One server with the topic on it."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        topic = create_topics.CreatableTopic(name=TOPIC_NAME, num_partitions=1, replication_factor=1)
        _, cluster = ask(bootstrap, m.CreateTopicsRequest(topics=[topic]), m.DescribeClusterRequest())
        self.broker = str(cluster.brokers[0].broker_id)

    def keys(self, kind: int, name: str) -> dict[str, DescribeConfigsResourceResult]:
        resource = describe_configs.DescribeConfigsResource(
            resource_type=kind, resource_name=self.broker if name == ME else name, configuration_keys=None
        )
        request = m.DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
        (answer,) = ask(self.bootstrap, request)
        assert answer.results[0].error_code == 0, answer
        return {config.name: config for config in answer.results[0].configs}

    def refusal(self, kind: int, name: str) -> str:
        resource = describe_configs.DescribeConfigsResource(resource_type=kind, resource_name=name)
        (answer,) = ask(self.bootstrap, m.DescribeConfigsRequest(resources=[resource]))
        return self._said(answer.results[0])

    def change(self, kind: int, name: str, changes: Sequence[tuple[str, int, str | None]]) -> str:
        configs = [AlterableConfig(name=key, config_operation=how, value=value) for key, how, value in changes]
        name = self.broker if name == ME else name
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        (answer,) = ask(self.bootstrap, m.IncrementalAlterConfigsRequest(resources=[resource]))
        return self._said(answer.responses[0])

    def set_whole(self, kind: int, name: str, configs: dict[str, str | None]) -> str:
        given = [WholeConfig(name=key, value=value) for key, value in configs.items()]
        name = self.broker if name == ME else name
        resource = WholeResource(resource_type=kind, resource_name=name, configs=given)
        (answer,) = ask(self.bootstrap, m.AlterConfigsRequest(resources=[resource]))
        return self._said(answer.responses[0])

    def _said(self, result: object) -> str:
        said = f"{getattr(result, 'error_code')} {getattr(result, 'error_message')}"  # noqa: B009
        return re.sub(rf"(?i)(expected) {self.broker}\b", r"\1 N", said)


@pytest.fixture(scope="module")
def ours(node: servers.ServerProcess) -> Side:
    return Side(node.bootstrap)


@pytest.fixture(scope="module")
def theirs(kafka: KafkaBroker) -> Side:
    return Side(kafka.bootstrap)


RESOURCES = [(TOPIC, TOPIC_NAME), (BROKER, ME), (GROUP, "a-group"), (CLIENT_METRICS, "a-subscription")]


@pytest.mark.parametrize(("kind", "name"), RESOURCES)
def test_the_same_keys_are_there(ours: Side, theirs: Side, kind: int, name: str) -> None:
    here, there = ours.keys(kind, name), theirs.keys(kind, name)
    missing = {key for key in there.keys() - here.keys() if not any(re.match(each, key) for each in NOT_OURS[kind])}
    assert missing == set()
    # Kafka's names: in its controllers' file, of its authorizer, and shown once somebody has set them.
    known = {f"{side}.replication.throttled.rate" for side in ("leader", "follower")}
    known |= {
        "controller.bootstrap.servers",
        "super.users",
        "allow.everyone.if.no.acl.found",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
    added = here.keys() - there.keys() - known
    assert {key for key in added if not MILLSTREAMS_OWN.search(here[key].documentation or "")} == set()


@pytest.mark.parametrize(("kind", "name"), RESOURCES)
def test_a_key_is_described_alike(ours: Side, theirs: Side, kind: int, name: str) -> None:
    here, there = ours.keys(kind, name), theirs.keys(kind, name)
    differing = set()
    for key in sorted(here.keys() & there.keys()):
        own, other = here[key], there[key]
        if (own.config_type, own.is_sensitive) != (other.config_type, other.is_sensitive):
            differing.add(f"type of {key}")
        if bool(own.documentation) != bool(other.documentation):
            differing.add(f"documentation of {key}")
        is_of_listeners = OF_LISTENERS.match(key) is not None
        if key not in READ_AT_START and not is_of_listeners and own.read_only != other.read_only:
            differing.add(f"whether {key} can be changed")
        if key not in OTHER_DEFAULTS and not is_of_listeners and _default(own) != _default(other):
            differing.add(f"default of {key}: {_default(own)}, not {_default(other)}")
    assert differing == set()


def _default(config: DescribeConfigsResourceResult) -> list[tuple[str, str | None]]:
    return [(synonym.name, synonym.value) for synonym in config.synonyms if synonym.source == 5]


@pytest.mark.parametrize(("kind", "name"), RESOURCES)
def test_what_nobody_set_has_the_same_value_and_source(ours: Side, theirs: Side, kind: int, name: str) -> None:
    """min.insync.replicas is excepted: Kafka itself sets it for all brokers, to its default (KIP-966)."""
    here, there = ours.keys(kind, name), theirs.keys(kind, name)
    for key in sorted(here.keys() & there.keys() - OTHER_DEFAULTS - {"min.insync.replicas"}):
        if here[key].config_source == there[key].config_source == 5 and not OF_LISTENERS.match(key):
            assert here[key].value == there[key].value, key
    differing = {key for key in here.keys() & there.keys() if here[key].config_source != there[key].config_source}
    set_in_these_tests = {key for key in differing if there[key].config_source == 4 or here[key].config_source == 4}
    assert differing - set_in_these_tests <= {"min.insync.replicas"}


CHANGES: dict[str, tuple[int, str, Sequence[tuple[str, int, str | None]]]] = {
    "the default topic": (TOPIC, "", [("retention.ms", SET, "1")]),
    "an impossible topic": (TOPIC, "a b", [("retention.ms", SET, "1")]),
    "a topic with too long a name": (TOPIC, "x" * 250, [("retention.ms", SET, "1")]),
    "an unknown topic": (TOPIC, "no-such-topic", [("retention.ms", SET, "1")]),
    "an unknown key": (TOPIC, TOPIC_NAME, [("no.such.key", SET, "1")]),
    "an unknown key taken back": (TOPIC, TOPIC_NAME, [("no.such.key", DELETE, None)]),
    "what was not set taken back": (TOPIC, TOPIC_NAME, [("retention.ms", DELETE, None)]),
    "no number": (TOPIC, TOPIC_NAME, [("retention.ms", SET, "x")]),
    "too large a number": (TOPIC, TOPIC_NAME, [("segment.bytes", SET, "3000000000")]),
    "too small a number": (TOPIC, TOPIC_NAME, [("segment.bytes", SET, "13")]),
    "too high a ratio": (TOPIC, TOPIC_NAME, [("min.cleanable.dirty.ratio", SET, "1.5")]),
    "no ratio": (TOPIC, TOPIC_NAME, [("min.cleanable.dirty.ratio", SET, "x")]),
    "too high a level": (TOPIC, TOPIC_NAME, [("compression.zstd.level", SET, "99")]),
    "a level between the levels": (TOPIC, TOPIC_NAME, [("compression.gzip.level", SET, "0")]),
    "an unknown codec": (TOPIC, TOPIC_NAME, [("compression.type", SET, "x")]),
    "an unknown policy": (TOPIC, TOPIC_NAME, [("cleanup.policy", SET, "x")]),
    "neither true nor false": (TOPIC, TOPIC_NAME, [("preallocate", SET, "x")]),
    "no number between blanks": (TOPIC, TOPIC_NAME, [("retention.ms", SET, " x ")]),
    "too small a number between blanks": (TOPIC, TOPIC_NAME, [("retention.ms", SET, " -2 ")]),
    "too high a whole ratio": (TOPIC, TOPIC_NAME, [("min.cleanable.dirty.ratio", SET, "5")]),
    "an unknown policy after a known one": (TOPIC, TOPIC_NAME, [("cleanup.policy", SET, "compact,x")]),
    "no policy after a comma": (TOPIC, TOPIC_NAME, [("cleanup.policy", SET, "compact,")]),
    "no replicas to throttle": (TOPIC, TOPIC_NAME, [("leader.replication.throttled.replicas", SET, "1:2, x")]),
    "an unknown key after no number": (TOPIC, TOPIC_NAME, [("retention.ms", SET, "x"), ("no.such.key", SET, "1")]),
    "no number for an unknown topic": (TOPIC, "no-such-topic", [("retention.ms", SET, "x")]),
    "more for a number of an impossible topic": (TOPIC, "a b", [("retention.ms", APPEND, "1")]),
    "no values of no topic": (TOPIC, "", [("retention.ms", SET, None), ("flush.ms", APPEND, None)]),
    "one key twice of no broker": (BROKER, "abc", [("a", SET, "1"), ("a", SET, None)]),
    "no value of a type that there is not": (99, "x", [("a", SET, None)]),
    "more for a broker's number": (BROKER, ME, [("log.retention.ms", APPEND, "1")]),
    "less of what a broker reads at its start": (BROKER, ME, [("broker.rack", SUBTRACT, "1")]),
    "nothing more for a broker": (BROKER, ME, [("log.cleanup.policy", APPEND, "")]),
    "what a broker reads at its start after no number": (
        BROKER,
        ME,
        [("log.retention.ms", SET, "x"), ("broker.rack", SET, "x")],
    ),
    "an unknown key of client metrics": (CLIENT_METRICS, "some", [("no.such.key", SET, "1")]),
    "no interval of client metrics": (CLIENT_METRICS, "some", [("interval.ms", SET, "x")]),
    "too short an interval of client metrics": (CLIENT_METRICS, "some", [("interval.ms", SET, "1")]),
    "no pattern of client metrics": (CLIENT_METRICS, "some", [("match", SET, "client_id=a,b=c")]),
    "more client metrics": (CLIENT_METRICS, "some", [("metrics", APPEND, "a")]),
    "too long a session of a share group": (GROUP, "a-group", [("share.session.timeout.ms", SET, "1000000")]),
    "too short a session of a share group": (GROUP, "a-group", [("share.session.timeout.ms", SET, "1")]),
    "too few deliveries": (GROUP, "a-group", [("share.delivery.count.limit", SET, "1")]),
    "no beginning of a share group": (GROUP, "a-group", [("share.auto.offset.reset", SET, "none")]),
    "no value": (TOPIC, TOPIC_NAME, [("retention.ms", SET, None)]),
    "one key twice": (TOPIC, TOPIC_NAME, [("retention.ms", SET, "1"), ("retention.ms", SET, "2")]),
    "more for a number": (TOPIC, TOPIC_NAME, [("retention.ms", APPEND, "1")]),
    "less of an unknown key": (TOPIC, TOPIC_NAME, [("no.such.key", SUBTRACT, "1")]),
    "one more policy": (TOPIC, TOPIC_NAME, [("cleanup.policy", APPEND, "compact")]),
    "the same policy more": (TOPIC, TOPIC_NAME, [("cleanup.policy", APPEND, "compact")]),
    "nothing more": (TOPIC, TOPIC_NAME, [("cleanup.policy", APPEND, "")]),
    "lags that contradict": (
        TOPIC,
        TOPIC_NAME,
        [("max.compaction.lag.ms", SET, "1"), ("min.compaction.lag.ms", SET, "2")],
    ),
    "one policy less": (TOPIC, TOPIC_NAME, [("cleanup.policy", SUBTRACT, "compact")]),
    "no policy left": (TOPIC, TOPIC_NAME, [("cleanup.policy", SUBTRACT, "delete")]),
    "the policy taken back": (TOPIC, TOPIC_NAME, [("cleanup.policy", DELETE, None)]),
    "no change": (TOPIC, TOPIC_NAME, []),
    "no broker's id": (BROKER, "abc", [("log.retention.ms", SET, "1")]),
    "what a broker reads at its start": (BROKER, ME, [("broker.rack", SET, "x")]),
    "what all brokers read at their start": (BROKER, "", [("broker.rack", SET, "x")]),
    "no number for a broker": (BROKER, ME, [("log.retention.ms", SET, "x")]),
    "a broker's number": (BROKER, ME, [("log.retention.ms", SET, "1000000")]),
    "a broker's number taken back": (BROKER, ME, [("log.retention.ms", DELETE, None)]),
    "all brokers' number": (BROKER, "", [("log.retention.ms", SET, "1000000")]),
    "all brokers' number taken back": (BROKER, "", [("log.retention.ms", DELETE, None)]),
    "what is cleaned how often": (BROKER, ME, [("log.cleaner.backoff.ms", SET, "20000")]),
    "what is cleaned how often, taken back": (BROKER, ME, [("log.cleaner.backoff.ms", DELETE, None)]),
    "what only Kafka's brokers read": (BROKER, ME, [("leader.replication.throttled.rate", SET, "1000")]),
    "what only Kafka's brokers read, for all": (BROKER, "", [("num.io.threads", SET, "9")]),
    "what no broker reads": (BROKER, ME, [("no.such.key", SET, "1")]),
    "more of what no broker reads": (BROKER, ME, [("no.such.key", APPEND, "1")]),
    "what no broker reads, taken back": (
        BROKER,
        ME,
        [("no.such.key", DELETE, None), ("leader.replication.throttled.rate", DELETE, None)],
    ),
    "what only Kafka's brokers read, taken back": (BROKER, "", [("num.io.threads", DELETE, None)]),
    "the default group": (GROUP, "", [("consumer.session.timeout.ms", SET, "50000")]),
    "an unknown key of a group": (GROUP, "a-group", [("no.such.key", SET, "1")]),
    "client metrics": (
        CLIENT_METRICS,
        "some",
        [("interval.ms", SET, "1000"), ("metrics", SET, "a,b"), ("match", SET, "client_id=x.*")],
    ),
    "client metrics taken back": (
        CLIENT_METRICS,
        "some",
        [("interval.ms", DELETE, None), ("metrics", DELETE, None), ("match", DELETE, None)],
    ),
    "client metrics of nothing": (CLIENT_METRICS, "", [("interval.ms", SET, "1000")]),
    "an unknown logger": (LOGGERS, ME, [("no.such.logger", SET, "INFO")]),
    "an unknown level": (LOGGERS, ME, [("root", SET, "LOUD")]),
    "a level in small letters": (LOGGERS, ME, [("root", SET, "debug")]),
    "no level": (LOGGERS, ME, [("root", SET, None)]),
    "a level": (LOGGERS, ME, [("root", SET, "INFO")]),
    "no levels of an unknown node": (LOGGERS, "977", [("a", SET, None), ("b", DELETE, None), ("c", APPEND, None)]),
    "one logger of no node twice": (LOGGERS, "--1", [("root", SET, "INFO"), ("root", SET, None)]),
    "a logger of no node": (LOGGERS, "--1", [("root", SET, "INFO")]),
    "one logger twice": (LOGGERS, ME, [("root", SET, "INFO"), ("root", SET, "INFO")]),
    "more of a level": (LOGGERS, ME, [("root", APPEND, "INFO")]),
    "the root logger's level taken back": (LOGGERS, ME, [("root", DELETE, None)]),
    "an unknown node's loggers": (LOGGERS, "977", [("root", SET, "INFO")]),
    "nobody's loggers": (LOGGERS, "", [("root", SET, "INFO")]),
    "a type that there is not": (99, "x", [("root", SET, "INFO")]),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_is_answered_alike(ours: Side, theirs: Side, case: str) -> None:
    assert ours.change(*CHANGES[case]) == theirs.change(*CHANGES[case])


def test_resources_are_answered_in_the_order_of_the_request(ours: Side, theirs: Side) -> None:
    named = [(TOPIC, "no-such-topic"), (LOGGERS, ME), (TOPIC, TOPIC_NAME), (LOGGERS, "977"), (LOGGERS, ME)]
    told = []
    for side in (ours, theirs):
        resources = [
            AlterConfigsResource(resource_type=kind, resource_name=side.broker if name == ME else name)
            for kind, name in named
        ]
        (answer,) = ask(side.bootstrap, m.IncrementalAlterConfigsRequest(resources=resources))
        told.append([(result.resource_type, result.error_code) for result in answer.responses])
    assert told[0] == told[1]


def test_what_no_broker_reads_is_described_alike(ours: Side, theirs: Side) -> None:
    found = []
    for side in (ours, theirs):
        assert side.change(BROKER, ME, [("no.such.key", SET, "1")]) == "0 None"
        assert side.change(BROKER, "", [("no.such.key", SET, "2")]) == "0 None"
        servers.eventually(lambda side=side: _is_there(side, "no.such.key"))
        found.append([side.keys(BROKER, name)["no.such.key"] for name in (ME, "")])
        for name in (ME, ""):
            assert side.change(BROKER, name, [("no.such.key", DELETE, None)]) == "0 None"
    assert found[0] == found[1]


def test_where_a_value_is_from_is_told_alike(ours: Side, theirs: Side) -> None:
    keys = ("log.roll.ms", "log.roll.hours", "log.flush.interval.ms", "log.flush.scheduler.interval.ms")
    found = []
    for side in (ours, theirs):
        for name, value in (("", "60000"), (ME, "70000")):
            changes = [("log.roll.ms", SET, value), ("log.flush.interval.ms", SET, value)]
            assert side.change(BROKER, name, changes) == "0 None"
        servers.eventually(lambda side=side: _has(side, "segment.ms", "70000"))
        topic, broker, brokers = side.keys(TOPIC, TOPIC_NAME), side.keys(BROKER, ME), side.keys(BROKER, "")
        told = [topic["segment.ms"], topic["flush.ms"], *(broker[key] for key in keys), brokers["log.roll.ms"]]
        found.append([(config.name, config.value, config.config_source, config.synonyms) for config in told])
        for name in ("", ME):
            changes = [("log.roll.ms", DELETE, None), ("log.flush.interval.ms", DELETE, None)]
            assert side.change(BROKER, name, changes) == "0 None"
    assert found[0] == found[1]


def _has(side: Side, key: str, value: str) -> None:
    assert side.keys(TOPIC, TOPIC_NAME)[key].value == value


def _is_there(side: Side, key: str) -> None:
    assert key in side.keys(BROKER, ME)
    assert key in side.keys(BROKER, "")


@pytest.mark.parametrize(
    ("kind", "name", "configs"),
    [
        (TOPIC, TOPIC_NAME, {"retention.ms": "5", "flush.ms": "7"}),
        (TOPIC, TOPIC_NAME, {"retention.ms": None}),
        (TOPIC, TOPIC_NAME, {}),
        (TOPIC, "no-such-topic", {"retention.ms": "5"}),
        (TOPIC, "no-such-topic", {"retention.ms": "x"}),
        (TOPIC, "", {"retention.ms": None, "flush.ms": None}),
        (CLIENT_METRICS, "some", {"interval.ms": "1000"}),
        (CLIENT_METRICS, "some", {}),
        (LOGGERS, ME, {"root": "INFO"}),
        (99, "x", {"a": "b"}),
    ],
)
def test_a_whole_is_set_alike(ours: Side, theirs: Side, kind: int, name: str, configs: dict[str, str | None]) -> None:
    assert ours.set_whole(kind, name, configs) == theirs.set_whole(kind, name, configs)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TOPIC, ""),
        (TOPIC, "a b"),
        (BROKER, "977"),
        (BROKER, "abc"),
        (BROKER, "--1"),
        (LOGGERS, ""),
        (LOGGERS, "977"),
        (LOGGERS, "abc"),
        (CLIENT_METRICS, ""),
        (GROUP, ""),
    ],
)
def test_what_cannot_be_described_is_told_alike(ours: Side, theirs: Side, kind: int, name: str) -> None:
    assert ours.refusal(kind, name) == theirs.refusal(kind, name)


def test_a_level_that_is_set_holds_and_goes_back(ours: Side, theirs: Side) -> None:
    """A logger below ours has its parent's level until it is given one, and again when that is taken back."""
    for side, logger in ((ours, "millstream_broker.shell.broker"), (theirs, "kafka.server.BrokerServer")):
        assert side.keys(LOGGERS, ME)[logger].value == "INFO"
        for how, value, expected in ((SET, "TRACE", "TRACE"), (SET, "FATAL", "FATAL"), (DELETE, None, "INFO")):
            assert side.change(LOGGERS, ME, [(logger, how, value)]) == "0 None"
            described = side.keys(LOGGERS, ME)[logger]
            assert (described.value, described.config_source, described.read_only) == (expected, 6, False)
