"""What clients push as their metrics (KIP-714): OpenTelemetry's MetricsData in protobuf, read as far as gauges and sums go.

Only the fields that Kafka's clients fill in are looked at; others, and kinds of metrics that they do not send (histograms), are
passed over, as protobuf has it. Whatever the bytes are, the outcome is samples or `MalformedMetrics`.
"""

from collections.abc import Iterator
from struct import Struct

from millstream_wire.late_dataclass import dataclass

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_double, _int64, _uint32 = Struct("<d"), Struct("<q"), Struct("<I")
_VARINT_BYTES_MAX = 10
_DELTA = 1
SAMPLES_MAX = 10_000


class MalformedMetrics(Exception):
    """The bytes are no MetricsData, or hold more samples than a client may push at once."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number of one metric."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    value: float
    is_sum: bool
    """A counter, if it never falls; else a gauge."""
    is_delta: bool
    """What was added since the last push, and not the sum so far."""


def read_metrics(data: bytes) -> list[Sample]:
    samples: list[Sample] = []
    for resource in _inner(data, 1):
        for scope in _inner(resource, 2):
            for metric in _inner(scope, 2):
                samples += _samples(metric)
                if len(samples) > SAMPLES_MAX:
                    raise MalformedMetrics(f"more than {SAMPLES_MAX} samples")
    return samples


def _samples(metric: bytes) -> Iterator[Sample]:
    name = "".join(_text(value) for value in _inner(metric, 1))
    for gauge in _inner(metric, 5):
        for point in _inner(gauge, 1):
            yield _sample(name, point, is_sum=False, is_delta=False)
    for total in _inner(metric, 7):
        flags = {number: value for number, kind, value in _fields(total) if kind == _VARINT}
        for point in _inner(total, 1):
            yield _sample(name, point, is_sum=bool(flags.get(3)), is_delta=flags.get(2) == _DELTA)


def _sample(name: str, point: bytes, *, is_sum: bool, is_delta: bool) -> Sample:
    value = 0.0
    attributes = []
    for number, kind, content in _fields(point):
        match number, kind, content:
            case 4, 1, bytes():
                value = _double.unpack(content)[0]
            case 6, 1, bytes():
                value = float(_int64.unpack(content)[0])
            case 7, 2, bytes():
                key = "".join(_text(each) for each in _inner(content, 1))
                attributes.append((key, "".join(_any_value(each) for each in _inner(content, 2))))
            case _:
                pass
    return Sample(name, tuple(sorted(attributes)), value, is_sum, is_delta)


def _any_value(data: bytes) -> str:
    for number, kind, content in _fields(data):
        match number, kind, content:
            case 1, 2, bytes():
                return _text(content)
            case 2, 0, int():
                return "true" if content else "false"
            case 3, 0, int():
                return str(content - (1 << 64) if content >> 63 else content)
            case 4, 1, bytes():
                return str(_double.unpack(content)[0])
            case _:
                pass
    return ""


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise MalformedMetrics(f"a text is not UTF-8: {error.reason}") from None


def _inner(data: bytes, wanted: int) -> Iterator[bytes]:
    """The messages, or texts, of one field."""
    for number, kind, value in _fields(data):
        if number == wanted and kind == _BYTES:
            assert isinstance(value, bytes)
            yield value


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field, in their order."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield tag >> 3, kind, value
            continue
        if kind == _BYTES:
            size, position = _varint(data, position)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise MalformedMetrics(f"wire type {kind}")
        end = position + size
        if end > len(data):
            raise MalformedMetrics("a field is longer than what holds it")
        yield tag >> 3, kind, data[position:end]
        position = end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for count, byte in enumerate(data[position : position + _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, position + count + 1
    raise MalformedMetrics("a number without an end")
