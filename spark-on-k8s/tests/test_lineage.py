"""A checkpoint goes on with its own topic and its own lake, and with nothing else."""

import dataclasses

import pytest

from millstream_spark.errors import LineageBroken
from millstream_spark.lineage import Lineage, check_continues

RECORDED = Lineage(topic="orders", topic_id="lhLPInmRRnqmZo9jt_nYPg", output="file:/lake/orders")


def test_the_same_topic_and_lake_go_on() -> None:
    check_continues(RECORDED, dataclasses.replace(RECORDED))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}, "re-created"),
        ({"topic": "payments"}, "of topic orders"),
        ({"output": "file:/lake/other"}, "of the output file:/lake/orders"),
    ],
)
def test_anything_else_is_refused(change: dict[str, str], words: str) -> None:
    with pytest.raises(LineageBroken, match=words):
        check_continues(RECORDED, dataclasses.replace(RECORDED, **change))
