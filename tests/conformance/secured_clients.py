"""What a client does that came in: it writes a record, reads it back in a group and commits; then it tries what it may not.

Each function gives back whether it was read, and the codes of Kafka's refusals to write to another topic and to join another group.
"""

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import aiokafka
import confluent_kafka
import kafka
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError as AiokafkaError
from kafka.errors import KafkaError as PythonError
from kafka.net.sasl.oauth import AbstractTokenProvider as OauthTokenProvider
from kafka_programs import programs_libs, write_properties
from kafka_tools import HERE, LOGGING
from login_ways import GROUPS, OTHERS, OWN, Way
from sasl_scene import bearer

from millstream_wire.errors import ErrorCode

TIMEOUT_S = 60
OTHER_GROUP = "others"
Outcome = tuple[bool, int, int]
EXPECTED = (True, ErrorCode.TOPIC_AUTHORIZATION_FAILED.value, ErrorCode.GROUP_AUTHORIZATION_FAILED.value)


def confluent(way: Way, name: str) -> Outcome:
    own = way.librdkafka()
    producer = confluent_kafka.Producer(own | {"enable.idempotence": True})
    producer.poll(0)

    def send(topic: str) -> confluent_kafka.KafkaError | None:
        told: list[confluent_kafka.KafkaError | None] = []
        try:
            producer.produce(topic, name, on_delivery=lambda error, _: told.append(error))
        except confluent_kafka.KafkaException as known:  # from its metadata, already
            told.append(known.args[0])
        assert producer.flush(TIMEOUT_S) == 0
        return told[0]

    def read(group: str) -> confluent_kafka.KafkaError | None:
        consumer = confluent_kafka.Consumer(own | {"group.id": group, "auto.offset.reset": "earliest"})
        consumer.subscribe([OWN])
        try:
            for message in iter(lambda: consumer.poll(TIMEOUT_S), None):
                error = message.error()
                if error is not None and error.code() == ErrorCode.GROUP_AUTHORIZATION_FAILED:
                    return error
                if error is None and message.value() == name.encode():
                    consumer.commit(asynchronous=False)
                    return None
            raise AssertionError("neither a record nor an error")
        finally:
            consumer.close()

    assert send(OWN) is None
    refused, found, barred = send(OTHERS), read(GROUPS + name), read(OTHER_GROUP)
    assert refused is not None
    assert barred is not None
    return found is None, refused.code(), barred.code()


class _Bearer(AbstractTokenProvider):
    def __init__(self, user: str) -> None:
        self._user = user

    async def token(self) -> str:
        return bearer(self._user)


class _PythonBearer(OauthTokenProvider):
    def __init__(self, user: str) -> None:
        super().__init__()
        self._user = user

    def token(self) -> str:
        return bearer(self._user)


def _context(way: Way) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(way.authority))
    if way.certificate is not None:
        context.load_cert_chain(way.certificate.file)
    return context


def _pythons(way: Way) -> dict[str, object]:
    """What both of the clients in Python call the same."""
    told = {"bootstrap_servers": way.address, "security_protocol": way.protocol, "ssl_context": _context(way)}
    if not way.mechanism:
        return told
    return told | {
        "sasl_mechanism": way.mechanism,
        "sasl_plain_username": way.user,
        "sasl_plain_password": way.password,
    }


def aiokafkas(way: Way, name: str) -> Outcome:
    async def scenario() -> Outcome:
        own = _pythons(way)
        if way.mechanism == "OAUTHBEARER":
            own |= {"sasl_oauth_token_provider": _Bearer(way.user)}

        async def read(group: str) -> int:
            reader = aiokafka.AIOKafkaConsumer(OWN, group_id=group, auto_offset_reset="earliest", **own)
            try:
                await reader.start()
                async for message in reader:
                    if message.value == name.encode():
                        break
                await reader.commit()
            finally:
                await reader.stop()
            return 0

        async with asyncio.timeout(TIMEOUT_S), aiokafka.AIOKafkaProducer(**own) as producer:
            await producer.send_and_wait(OWN, name.encode())
            codes = []
            for attempt in (producer.send_and_wait(OTHERS, b"x"), read(GROUPS + name), read(OTHER_GROUP)):
                try:
                    await attempt
                    codes.append(0)
                except AiokafkaError as error:
                    codes.append(error.errno)
        return codes[1] == 0, codes[0], codes[2]

    return asyncio.run(scenario())


def kafka_pythons(way: Way, name: str) -> Outcome:
    own = _pythons(way)
    if way.mechanism == "OAUTHBEARER":
        own |= {"sasl_oauth_token_provider": _PythonBearer(way.user)}

    def send(topic: str) -> int:
        try:
            producer.send(topic, name.encode()).get(TIMEOUT_S)
        except PythonError as error:
            return int(error.errno)
        return 0

    def read(group: str) -> int:
        reader = kafka.KafkaConsumer(OWN, group_id=group, auto_offset_reset="earliest", **own)
        deadline = time.monotonic() + TIMEOUT_S
        try:
            while not reader.partitions_for_topic(OWN):  # first, for the reason that is in test_kafka_python.py
                assert time.monotonic() < deadline
            while time.monotonic() < deadline:
                for records in reader.poll(timeout_ms=200).values():
                    if any(record.value == name.encode() for record in records):
                        reader.commit()
                        return 0
        except PythonError as error:
            return int(error.errno)
        finally:
            reader.close(autocommit=False)
        raise AssertionError("neither a record nor an error")

    producer = kafka.KafkaProducer(**own)
    try:
        assert send(OWN) == 0
        return read(GROUPS + name) == 0, send(OTHERS), read(OTHER_GROUP)
    finally:
        producer.close()


IN_PYTHON: dict[str, Callable[[Way, str], Outcome]] = {
    "confluent-kafka": confluent,
    "aiokafka": aiokafkas,
    "kafka-python": kafka_pythons,
}


def franz_go(ways: dict[str, Way], directory: Path) -> dict[str, object]:
    """All of them in one process; what it says where it fails."""
    program = directory / "franz_go"
    go = shutil.which("go")
    assert go is not None
    build = [go, "build", "-trimpath", "-o", str(program), "."]
    subprocess.run(build, cwd=HERE / "franz_go", check=True, capture_output=True, timeout=570)
    logins = [
        {
            "address": way.address,
            "authority": str(way.authority),
            "certificate": "" if way.certificate is None else str(way.certificate.chain_file),
            "key": "" if way.certificate is None else str(way.certificate.key_file),
            "mechanism": way.mechanism,
            "user": way.user,
            "password": bearer(way.user) if way.mechanism == "OAUTHBEARER" else way.password,
            "by_token": way.by_token,
            "topic": OWN,
            "group": f"{GROUPS}franz-go-{name}",
            "value": f"franz-go-{name}",
            "others_topic": OTHERS,
            "others_group": OTHER_GROUP,
        }
        for name, way in ways.items()
    ]
    done = subprocess.run(
        [str(program)], input=json.dumps(logins), capture_output=True, text=True, timeout=300, check=True
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        name: each["failure"] or (each["read"], _code(each["writing"]), _code(each["joining"]))
        for name, each in zip(ways, told, strict=True)
    }


def _code(name: str) -> int | str:
    return ErrorCode[name].value if name in ErrorCode.__members__ else name


def javas(ways: dict[str, Way], directory: Path) -> dict[str, object]:
    """All of them in one process; each is "done" if it was as expected."""
    lines = []
    for name, way in ways.items():
        file = write_properties(directory / f"java-{name}.properties", way.properties())
        lines.append(f"client {GROUPS}java-{name} {file}\n")
    options = [
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.{kind}=file://{directory}/certificates/bearer.jwt"
        for kind in ("urls", "files")
    ]
    command = ["java", "-Xmx384M", "-XX:TieredStopAtLevel=1", *options, LOGGING, "-cp", f"{programs_libs()}/*"]
    command += [str(HERE / "kafka" / "GrantedPrograms.java"), os.devnull]
    done = subprocess.run(command, input="".join(lines), capture_output=True, text=True, timeout=300, check=True)
    return {
        name: EXPECTED if each == "done" else f"{each}: {done.stderr[-3000:]}"
        for name, each in zip(ways, done.stdout.splitlines(), strict=True)
    }
