"""How far behind a query is, by what Spark's progress says."""

from millstream_spark.lag import distance, parse_offsets


def test_what_spark_does_not_know_is_no_offset() -> None:
    """A batch that is done again has no latest offset, which PySpark tells as the text of Python's None."""
    assert parse_offsets("None") == parse_offsets(None) == {}
    assert parse_offsets('{"orders":{"0":3}}') == {"orders": {"0": 3}}


def test_lag_is_what_lies_behind_the_end_of_the_batch() -> None:
    latest = {"orders": {"0": 10, "1": 7, "2": 5}}
    assert distance({"orders": {"0": 4, "1": 9}}, latest) == 6
    assert distance({}, latest) == distance({"orders": {"0": 4}}, {}) == 0
