"""The command line as people and programs use it, against our servers and Apache Kafka alike."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import servers
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, TopicPartition

TIMEOUT_S = 60


def run(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    command = [servers.MILLSTREAM, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def succeed(*arguments: str, stdin: str = "") -> str:
    done = run(*arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fail(*arguments: str, stdin: str = "", code: int = 1) -> str:
    done = run(*arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    return line


def create(topic: str, at: str, partitions: int = 1) -> None:
    succeed("topic", "create", topic, "--partitions", str(partitions), "--bootstrap", at)


def consumed(topic: str, at: str, *arguments: str) -> list[dict[str, Any]]:
    out = succeed("consume", topic, "--json", "--bootstrap", at, *arguments)
    return [json.loads(line) for line in out.splitlines()]


def test_topics_from_first_to_last(anywhere: str, topic: str) -> None:
    at = ["--bootstrap", anywhere]
    made = succeed("topic", "create", topic, "--partitions", "3", "--config", "retention.ms=3600000", *at)
    assert made == f"created topic {topic}, partitions: 3\n"
    assert "TOPIC_ALREADY_EXISTS" in fail("topic", "create", topic, *at)
    assert succeed("topic", "create", topic, "--if-not-exists", *at) == f"topic {topic} exists\n"
    assert any(line.split()[:2] == [topic, "3"] for line in succeed("topic", "list", *at).splitlines())
    succeed("topic", "alter", topic, "--partitions", "5", *at)
    servers.eventually(lambda: five_partitions(topic, anywhere))
    listed = {each["topic"]: each for each in json.loads(succeed("topic", "list", "--json", *at))}
    assert (listed[topic]["partitions"], listed[topic]["internal"]) == (5, False)
    assert succeed("topic", "delete", topic, *at) == f"deleted {topic}\n"
    servers.eventually(lambda: gone(topic, anywhere))
    assert succeed("topic", "delete", topic, "--if-exists", *at) == "deleted nothing\n"


def five_partitions(topic: str, at: str) -> None:
    described = json.loads(succeed("topic", "describe", topic, "--json", "--bootstrap", at))
    assert [each["partition"] for each in described["partitions"]] == list(range(5))
    assert {each["end_offset"] for each in described["partitions"]} == {0}
    assert described["configs"]["retention.ms"] == "3600000"


def gone(topic: str, at: str) -> None:
    done = run("topic", "describe", topic, "--bootstrap", at)
    assert done.returncode == 1
    assert done.stderr.startswith(f"millstream: topic {topic}: UNKNOWN_TOPIC_OR_PARTITION")


def test_a_mistyped_topic_is_answered_with_the_nearest_names(anywhere: str, topic: str) -> None:
    create(topic, anywhere)
    for command in (("topic", "describe"), ("consume",)):
        assert f"did you mean {topic}" in fail(*command, f"{topic}x", "--bootstrap", anywhere)


def test_a_files_lines_are_records(node: servers.ServerProcess, topic: str, tmp_path: Path) -> None:
    create(topic, node.bootstrap)
    lines = tmp_path / "lines"
    lines.write_bytes(b"1\n2\r\n3")
    wrote = run("produce", topic, "--file", str(lines), "--bootstrap", node.bootstrap, stdin="not this")
    assert (wrote.returncode, wrote.stderr) == (0, f"wrote 3 records to {topic}\n")
    assert [each["value"] for each in consumed(topic, node.bootstrap)] == ["1", "2", "3"]
    assert "No such file" in fail("produce", topic, "--file", str(tmp_path / "none"), "--bootstrap", node.bootstrap)


def test_an_address_in_use_is_said_with_what_to_do(node: servers.ServerProcess, tmp_path: Path) -> None:
    port = node.bootstrap.rpartition(":")[2]
    said = fail("node", "--port", port, "--data", str(tmp_path / "data"))
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said
    assert "--port" in said


def test_an_advertised_address_that_cannot_be_reached_is_told_from_one_that_can(fresh: Path) -> None:
    """Nobody listens at port 1; the node itself is there, and says that it is elsewhere."""
    with servers.node(fresh, "advertised.listeners=PLAINTEXT://127.0.0.1:1") as running:
        said = fail("config", "describe", "broker", "0", "--bootstrap", running.bootstrap, code=3)
        assert "127.0.0.1:1: Connection refused" in said
        assert "that is where node 0 says it is (its advertised.listeners)" in said


def test_lines_in_and_out(anywhere: str, topic: str) -> None:
    create(topic, anywhere)
    wrote = run("produce", topic, "--key-separator", ":", "--bootstrap", anywhere, stdin="a:1\nb:2\na:3")
    assert (wrote.returncode, wrote.stderr) == (0, f"wrote 3 records to {topic}\n")
    shown = succeed("consume", topic, "--bootstrap", anywhere)
    words = [line.split() for line in shown.splitlines()]
    assert [[place, key, value] for place, _, key, value in words] == [
        [f"{topic}-0@0", "a", "1"],
        [f"{topic}-0@1", "b", "2"],
        [f"{topic}-0@2", "a", "3"],
    ]
    assert succeed("consume", topic, "--values", "--from", "1", "--bootstrap", anywhere) == "2\n3\n"
    assert succeed("consume", topic, "--values", "--max-messages", "1", "--bootstrap", anywhere) == "1\n"
    assert succeed("consume", topic, "--from", "latest", "--bootstrap", anywhere) == ""
    assert succeed("consume", topic, "--values", "--from", "2020-01-01", "--bootstrap", anywhere) == "1\n2\n3\n"


def test_json_lines_carry_everything_and_kafka_python_reads_it(anywhere: str, topic: str) -> None:
    create(topic, anywhere, 2)
    lines = [
        {"key": "k", "value": "v", "headers": {"trace": "x", "none": None}, "partition": 1, "timestamp": 1700000000000},
        {"key": None, "value": None, "partition": 1, "timestamp": 1700000000001},
    ]
    succeed("produce", topic, "--json", "--bootstrap", anywhere, stdin="\n".join(map(json.dumps, lines)))
    reader = KafkaConsumer(bootstrap_servers=anywhere, auto_offset_reset="earliest", consumer_timeout_ms=20_000)
    reader.assign([TopicPartition(topic, 1)])
    first, second = next(reader), next(reader)
    reader.close()
    assert (first.key, first.value, first.timestamp) == (b"k", b"v", 1700000000000)
    assert [tuple(each) for each in first.headers] == [("trace", b"x"), ("none", None)]
    assert (second.key, second.value) == (None, None)
    messages = consumed(topic, anywhere)
    assert [each["headers"] for each in messages] == [[["trace", "x"], ["none", None]], []]
    assert [each["timestamp"] for each in messages] == [1700000000000, 1700000000001]


def test_keys_go_where_javas_clients_send_them(anywhere: str, topic: str) -> None:
    create(topic, anywhere, 7)
    keys = [f"key-{n}" for n in range(50)]
    theirs = Producer({"bootstrap.servers": anywhere, "partitioner": "murmur2"})
    for key in keys:
        theirs.produce(topic, key=key, value="theirs")
    assert theirs.flush(TIMEOUT_S) == 0
    stdin = "".join(f"{key}=ours\n" for key in keys)
    succeed("produce", topic, "--key-separator", "=", "--bootstrap", anywhere, stdin=stdin)
    found: dict[str, dict[str, int]] = {"ours": {}, "theirs": {}}
    for message in consumed(topic, anywhere):
        found[message["value"]][message["key"]] = message["partition"]
    assert found["ours"] == found["theirs"]
    assert len(found["ours"]) == 50


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compression_both_ways(anywhere: str, topic: str, codec: str) -> None:
    create(topic, anywhere)
    stdin = "".join(f"ours {n}\n" for n in range(1000))
    succeed("produce", topic, "--compression", codec, "--bootstrap", anywhere, stdin=stdin)
    theirs = Producer({"bootstrap.servers": anywhere, "compression.type": codec, "linger.ms": 50})
    for n in range(1000):
        theirs.produce(topic, value=f"theirs {n}")
    assert theirs.flush(TIMEOUT_S) == 0
    expected = [f"{who} {n}" for who in ("ours", "theirs") for n in range(1000)]
    assert succeed("consume", topic, "--values", "--bootstrap", anywhere).splitlines() == expected
    reader = Consumer({"bootstrap.servers": anywhere, "group.id": topic, "auto.offset.reset": "earliest"})
    reader.subscribe([topic])
    seen: list[str] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(seen) < 2000 and time.monotonic() < deadline:
        seen += [message.value().decode() for message in reader.consume(500, 0.5)]
    reader.close()
    assert seen == expected


@pytest.fixture
def numbers(anywhere: str, topic: str) -> str:
    """Twenty records, one a second from 2026-01-31T12:00:00Z on, with keys, and headers on every fifth."""
    create(topic, anywhere)
    lines = [
        json.dumps(
            {
                "key": f"k{number}",
                "value": f"value {number}",
                "timestamp": 1_769_860_800_000 + 1_000 * number,
                "headers": {"trace": f"{number:02x}"} if number % 5 == 0 else {},
            }
        )
        for number in range(20)
    ]
    succeed("produce", topic, "--json", "--bootstrap", anywhere, stdin="".join(f"{line}\n" for line in lines))
    return anywhere


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--from", "15"], range(15, 20)),
        (["--from", "-3"], range(17, 20)),
        (["--until", "4"], range(4)),
        (["--from", "5", "--until", "8"], range(5, 8)),
        (["--from", "2026-01-31T12:00:04+00:00", "--until", "2026-01-31T12:00:07+00:00"], range(4, 7)),
        (["--from", "1h"], range(0)),
        (["--key-matches", "^k1$"], range(1, 2)),
        (["--value-matches", "value 1[0-9]", "--max-messages", "3"], range(10, 13)),
        (["--header-matches", "trace=^0[5a]"], range(5, 11, 5)),
    ],
)
def test_ranges_and_filters(numbers: str, topic: str, arguments: list[str], expected: range) -> None:
    assert [each["offset"] for each in consumed(topic, numbers, *arguments)] == list(expected)


def test_formats_are_kcats(numbers: str, topic: str) -> None:
    template = r"%t %p %o %T %k %K %s %S %h%%\n"
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    kcat = ["kcat", "-b", numbers, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", template]
    theirs = subprocess.run(kcat, capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout
    assert succeed("consume", topic, "--bootstrap", numbers, "--format", template) == theirs
    assert len(theirs.splitlines()) == 20


def test_bytes_in_other_notations(anywhere: str, topic: str) -> None:
    create(topic, anywhere)
    succeed("produce", topic, "--value-format", "hex", "--bootstrap", anywhere, stdin="00ff10\n")
    assert [each["value"] for each in consumed(topic, anywhere, "--value-format", "hex")] == ["00ff10"]
    assert [each["value"] for each in consumed(topic, anywhere, "--value-format", "base64")] == ["AP8Q"]
    assert "'zz' is no hex" in fail("produce", topic, "--value-format", "hex", "--bootstrap", anywhere, stdin="zz\n")


def test_a_group_goes_on_where_it_stopped(anywhere: str, topic: str) -> None:
    create(topic, anywhere, 3)
    succeed("produce", topic, "--bootstrap", anywhere, stdin="".join(f"{n}\n" for n in range(30)))
    first = consumed(topic, anywhere, "--group", f"g-{topic}", "--max-messages", "10")
    rest = consumed(topic, anywhere, "--group", f"g-{topic}")
    assert len(first) == 10
    assert sorted(int(each["value"]) for each in first + rest) == list(range(30))
    assert consumed(topic, anywhere, "--group", f"g-{topic}") == []


def test_following_waits_for_more(anywhere: str, topic: str) -> None:
    create(topic, anywhere)
    command = [servers.MILLSTREAM, "consume", topic, "--follow", "--values", "--max-messages", "2"]
    follower = subprocess.Popen([*command, "--bootstrap", anywhere], stdout=subprocess.PIPE, text=True)
    try:
        for value in ("one", "two"):
            succeed("produce", topic, "--bootstrap", anywhere, stdin=f"{value}\n")
        out, _ = follower.communicate(timeout=TIMEOUT_S)
    finally:
        follower.kill()
        follower.wait()
    assert (follower.returncode, out) == (0, "one\ntwo\n")


def test_an_interrupted_follower_has_committed_what_it_printed(anywhere: str, topic: str) -> None:
    create(topic, anywhere)
    succeed("produce", topic, "--bootstrap", anywhere, stdin="one\ntwo\n")
    command = [servers.MILLSTREAM, "consume", topic, "--follow", "--values", "--group", f"g-{topic}"]
    follower = subprocess.Popen([*command, "--bootstrap", anywhere], stdout=subprocess.PIPE, text=True)
    assert follower.stdout is not None
    assert [follower.stdout.readline() for _ in range(2)] == ["one\n", "two\n"]
    follower.send_signal(signal.SIGINT)
    assert follower.communicate(timeout=TIMEOUT_S)[0] == ""
    assert follower.returncode == 130
    succeed("produce", topic, "--bootstrap", anywhere, stdin="three\n")
    assert [each["value"] for each in consumed(topic, anywhere, "--group", f"g-{topic}")] == ["three"]


def test_a_reader_that_has_seen_enough_is_no_error(node: servers.ServerProcess, topic: str) -> None:
    create(topic, node.bootstrap)
    succeed("produce", topic, "--bootstrap", node.bootstrap, stdin="".join(f"{n}\n" for n in range(50_000)))
    command = f"{servers.MILLSTREAM} consume {topic} --values --bootstrap {node.bootstrap} | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_acks_of_all_kinds(anywhere: str, topic: str) -> None:
    create(topic, anywhere)
    for acks in ("all", "1", "0"):
        succeed("produce", topic, "--acks", acks, "--bootstrap", anywhere, stdin=f"{acks}\n")
    assert succeed("consume", topic, "--values", "--bootstrap", anywhere) == "all\n1\n0\n"


def test_settings_of_a_topic_and_of_a_broker(anywhere: str, topic: str) -> None:
    at = ["--bootstrap", anywhere]
    create(topic, anywhere)
    succeed("config", "set", "topic", topic, "retention.ms=1000000", "cleanup.policy=compact", *at)
    servers.eventually(lambda: settings_are(topic, anywhere, {"retention.ms": "1000000", "cleanup.policy": "compact"}))
    succeed("config", "delete", "topic", topic, "retention.ms", *at)
    servers.eventually(lambda: settings_are(topic, anywhere, {"cleanup.policy": "compact"}))
    assert "INVALID_CONFIG" in fail("config", "set", "topic", topic, "retention.ms=soon", *at)
    assert "retention.ms" in succeed("config", "describe", "topic", topic, "--all", *at)
    broker = json.loads(succeed("topic", "describe", topic, "--json", *at))["partitions"][0]["leader"]
    described = json.loads(succeed("config", "describe", "broker", str(broker), "--all", "--json", *at))
    assert described["configs"]["log.retention.hours"]["value"] == "168"


def settings_are(topic: str, at: str, expected: dict[str, str]) -> None:
    described = json.loads(succeed("config", "describe", "topic", topic, "--json", "--bootstrap", at))
    dynamic = {
        name: each["value"] for name, each in described["configs"].items() if each["source"] == "DYNAMIC_TOPIC_CONFIG"
    }
    assert dynamic == expected


def test_what_goes_wrong_is_one_line(node: servers.ServerProcess, topic: str) -> None:
    at = ["--bootstrap", node.bootstrap]
    assert fail("topic", "list", "--bootstrap", "127.0.0.1:1", code=3) == "millstream: 127.0.0.1:1: Connection refused"
    assert fail("topic", "list", "--bootstrap", "127.0.0.1:x") == "millstream: no address: '127.0.0.1:x'"
    assert fail("consume", topic, *at) == f"millstream: topic {topic}: UNKNOWN_TOPIC_OR_PARTITION"
    create(topic, node.bootstrap)
    assert (
        fail("produce", topic, "--value-format", "int", *at, stdin="1\ntwo\n") == "millstream: line 2: 'two' is no int"
    )
    assert fail("produce", topic, "--partition", "9", *at, stdin="x\n").endswith("-9: UNKNOWN_TOPIC_OR_PARTITION")


def test_a_dump_of_the_nodes_own_logs(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as node:
        create(topic, node.bootstrap)
        succeed("produce", topic, "--key", "k", "--bootstrap", node.bootstrap, stdin="one\ntwo\n")
        consumed(topic, node.bootstrap, "--group", "readers")
        assert node.stop() == 0
    (partition,) = (fresh / "data").glob(f"**/{topic}-0")
    rows = [json.loads(line) for line in succeed("log", "dump", str(partition), "--deep", "--json").splitlines()]
    records = [row for row in rows if row["kind"] == "records"]
    assert [(row["offset"], row["key"], row["value"]) for row in records] == [(0, "k", "one"), (1, "k", "two")]
    everything = succeed("log", "dump", str(fresh / "data"), "--deep")
    assert f"OffsetCommitKey(group='readers', topic='{topic}', partition=0)" in everything


def test_a_list_of_topics_costs_little_processor_time(node: servers.ServerProcess) -> None:
    """Whoever types it waits for it. Beside what Python itself takes for asyncio, since a second of a busy machine is not a second."""
    bare = [sys.executable, "-c", "import asyncio, argparse, json, logging, dataclasses"]
    ours = [servers.MILLSTREAM, "topic", "list", "--bootstrap", node.bootstrap]
    costs = [(processor_time_s(ours), processor_time_s(bare)) for _ in range(5)]
    best, floor = min(cost for cost, _ in costs), min(cost for _, cost in costs)
    print(f"topic list: {best:.3f} s of a processor, {best / floor:.2f} times an empty asyncio program")
    assert best < 4 * floor


def processor_time_s(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
