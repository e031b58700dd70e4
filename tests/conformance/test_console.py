"""The console of the all-in-one node, by what its pages ask: facts as Kafka's clients see them."""

import contextlib
import json
import shutil
import subprocess
import threading
import uuid
from pathlib import Path

import pytest
import servers
from commits import commit
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from console_page import ConsolePage, console_of
from console_scene import DELIVERY_S, create, written
from raw_share_groups import RawShareGroup


def test_topics_and_partitions_are_as_clients_see_them(
    page: ConsolePage, node: servers.ServerProcess, made: str
) -> None:
    written(node, made, [{"value": b"one", "partition": 1}, {"value": b"two", "partition": 1}])
    metadata = AdminClient({"bootstrap.servers": node.bootstrap}).list_topics(timeout=DELIVERY_S)
    servers.eventually(lambda: _same_topics(page, set(metadata.topics)))
    described = page.get("topic", topic=made)
    assert (described["partitions"], described["replicas"], described["thin"]) == (3, 1, 0)
    assert any(each["name"] == "retention.ms" and not each["is_set"] for each in described["configs"])
    rows = page.get("partitions", topic=made)["rows"]
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "none"})
    bounds = [consumer.get_watermark_offsets(TopicPartition(made, index), DELIVERY_S) for index in range(3)]
    consumer.close()
    assert [(each["first_offset"], each["end_offset"]) for each in rows] == bounds
    assert [each["leader"] for each in rows] == [metadata.topics[made].partitions[0].leader] * 3
    assert rows[1]["bytes"] > 0
    assert page.ask("/api/topic?topic=there-is-none").code == "UNKNOWN_TOPIC_OR_PARTITION"
    overview = page.get("overview")
    assert overview["cluster_id"] == metadata.cluster_id
    assert [each["node_id"] for each in overview["brokers"]] == sorted(metadata.brokers)
    assert overview["findings"] == []


def _same_topics(page: ConsolePage, names: set[str]) -> None:
    rows = page.get("topics", internal="true", size=500)["rows"]
    assert {each["topic"] for each in rows} == names


def test_messages_are_found_by_place_by_time_and_by_what_is_in_them(
    page: ConsolePage, node: servers.ServerProcess, made: str
) -> None:
    began_ms = 1_700_000_000_000
    written(
        node,
        made,
        [
            {
                "value": json.dumps({"number": number}).encode(),
                "key": f"key-{number % 5}".encode(),
                "partition": number % 3,
                "timestamp": began_ms + number,
                "headers": [("trace", f"t{number}".encode())],
            }
            for number in range(30)
        ],
    )

    def numbers(**asked: object) -> list[int]:
        answer = page.post("messages", topic=made, **asked)
        assert answer["failed"] == {}
        return [json.loads(row["value"]["text"])["number"] for row in answer["rows"]]

    assert numbers() == list(range(29, -1, -1))
    assert numbers(**{"from": "oldest"}, limit=7) == list(range(7))
    assert numbers(**{"from": "time", "at": began_ms + 21}) == list(range(21, 30))
    assert numbers(**{"from": "offset", "at": 8}, partitions=[2]) == [26, 29]
    assert numbers(key="key-3") == [28, 23, 18, 13, 8, 3]
    assert numbers(value='"number": 2', partitions=[2]) == [29, 26, 23, 20, 2]
    assert numbers(header="t17") == [17]
    seen, answer = [], page.post("messages", topic=made, limit=4)
    while True:
        seen += [json.loads(row["value"]["text"])["number"] for row in answer["rows"]]
        if answer["go_on"] is None:
            break
        answer = page.post("messages", topic=made, limit=4, go_on=answer["go_on"])
    assert seen == list(range(29, -1, -1))
    for wrong in ({"from": "x"}, {"limit": 0}, {"limit": 10_000}, {"partitions": "0"}, {"at": -1}, {"go_on": [1]}):
        assert page.send("messages", topic=made, **wrong).code == "INVALID", wrong
    assert page.send("messages", topic=made, partitions=[3]).code == "UNKNOWN_TOPIC_OR_PARTITION"


def test_marks_of_transactions_are_shown(page: ConsolePage, node: servers.ServerProcess, topic: str) -> None:
    create(node, topic, 1)
    producer = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": f"tx-{uuid.uuid4().hex}"})
    producer.init_transactions(DELIVERY_S)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce(topic, value=b"inside")
        producer.flush(DELIVERY_S)
        end(DELIVERY_S)
    servers.eventually(lambda: _has(page, topic, 4))
    rows = page.post("messages", topic=topic, **{"from": "oldest"})["rows"]
    assert [row["control"] for row in rows] == [None, "commit", None, "abort"]
    assert all(row["transactional"] and row["producer"] for row in rows)


def _has(page: ConsolePage, topic: str, count: int) -> None:
    assert len(page.post("messages", topic=topic)["rows"]) == count


def test_what_is_written_comes_by_itself(page: ConsolePage, node: servers.ServerProcess, made: str) -> None:
    events = page.events("messages/follow", topic=made, value="wanted")
    assert next(events)["rows"] == []
    assert next(events)["rows"] == []  # from here on it knows where the partitions ended
    sender = threading.Thread(
        target=written, args=(node, made, [{"value": body, "partition": 2} for body in (b"other", b"the wanted one")])
    )
    sender.start()
    row = next(row for event in events for row in event["rows"])
    sender.join()
    events.close()  # type: ignore[attr-defined]
    assert (row["partition"], row["offset"], row["value"]["text"]) == (2, 1, "the wanted one")


def test_one_message_is_written_as_typed(page: ConsolePage, node: servers.ServerProcess, made: str) -> None:
    sent = page.post(
        "messages/send",
        topic=made,
        partition=1,
        key={"format": "long", "text": "7"},
        value={"format": "json", "text": '{"a":  1}'},
        headers=[{"name": "h", "format": "string", "text": "ü"}, {"name": "none", "format": "null"}],
    )
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(made, sent["partition"], sent["offset"])])
    message = consumer.poll(DELIVERY_S)
    consumer.close()
    assert message is not None
    assert (message.partition(), message.key(), message.value()) == (1, (7).to_bytes(8, "big"), b'{"a":  1}')
    assert message.headers() == [("h", "ü".encode()), ("none", None)]
    for wrong in ({"value": {"format": "json", "text": "{"}}, {"value": {"format": "hex", "text": "zz"}}, {"value": 3}):
        assert page.send("messages/send", topic=made, **wrong).code == "INVALID", wrong
    assert page.send("messages/send", topic=made, partition=9).code == "UNKNOWN_TOPIC_OR_PARTITION"


def test_a_node_without_it_has_none(fresh: Path) -> None:
    with servers.node(fresh, more=["--no-console"]) as without:
        assert "console" not in without.ready_line


def test_groups_of_every_kind_are_as_their_coordinator_sees_them(
    page: ConsolePage, node: servers.ServerProcess, topic: str
) -> None:
    raw = RawShareGroup(node.bootstrap, f"<b>share</b> {topic}", topic, partitions=3)  # makes the topic, too
    written(node, topic, [{"value": b"x", "partition": number % 3} for number in range(9)])
    ours = {kind: f"<b>{kind}</b> {topic}" for kind in ("classic", "consumer", "share")}
    raw.share_join("member-of-share")
    servers.eventually(lambda: _started(raw))
    with contextlib.ExitStack() as open_ones:
        for kind in ("classic", "consumer"):
            consumer = Consumer(
                {
                    "bootstrap.servers": node.bootstrap,
                    "group.id": ours[kind],
                    "client.id": f"reader-{kind}",
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "group.protocol": kind,
                }
            )
            open_ones.callback(consumer.close)
            consumer.subscribe([topic])
            read = consumer.consume(9, DELIVERY_S)
            assert len(read) == 9
            consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
        rows = {each["group"]: each for each in page.get("groups", filter=topic)["rows"]}
        assert {group: each["type"] for group, each in rows.items()} == {name: kind for kind, name in ours.items()}
        for kind in ("classic", "consumer"):
            described = page.get("group", group=ours[kind])
            assert [each["client"] for each in described["members"]] == [f"reader-{kind}"]
            assert described["members"][0]["partitions_total"] == 3
            assert {each["partition"]: each["lag"] for each in described["partitions"]} == {0: 2, 1: None, 2: None}
            assert (described["lag"], described["is_empty"]) == (2, False)
    described = page.get("group", group=ours["share"])
    assert [each["member"] for each in described["members"]] == ["member-of-share"]
    servers.eventually(lambda: _watched(page, ours["classic"], 2), within_s=60)
    readers = {each["group"]: each["lag"] for each in page.get("readers", topic=topic)["rows"]}
    assert readers[ours["classic"]] == 2
    assert page.ask("/api/group?group=there-is-none").code == "GROUP_ID_NOT_FOUND"
    servers.eventually(lambda: _deleted(page, ours["classic"]))
    assert ours["classic"] not in {each["group"] for each in page.get("groups", filter=topic)["rows"]}


def _started(raw: RawShareGroup) -> None:
    answer = raw.share_describe()
    assert answer.groups[0].members


def _watched(page: ConsolePage, group: str, lag: int) -> None:
    points = page.get("group/history", group=group)["points"]
    assert points
    assert points[-1][1] == lag


def _deleted(page: ConsolePage, group: str) -> None:
    """Once its members have left."""
    assert page.send("group/delete", group=group).status == 200


def test_brokers_with_their_disks_and_settings(page: ConsolePage, node: servers.ServerProcess, made: str) -> None:
    answer = page.get("brokers")
    (broker,) = answer["rows"]
    (directory,) = broker["directories"]
    disk = shutil.disk_usage(directory["path"])
    assert directory["total_bytes"] == disk.total
    assert 0 < directory["usable_bytes"] <= disk.total
    assert (directory["is_failed"], directory["is_cordoned"]) == (False, False)
    assert answer["led_by_others"] == 0
    settings = {each["name"]: each for each in page.get("broker", broker=broker["node_id"])["configs"]}
    assert settings["log.dirs"]["is_set"]
    assert settings["log.dirs"]["value"] == directory["path"]
    assert page.post("brokers/elect") == {"elected": 0, "partitions": []}


def test_what_happened_is_what_the_command_tells(page: ConsolePage, node: servers.ServerProcess, made: str) -> None:
    told = json.loads(
        subprocess.run(
            [servers.MILLSTREAM, "why", "topic", made, "--json", "--bootstrap", node.bootstrap],
            capture_output=True,
            text=True,
            timeout=DELIVERY_S,
            check=True,
        ).stdout
    )["events"]
    story = page.get("story", about="topic", name=made)
    assert (story["reason"], story["total"]) == (None, len(story["rows"]))
    assert {(each["what"], each["why"]) for each in told} <= {
        (each["what"], each["why"] or None) for each in story["rows"]
    }
    assert "created" in {each["what"] for each in story["rows"]}
    times = [each["time_ms"] for each in story["rows"]]
    assert times == sorted(times, reverse=True)
    assert any(each["what"].startswith("controller ") for each in page.get("story", about="cluster")["rows"])
    assert "registered" in {
        each["what"].split(",")[0].split(":")[0] for each in page.get("story", about="broker", name=0)["rows"]
    }
    nobody = page.get("story", about="group", name=f"no-{made}")["rows"]
    assert f"group no-{made}" not in {each["about"] for each in nobody}
    assert page.get("story", about="topic", name=made, since_ms=0)["rows"] == []
    assert page.ask(f"/api/story?about=topic&name=no-{made}").code == "UNKNOWN_TOPIC_OR_PARTITION"
    assert [page.ask(f"/api/story?about={asked}").code for asked in ("<b>", "broker", "broker&name=x")] == [
        "INVALID"
    ] * 3


def test_a_transaction_is_seen_and_ended_by_force(page: ConsolePage, node: servers.ServerProcess, made: str) -> None:
    name = f"<i>tx</i> {made}"
    producer = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": name})
    producer.init_transactions(DELIVERY_S)
    producer.begin_transaction()
    producer.produce(made, value=b"open", partition=2)
    producer.flush(DELIVERY_S)
    (row,) = page.get("transactions", filter=made)["rows"]
    assert (row["transactional_id"], row["state"]) == (name, "Ongoing")
    described = page.get("transaction", transactional_id=name)
    assert described["partitions"] == [f"{made}-2"]
    assert described["open_ms"] >= 0
    page.post("transaction/abort", transactional_id=name)
    with pytest.raises(KafkaException) as fenced:
        producer.commit_transaction(DELIVERY_S)
    assert fenced.value.args[0].code() in (
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    )
    servers.eventually(lambda: _is_over(page, name))


def _is_over(page: ConsolePage, name: str) -> None:
    described = page.get("transaction", transactional_id=name)
    assert described["state"] in ("CompleteAbort", "Empty")
    assert described["partitions"] == []


def test_quotas_are_set_and_taken_away(page: ConsolePage, topic: str) -> None:
    client = f"<u>client</u> {topic}"
    page.post("quota", entity={"client-id": client}, values={"producer_byte_rate": 1024, "request_percentage": 5.5})
    (row,) = page.get("quotas", filter=topic)["rows"]
    assert row == {"entity": {"client-id": client}, "values": {"producer_byte_rate": 1024.0, "request_percentage": 5.5}}
    page.post("quota", entity={"client-id": client}, values={"producer_byte_rate": None, "request_percentage": None})
    assert page.get("quotas", filter=topic)["rows"] == []
    for wrong in (
        {"entity": {}, "values": {"x": 1}},
        {"entity": {"user": 1}, "values": {"x": 1}},
        {"entity": {"ip": None}},
    ):
        assert page.send("quota", **wrong).code == "INVALID", wrong
    assert page.send("quota", entity={"user": "x"}, values={"producer_byte_rate": True}).code == "INVALID"


def test_a_console_that_only_reads_changes_nothing(node: servers.ServerProcess, made: str, tmp_path: Path) -> None:
    with servers.console(tmp_path, node.bootstrap, "--read-only") as reader:
        page = ConsolePage(console_of(reader.ready_line))
        assert page.get("session")["read_only"] is True
        assert page.get("topic", topic=made)["partitions"] == 3
        for name in (
            "messages/send",
            "group/delete",
            "brokers/elect",
            "transaction/abort",
            "user/password",
            "acl/create",
        ):
            assert page.send(name, topic=made).code == "READ_ONLY", name
        assert page.post("messages", topic=made)["rows"] == []


def test_offsets_are_moved_after_a_look_and_moved_back(
    page: ConsolePage, node: servers.ServerProcess, made: str
) -> None:
    written(node, made, [{"value": b"x", "partition": number % 3} for number in range(9)])
    group = f"reader of {made}"
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group, "enable.auto.commit": False})
    at = [TopicPartition(made, 0, 2), TopicPartition(made, 1, 3)]
    commit(consumer, at)

    def committed() -> list[int]:
        wanted = [TopicPartition(made, index) for index in range(3)]
        return [each.offset for each in consumer.committed(wanted, DELIVERY_S)]

    assert committed() == [2, 3, OFFSET_INVALID]
    seen = page.post("group/reset", group=group, to="earliest")
    assert (seen["executed"], seen["repeated"], seen["skipped"], seen["blocked_by"]) == (False, 5, 0, [])
    assert [(each["partition"], each["from"], each["to"]) for each in seen["rows"]] == [(0, 2, 0), (1, 3, 0)]
    assert committed() == [2, 3, OFFSET_INVALID]
    assert page.post("group/reset", group=group, to="offset", at=1, topic=made, execute=True)["changed"] == 3
    assert committed() == [1, 1, 1]
    assert [each["to"] for each in page.post("group/undo", group=group)["rows"]] == [2, 3, None]
    assert committed() == [1, 1, 1]
    assert page.post("group/undo", group=group, execute=True)["changed"] == 3
    assert committed() == [2, 3, OFFSET_INVALID]
    assert page.send("group/undo", group=group).code == "INVALID"
    page.post("group/reset", group=group, to="shift", at=-1, execute=True)
    assert committed() == [1, 2, OFFSET_INVALID]
    commit(consumer, [TopicPartition(made, 0, 3)])
    consumer.close()
    assert "has gone on since" in page.send("group/undo", group=group).document["error"]["message"]
    for wrong in ({"to": "x"}, {"to": "offset"}, {"to": "offset", "at": -1}, {"to": "time", "at": True}, {}):
        assert page.send("group/reset", group=group, **wrong).code == "INVALID", wrong
