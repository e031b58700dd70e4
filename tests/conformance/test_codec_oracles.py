"""The codec against three others: Kafka's own (Java), kio (generated from Kafka's definitions) and kafka-python.

Each reads what we wrote and writes it again byte for byte; the two Python ones must also have seen the same values
under the same names, and Kafka must declare the same fields, of the same types, in the same versions.
"""

import datetime
import importlib
import io
import re
import subprocess
import uuid
from typing import Any

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl
import kio.schema.errors
import kio.serial
import pytest
from generated_messages import MESSAGES, STORED, examples, kafka_fields, versions_of
from kafka_tools import HERE, KafkaUnavailable, tool_command

from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode, encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ApiVersionsResponse
from millstream_wire.schema import Array, Fixed, Message, Sized, Stored, WireType, is_flexible

JAVA_PACKAGES = {
    "ConsumerGroup": "org.apache.kafka.coordinator.group.generated",
    "ConsumerProtocol": "org.apache.kafka.common.message",
    "GroupMetadata": "org.apache.kafka.coordinator.group.generated",
    "OffsetCommit": "org.apache.kafka.coordinator.group.generated",
    "ShareGroup": "org.apache.kafka.coordinator.group.generated",
    "ShareSnapshot": "org.apache.kafka.coordinator.share.generated",
    "TransactionLog": "org.apache.kafka.coordinator.transaction.generated",
}


NEWEST = {
    ApiKey.API_VERSIONS: {5},
    ApiKey.TXN_OFFSET_COMMIT: {6},
    ApiKey.DELETE_GROUPS: {3},
}
UNDECLARED = (f"{int(ApiKey.STREAMS_GROUP_HEARTBEAT)} 1", f"{int(ApiKey.STREAMS_GROUP_DESCRIBE)} 1")
"""What nobody serves yet has no newest version here."""

NEWEST_ERRORS = {
    ("GROUP_DELETION_FAILED", 134, False),
    ("STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", 135, False),
    ("CONTROLLER_ID_NOT_REGISTERED", 136, False),
}
"""What came with Kafka 4.4: its own codec knows them, the Python ones do not yet."""


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
def test_kio_reads_the_same_and_writes_the_same_bytes(cls: type[Message]) -> None:
    package = snake(re.sub("(Request|Response)$", "", cls.__name__))
    for version in older_versions(cls):
        module = importlib.import_module(
            f"kio.schema.{package}.v{version}.{'request' if cls.is_request else 'response'}"
        )
        theirs = getattr(module, cls.__name__)
        for message in examples(cls, version, 6, plain=True):
            data = encode(message, version)
            read, end = kio.serial.entity_reader(theirs)(data, 0)
            assert end == len(data)
            assert_same(message, read, version)
            written = io.BytesIO()
            kio.serial.entity_writer(theirs)(written, read)
            assert written.getvalue() == data
            assert encode(decode(cls, version, written.getvalue()), version) == data


KAFKA_PYTHON = {
    name: getattr(module, name)
    for module in (
        kafka.protocol.admin,
        kafka.protocol.consumer,
        kafka.protocol.metadata,
        kafka.protocol.producer,
        kafka.protocol.sasl,
    )
    for name in module.__all__
    if name.endswith(("Request", "Response"))
}


@pytest.mark.parametrize("cls", [cls for cls in MESSAGES if cls.__name__ in KAFKA_PYTHON], ids=lambda cls: cls.__name__)
def test_kafka_python_reads_the_same_and_writes_the_same_bytes(cls: type[Message]) -> None:
    theirs = KAFKA_PYTHON[cls.__name__]
    for version in older_versions(cls):
        for message in examples(cls, version, 6):
            if cls is ApiVersionsResponse:
                message.error_code = 0  # with an error, kafka-python expects version 0
            data = encode(message, version)
            read = theirs.decode(data, version=version)
            read._header = None  # a request is meant to be written once, before it is sent
            assert_same(message, read, version)
            assert read.encode() == data
            assert decode(cls, version, data) == decode(cls, version, read.encode())


def test_kafka_declares_the_same_fields_in_the_same_versions() -> None:
    theirs = set(java_codec("schemas", *(java_name(cls) for cls in STORED)))
    ours = set()
    for cls in MESSAGES:
        kind = "request" if cls.is_request else "response"
        ours |= {f"{kind} {cls.api_key} {v} {java_struct(cls, v, is_flexible(cls, v))}" for v in versions_of(cls)}
    for stored in STORED:
        ours |= {
            f"stored {java_name(stored)} {java_version(stored, v)} {java_struct(stored, v, is_flexible(stored, v))}"
            for v in versions_of(stored)
        }
    assert ours - theirs == set()
    spoken = tuple(f"{kind} {int(key)} " for kind in ("request", "response") for key in API)
    left_out = tuple(f"{kind} {which} " for kind in ("request", "response") for which in UNDECLARED)
    missing = {line for line in theirs - ours if line.startswith((*spoken, "stored"))}
    assert {line for line in missing if not line.startswith(left_out)} == set()


def test_kafka_reads_and_writes_the_same_bytes() -> None:
    lines, expected = [], []
    for cls in (*MESSAGES, *STORED):
        for version in versions_of(cls):
            for message in examples(cls, version, 4):
                data = encode_any(message, version).hex()
                lines.append(f"{java_kind(cls)} {java_version(cls, version)} {data}")
                expected.append(data)
    answers = java_codec("rewrite", stdin="\n".join(lines) + "\n")
    different = [(line, answer) for line, data, answer in zip(lines, expected, answers, strict=True) if data != answer]
    assert different == []


def test_defaults_are_kafkas() -> None:
    lines, expected = [], []
    for cls in (*MESSAGES, *STORED):
        for version in versions_of(cls):
            lines.append(f"{java_kind(cls)} {java_version(cls, version)}")
            expected.append((cls, version))
    answers = java_codec("rewrite", stdin="\n".join(lines) + "\n")
    different = [
        (cls.__name__, version, answer)
        for (cls, version), answer in zip(expected, answers, strict=True)
        if answer not in (encode_any(cls(), version).hex(), encode_any(with_empty_texts(cls()), version).hex())
    ]
    assert different == []


def test_error_codes_are_kafkas() -> None:
    theirs = {(error.name.upper(), int(error), error.retriable) for error in kio.schema.errors.ErrorCode}
    assert {(error.name, int(error), error.retriable) for error in ErrorCode} == theirs | NEWEST_ERRORS


def older_versions(cls: type[Message]) -> list[int]:
    return [version for version in versions_of(cls) if version not in NEWEST.get(ApiKey(cls.api_key), ())]


# -- values under the same names


def assert_same(ours: Any, theirs: Any, version: int) -> None:
    """Compare field by field; both Python oracles name some fields in their own way."""
    for field in kafka_fields(type(ours), version):
        if field.name.endswith("authorized_operations"):
            continue  # kafka-python makes these a set of operations
        name = next(name for name in their_names(field.name) if hasattr(theirs, name))
        assert_same_value(getattr(ours, field.name), getattr(theirs, name), version)


def their_names(name: str) -> tuple[str, ...]:
    # kio makes timedelta and datetime fields of durations and timestamps, without the unit in the name.
    return (
        name,
        name.removesuffix("_ms"),
        f"{name}_",
        name.replace("enable_2pc", "enable2_pc"),
        name.removesuffix("_or_member_epoch"),
    )


def assert_same_value(ours: Any, theirs: Any, version: int) -> None:
    match theirs:
        case datetime.timedelta():
            theirs = theirs // datetime.timedelta(milliseconds=1)
        case datetime.datetime():
            theirs = (theirs - datetime.datetime.fromtimestamp(0, datetime.UTC)) // datetime.timedelta(milliseconds=1)
        case None if isinstance(ours, uuid.UUID):
            theirs = uuid.UUID(int=0)
        case memoryview():
            theirs = bytes(theirs)
    if theirs is None and ours is not None:
        assert ours == type(ours)()  # kafka-python leaves out a tagged struct that was not sent
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            assert_same_value(our, their, version)
    elif hasattr(ours, "__slots__") and not isinstance(ours, uuid.UUID):
        assert_same(ours, theirs, version)
    else:
        assert ours == theirs


# -- Kafka's own codec


def java_codec(*arguments: str, stdin: str = "") -> list[str]:
    try:
        command = tool_command(str(HERE / "kafka" / "Codec.java"), arguments, with_newest_clients=True)
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def java_kind(cls: type[Message] | type[Stored]) -> str:
    if issubclass(cls, Stored):
        return f"stored {java_name(cls)}"
    return f"{'request' if cls.is_request else 'response'} {cls.api_key}"


def java_name(cls: type[Stored]) -> str:
    package = next(package for start, package in JAVA_PACKAGES.items() if cls.__name__.startswith(start))
    return f"{package}.{cls.__name__}"


def java_version(cls: type[Message] | type[Stored], version: int) -> int:
    """Kafka counts the body of a key as version 0 and keeps the kind of record apart."""
    return 0 if issubclass(cls, Stored) and cls.__name__.endswith("Key") else version


def encode_any(value: Message | Stored, version: int) -> bytes:
    return encode_stored(value, version)[2:] if isinstance(value, Stored) else encode(value, version)


# Kafka states no default for these, which makes it an empty string there; with us "none" is None.
EMPTY_IN_KAFKA = {
    "error_message",
    "instance_id",
    "leader",
    "protocol",
    "rack_id",
    "server_assignor",
    "subscribed_topic_regex",
}


def with_empty_texts(value: Any) -> Any:
    for name in EMPTY_IN_KAFKA.intersection(value.__slots__):
        setattr(value, name, "")
    return value


JAVA_FIXED = {
    "?": "BOOLEAN",
    "b": "INT8",
    "h": "INT16",
    "i": "INT32",
    "q": "INT64",
    "H": "UINT16",
    "d": "FLOAT64",
    "16s": "UUID",
}


def java_struct(cls: type[Any], version: int, flexible: bool) -> str:
    fields = kafka_fields(cls, version)
    plain = [
        f"{java_field(f.name)}:{java_type(f.type, f.nullable, version, flexible)};" for f in fields if f.tag is None
    ]
    tagged = [
        f"{f.tag}={java_field(f.name)}:{java_type(f.type, f.nullable, version, flexible)};"
        for f in sorted((f for f in fields if f.tag is not None), key=lambda f: f.tag or 0)
    ]
    return "{" + "".join(plain + tagged) + "}"


def java_field(name: str) -> str:
    # Version 0 of a field that has another type since Kafka 4.4.
    lag = "acceptable_recovery_lag"
    return name.replace("enable_2pc", "enable2_pc").replace(lag, f"{lag}_legacy")


def java_type(wire_type: WireType, nullable: bool, version: int, flexible: bool) -> str:
    match wire_type:
        case Fixed(code):
            return JAVA_FIXED[code]
        case Sized(kind):
            return ("COMPACT_" if flexible else "") + ("NULLABLE_" if nullable else "") + kind.upper()
        case Array(item):
            return ("?" if nullable else "") + f"[{java_type(item, False, version, flexible)}]"
        case _:
            return java_struct(wire_type, version, flexible)  # Kafka's schema does not say that a struct may be null


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
