"""The aggregate against a real broker: every record is in exactly one total or is one dead letter, whatever happens in between."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from broker import Sent, Topics, headers_of

from millstream_spark.aggregate.config import read_config
from millstream_spark.aggregate.job import counted, run_aggregate
from millstream_spark.errors import BadConfig
from millstream_spark.login import Login
from millstream_spark.spark_session import open_session

MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Aggregate:
    topics: Topics
    source: str
    path: Path
    checkpoint: Path

    @property
    def result(self) -> str:
        return f"{self.source}-totals"

    @property
    def dead(self) -> str:
        return f"{self.source}-dead"

    def run(self) -> None:
        assert run_aggregate([str(self.path)]) == 0

    def totals(self) -> list[tuple[str, str, int, int]]:
        found = [json.loads(value) for value in self.topics.values(self.result, 2)]
        return sorted((each["customer"], each["window_start"], each["count"], each["sum_amount"]) for each in found)

    def letters(self) -> list[tuple[str, int, bytes | None]]:
        """Return reason, offset and value of each."""
        found = []
        for message in self.topics.messages(self.dead, 1):
            headers = dict(headers_of(message))
            value = message.value()
            assert headers["dead-letter.topic"] == self.source.encode()
            assert not isinstance(value, str)
            found.append((_text(headers["dead-letter.reason"]), int(_text(headers["dead-letter.offset"])), value))
        return sorted(found, key=lambda letter: letter[:2])

    def lose_the_last_commit(self) -> None:
        """The moment that makes duplicates elsewhere: the sink has the batch, the checkpoint does not know it yet."""
        last = max(int(path.name) for path in (self.checkpoint / "commits").iterdir() if path.name.isdecimal())
        for name in (f"{last}", f".{last}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)


@pytest.fixture
def aggregate(bootstrap_servers: str, topics: Topics, topic: str, tmp_path: Path) -> Aggregate:
    made = Aggregate(topics, topic, tmp_path / "totals.toml", tmp_path / "checkpoint")
    topics.create(made.result, partitions=2)
    topics.create(made.dead, partitions=1)
    made.path.write_text(
        f"""
name = "totals-{topic}"
bootstrap_servers = "{bootstrap_servers}"
checkpoint = "{made.checkpoint}"

[source]
topic = "{topic}"
schema = "customer STRING, amount BIGINT, at TIMESTAMP"
max_offsets_per_trigger = 40

[window]
time = "at"
length = "10 minutes"
watermark = "5 minutes"
keys = ["customer"]
sums = ["amount"]
tasks = 2

[result]
topic = "{made.result}"
slots = 1

[dead_letters]
topic = "{made.dead}"
"""
    )
    return made


def order(minute: int, amount: int) -> bytes:
    return json.dumps(
        {"customer": "ann" if amount % 2 else "bob", "amount": amount, "at": MIDNIGHT_MS // 1000 + 60 * minute}
    ).encode()


def sent(values: Sequence[bytes | None]) -> list[Sent]:
    """All in one partition: what is late depends on the order."""
    return [Sent(0, b"key", value, MIDNIGHT_MS, (("trace", b"1"),)) for value in values]


def test_every_record_is_counted_once_or_is_a_dead_letter(aggregate: Aggregate, topics: Topics) -> None:
    whole = [order(minute, minute) for minute in range(60)]
    poison: list[bytes | None] = [
        None,
        b"\xff\xfe",
        b"no json",
        b'{"customer": 3, "amount": "x"}',
        b'{"amount": 1, "at": 0}',
        # The window around it would end after the last time that Spark can count.
        b'{"customer": "ann", "amount": 1, "at": 9223372036854}',
    ]
    topics.produce(aggregate.source, sent([*whole[:30], *poison, *whole[30:]]))
    aggregate.run()
    aggregate.lose_the_last_commit()
    aggregate.run()
    # The same where the rows are kept: Spark's state is made again, what was written is not.
    aggregate.path.write_text(aggregate.path.read_text().replace("slots = 1", "slots = 2"))
    # By now the watermark is at minute 54: what is of the first windows is late, minute 55 is not.
    topics.produce(aggregate.source, sent([order(0, 1000), order(55, 2000), order(90, 4000), order(120, 8000)]))
    # More than a BIGINT holds, in a window that is not over.
    topics.produce(aggregate.source, sent([order(121, 2**63 - 1), order(121, 2**63 - 1)]))
    aggregate.run()
    aggregate.lose_the_last_commit()
    aggregate.run()

    # The watermark is at 116, so the windows from 0 to 50 are over, and so is that of 90, but not that of 120.
    expected: Counter[tuple[str, int]] = Counter()
    sums: Counter[tuple[str, int]] = Counter()
    for minute, amount in [*((minute, minute) for minute in range(60)), (55, 2000), (90, 4000)]:
        place = ("ann" if amount % 2 else "bob", minute // 10)
        expected[place] += 1
        sums[place] += amount
    found = {
        (customer, int(start[11:13]) * 6 + int(start[14:15])): (count, total)
        for customer, start, count, total in aggregate.totals()
    }
    assert found == {place: (expected[place], sums[place]) for place in expected}
    assert len(aggregate.totals()) == len(found), "a window's totals come once"

    letters = aggregate.letters()
    assert [(reason, value) for reason, _, value in letters] == [
        ("at out of range", poison[5]),
        ("late", order(0, 1000)),
        ("no customer", poison[4]),
        ("no value", None),
        ("not JSON of the schema", poison[1]),
        ("not JSON of the schema", poison[2]),
        ("not JSON of the schema", poison[3]),
    ]


def test_a_schema_without_a_column_that_is_named_is_refused(aggregate: Aggregate) -> None:
    aggregate.path.write_text(aggregate.path.read_text().replace('keys = ["customer"]', 'keys = ["client"]'))
    with pytest.raises(BadConfig, match="has no client"):
        aggregate.run()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("amount BIGINT", "amount STRING"), "amount is no number"),
        (("at TIMESTAMP", "at BIGINT"), "at is no TIMESTAMP"),
        (("at TIMESTAMP", "at TIME OF DAY"), "source.schema is no schema"),
        (('length = "10 minutes"', 'length = "ten minutes"'), "window: "),
        (('watermark = "5 minutes"', 'watermark = "-5 minutes"'), "window: "),
        (('keys = ["customer"]', 'keys = ["customer", "customer"]'), "window: "),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(aggregate: Aggregate, change: tuple[str, str], words: str) -> None:
    aggregate.path.write_text(aggregate.path.read_text().replace(*change))
    config = read_config(str(aggregate.path))
    spark = open_session("window")
    with pytest.raises(BadConfig, match=words):
        counted(spark, config, Login())


def _text(value: bytes | str | None) -> str:
    assert isinstance(value, bytes)
    return value.decode()
