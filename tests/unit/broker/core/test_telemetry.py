"""What clients are asked to tell of themselves, when they may, and what is kept of it."""

import struct
from dataclasses import replace
from uuid import UUID

import pytest

from millstream_broker.core.telemetry import (
    BYTES_MAX,
    CLIENTS_MAX,
    DEFAULT_INTERVAL_MS,
    Client,
    Push,
    Subscription,
    Telemetry,
    Wanted,
)
from millstream_wire.errors import ErrorCode
from millstream_wire.otlp import MalformedMetrics, Sample, read_metrics
from millstream_wire.records.compression import Compression, compress
from millstream_wire.schema import ZERO_UUID

CLIENT = Client(UUID(int=5), "shop", "librdkafka", "2.16", "10.0.0.1", "777")
SECOND_MS = 1_000
ALL = Subscription.of(10 * SECOND_MS, (), ("*",))


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def point(value: float | int, **attributes: str) -> bytes:
    told = b"".join(
        field(7, field(1, key.encode()) + field(2, field(1, text.encode()))) for key, text in attributes.items()
    )
    if isinstance(value, int):
        return told + varint(6 << 3 | 1) + struct.pack("<q", value)
    return told + varint(4 << 3 | 1) + struct.pack("<d", value)


def gauge(name: str, *points: bytes) -> bytes:
    return field(1, name.encode()) + field(5, b"".join(field(1, each) for each in points))


def delta(name: str, value: int) -> bytes:
    return field(1, name.encode()) + field(7, field(1, point(value)) + field(2, 1) + field(3, 1))


def metrics(*each: bytes) -> bytes:
    return field(1, field(2, b"".join(field(2, metric) for metric in each)))


def pushed(data: bytes, *, is_last: bool = False, compression: int = Compression.NONE, of: Subscription = ALL) -> Push:
    return Push(Wanted.of(CLIENT, [of]).id, is_last, compression, compress(compression, data))


def test_gauges_and_sums_are_read_with_their_attributes() -> None:
    data = metrics(gauge("lag", point(2.5, topic="orders", partition="3"), point(7)), delta("sent", 4))
    assert read_metrics(data) == [
        Sample("lag", (("partition", "3"), ("topic", "orders")), 2.5, is_sum=False, is_delta=False),
        Sample("lag", (), 7.0, is_sum=False, is_delta=False),
        Sample("sent", (), 4.0, is_sum=True, is_delta=True),
    ]


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_what_ends_too_early_is_malformed(cut: int) -> None:
    data = metrics(gauge("lag", point(2.5, topic="orders", partition="3")))
    with pytest.raises(MalformedMetrics):
        read_metrics(data[:-cut])


def test_a_client_is_asked_for_what_all_subscriptions_that_choose_it_want() -> None:
    mine = Subscription.of(30 * SECOND_MS, ("client_id=sh.*", "client_software_name=librdkafka"), ("b.", "a."))
    others = Subscription.of(SECOND_MS, ("client_id=shopkeeper",), ("c.",))
    error, wanted = Telemetry().ask(CLIENT, [mine, others, replace(ALL, metrics=("a.",))], 0)
    assert error is ErrorCode.NONE
    assert wanted == Wanted(10 * SECOND_MS, ("a.", "b."))
    assert Telemetry().ask(CLIENT, [others], 0) == (ErrorCode.NONE, Wanted(DEFAULT_INTERVAL_MS, ()))


def test_who_asks_again_before_its_time_is_held_back_unless_something_changed() -> None:
    telemetry = Telemetry()
    assert telemetry.ask(CLIENT, [ALL], 0)[0] is ErrorCode.NONE
    assert telemetry.ask(CLIENT, [ALL], 9 * SECOND_MS)[0] is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert telemetry.ask(CLIENT, [], 9 * SECOND_MS)[0] is ErrorCode.NONE
    assert telemetry.ask(CLIENT, [], 9 * SECOND_MS)[0] is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_the_first_push_may_come_at_once_and_the_next_after_the_interval() -> None:
    telemetry = Telemetry()
    telemetry.ask(CLIENT, [ALL], 0)
    data = pushed(metrics(delta("sent", 4)), compression=Compression.ZSTD)
    assert telemetry.push(CLIENT, data, [ALL], 1) is ErrorCode.NONE
    assert telemetry.push(CLIENT, data, [ALL], 2) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert telemetry.push(CLIENT, data, [ALL], 1 + 10 * SECOND_MS) is ErrorCode.NONE
    [instance] = telemetry.instances(20 * SECOND_MS)
    assert instance.samples == {("sent", ()): 8.0}, "deltas add up"


def test_the_last_push_may_come_early_and_is_the_last() -> None:
    telemetry = Telemetry()
    telemetry.ask(CLIENT, [ALL], 0)
    telemetry.push(CLIENT, pushed(metrics(gauge("lag", point(7)))), [ALL], 1)
    last = pushed(metrics(gauge("lag", point(0))), is_last=True)
    assert telemetry.push(CLIENT, last, [ALL], 2) is ErrorCode.NONE
    assert telemetry.push(CLIENT, last, [ALL], 60 * SECOND_MS) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("push", "error"),
    [
        (replace(pushed(b""), subscription_id=9), ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        (replace(pushed(b""), compression=9), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (pushed(bytes(BYTES_MAX + 1)), ErrorCode.TELEMETRY_TOO_LARGE),
        (pushed(bytes(BYTES_MAX + 1), compression=Compression.ZSTD), ErrorCode.INVALID_RECORD),
        (replace(pushed(b""), metrics=b"\x0a\xff"), ErrorCode.INVALID_RECORD),
        (replace(pushed(b""), metrics=b"not folded", compression=Compression.GZIP), ErrorCode.INVALID_RECORD),
    ],
    ids=["another subscription", "codec", "size", "unfolded size", "bytes", "folding"],
)
def test_a_push_that_cannot_be_taken_is_refused_as_kafka_does(push: Push, error: ErrorCode) -> None:
    assert Telemetry().push(CLIENT, push, [ALL], 0) is error
    assert Telemetry().push(replace(CLIENT, instance_id=ZERO_UUID), push, [ALL], 0) is ErrorCode.INVALID_REQUEST


def test_clients_that_fell_silent_make_room() -> None:
    telemetry = Telemetry()
    for number in range(CLIENTS_MAX):
        telemetry.ask(replace(CLIENT, instance_id=UUID(int=number + 10)), [ALL], 1)
    assert telemetry.ask(CLIENT, [ALL], 2)[0] is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert telemetry.ask(CLIENT, [ALL], 31 * SECOND_MS)[0] is ErrorCode.NONE
    assert [each.client for each in telemetry.instances(31 * SECOND_MS)] == [CLIENT]
