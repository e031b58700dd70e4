"""The audit of a real topic's lake and copy, against a checksum that is computed here, without Spark."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet
import pytest
from broker import Sent, Topics, headers_of
from confluent_kafka import Message
from lake import committed_files
from lakeside import Archive

from millstream_spark.audit.job import run_audit
from millstream_spark.errors import LakeIncomplete

MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC


def mixed(topics: Topics, topic: str) -> None:
    """Headers, tombstones, transactions of both kinds: markers and aborted records take offsets."""
    headers = (("trace", b"\x01"), ("none", None))
    plain = [Sent(n % 3, f"k{n}".encode(), f"v{n}".encode(), MIDNIGHT_MS + n, headers) for n in range(60)]
    topics.produce(topic, plain)
    topics.produce_in_transaction(topic, plain[:9], commit=False)
    topics.produce_in_transaction(topic, [Sent(n, None, b"", MIDNIGHT_MS) for n in range(3)], commit=True)
    topics.produce(topic, [Sent(n, b"deleted", None, MIDNIGHT_MS) for n in range(3)])
    topics.produce_in_transaction(topic, plain[:9], commit=False)


def checksums(messages: list[Message]) -> dict[int, int]:
    """Return what the documentation says a partition's checksum is."""
    found: Counter[int] = Counter()
    for message in messages:
        headers = ",".join(f"{name.encode().hex().upper()}={hexed(value)}" for name, value in headers_of(message))
        fields = (
            message.offset(),
            message.timestamp()[1],
            hexed(message.key()),
            hexed(message.value()),
            headers or "-",
        )
        digest = hashlib.sha256(" ".join(map(str, fields)).encode()).hexdigest()
        found[message.partition() or 0] += int(digest[:15], 16)
    return dict(found)


def hexed(value: str | bytes | None) -> str:
    if value is None:
        return "-"
    return (value if isinstance(value, bytes) else value.encode()).hex().upper()


def arguments(archive: Archive, *more: str) -> list[str]:
    return [f"--bootstrap-servers={archive.bootstrap_servers}", f"--topic={archive.topic}", *more]


def test_a_lake_is_whole_and_each_loss_is_found(
    archive: Archive, topics: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed(topics, archive.topic)
    archive.run("--partition-by=partition")
    lake = arguments(archive, f"--lake={archive.lake}")
    capsys.readouterr()
    assert run_audit(lake) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1] == {
        "records": 66, "stored": 66, "missing": 0, "duplicates": 0, "altered": 0, "foreign": 0, "out_of_order": 0,
        "replaced": 0, "expired": 0,
    }  # fmt: skip
    told = checksums(topics.messages(archive.topic, 3))
    assert {line["partition"]: line["checksum"] for line in lines[:-1]} == told
    assert {line["partition"]: line["stored_checksum"] for line in lines[:-1]} == told

    topics.produce(archive.topic, [Sent(2, b"k", b"new", MIDNIGHT_MS)])
    with pytest.raises(LakeIncomplete, match="missing=1 "):
        run_audit(lake)
    # As far as the archive says that it is, nothing is missing.
    assert run_audit([*lake, f"--group={archive.group_id}"]) == 0

    # Faults of a disk: a value that is another, a partition whose records are gone.
    one, two = (file_of(archive, partition) for partition in (1, 2))
    table = pyarrow.parquet.ParquetFile(one).read()
    altered = [b"altered", *table.column("value").to_pylist()[1:]]
    at = table.schema.get_field_index("value")
    rewrite(one, table.set_column(at, "value", pyarrow.array(altered, pyarrow.binary())))
    rewrite(two, pyarrow.parquet.ParquetFile(two).read().slice(0, 0))
    with pytest.raises(LakeIncomplete, match="missing=22 duplicates=0 altered=1 "):
        run_audit([*lake, f"--group={archive.group_id}"])


def test_a_copy_is_compared_in_order(archive: Archive, topics: Topics) -> None:
    mixed(topics, archive.topic)
    copy = f"{archive.topic}-copy"
    topics.create(copy, partitions=3)
    sent = [
        Sent(m.partition() or 0, as_bytes(m.key()), as_bytes(m.value()), m.timestamp()[1], headers_of(m))
        for m in topics.messages(archive.topic, 3)
    ]
    topics.produce(copy, sent)
    topics.produce(copy, sent[:1])
    with pytest.raises(LakeIncomplete, match="duplicates=1 "):
        run_audit(arguments(archive, f"--copy={copy}"))


def file_of(archive: Archive, partition: int) -> Path:
    (file,) = (path for path in committed_files(archive.lake) if path.parent.name == f"partition={partition}")
    return file


def as_bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def rewrite(file: Path, table: pyarrow.Table) -> None:
    pyarrow.parquet.write_table(table, file)
    # Hadoop keeps a checksum beside each file.
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
