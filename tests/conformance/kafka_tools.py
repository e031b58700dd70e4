"""Apache Kafka's own jars and tools, the outside oracle of the conformance tests and the peer of the bench.

Jars are fetched once by Maven into the user's cache; nothing here knows about our own packages.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

KAFKA_VERSION = "4.3.1"
NEWEST_CLIENTS_VERSION = "4.4.0"
"""The protocol is checked against these; servers and tools of that release cannot be had yet."""
HERE = Path(__file__).resolve().parent
LOGGING = f"-Dlog4j2.configurationFile={HERE / 'kafka' / 'log4j2.yaml'}"

# Short names for the tools' main classes; `run_tool` takes either a short name or a class.
TOOLS = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-server": "kafka.Kafka",
    "kafka-share-consumer-perf-test": "org.apache.kafka.tools.ShareConsumerPerformance",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
    "kafka-verifiable-share-consumer": "org.apache.kafka.tools.VerifiableShareConsumer",
}

# These give up after five seconds unless they are told otherwise.
PATIENCE = dict.fromkeys(["kafka-consumer-groups", "kafka-share-groups"], ("--timeout", "60000"))


class KafkaUnavailable(Exception):
    """Java or Maven is missing, or the jars cannot be fetched: the caller skips, and says why."""


def kafka_libs() -> Path:
    """Return the directory of the jars of Kafka's broker and tools, fetching them on first use (half a minute)."""
    return fetched_jars(HERE / "kafka" / "pom.xml", f"kafka-{KAFKA_VERSION}")


def newest_clients() -> Path:
    """Return the directory of the newest Java clients' jars, fetching them on first use."""
    return fetched_jars(HERE / "kafka" / "newest_clients.xml", f"kafka-clients-{NEWEST_CLIENTS_VERSION}")


def fetched_jars(pom: Path, name: str) -> Path:
    """Return the directory in the user's cache with what a POM depends on, fetching it on first use."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "millstream" / name
    if cache.is_dir():
        return cache
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise KafkaUnavailable(f"{program} is not installed")
    cache.parent.mkdir(parents=True, exist_ok=True)
    with open(cache.parent / "kafka.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may ask at once
        if not cache.is_dir():
            _fetch(pom, cache)
    return cache


def tool_command(
    tool: str,
    args: Sequence[str] = (),
    *,
    java_options: Sequence[str] = ("-Xmx256M",),
    with_newest_clients: bool = False,
) -> list[str]:
    """Return the command line that runs a tool, for callers that keep the process (a console consumer)."""
    main_class = TOOLS.get(tool, tool)
    # Short-lived processes: the first compiler tier and the serial collector start twice as fast.
    start_fast = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
    classpath = f"{newest_clients()}/*:{kafka_libs()}/*" if with_newest_clients else f"{kafka_libs()}/*"
    return ["java", *start_fast, *java_options, LOGGING, "-cp", classpath, main_class, *args, *PATIENCE.get(tool, ())]


def run_tool(
    tool: str,
    args: Sequence[str] = (),
    *,
    stdin: str | None = None,
    timeout_s: float = 60,
    with_newest_clients: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end and return its output; the caller judges the return code."""
    command = tool_command(tool, args, with_newest_clients=with_newest_clients)
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False)


def run_tools(
    commands: Sequence[tuple[str, Sequence[str]]], *, timeout_s: float = 120
) -> list[subprocess.CompletedProcess[str]]:
    """Run several tools one after the other in one process, where there is a Java compiler; else each in its own."""
    if shutil.which("javac") is None:
        return [run_tool(tool, args, timeout_s=timeout_s) for tool, args in commands]
    lines = "".join(
        "\n".join([TOOLS.get(tool, tool), *args, *PATIENCE.get(tool, ())]) + "\n\n" for tool, args in commands
    )
    runner = tool_command(str(HERE / "kafka" / "RunTools.java"))
    done = subprocess.run(runner, input=lines.encode(), capture_output=True, timeout=timeout_s, check=False)
    results, rest = [], done.stdout
    for tool, args in commands:
        head, _, rest = rest.partition(b"\n")
        if not head:
            raise RuntimeError(f"{tool} {args} ended the process: {done.stderr.decode()[-2000:]}")
        code, told, failed = map(int, head.split())
        out, err, rest = rest[:told].decode(), rest[told : told + failed].decode(), rest[told + failed :]
        results.append(subprocess.CompletedProcess([tool, *args], code, out, err))
    return results


def _fetch(pom: Path, cache: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache.parent) as scratch:
        libs = Path(scratch) / "libs"
        command = ["mvn", "-q", "-B", "--strict-checksums", "-f", str(pom), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={libs}"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=570, check=False)
        if result.returncode != 0:
            raise KafkaUnavailable(f"mvn could not fetch {cache.name}: {(result.stdout + result.stderr)[-500:]}")
        libs.rename(cache)
