from uuid import UUID

import pytest

from millstream_cluster.shard import is_share_key, java_hash, shard_of, share_key


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", -2147483648)]
)
def test_java_hash_is_what_java_documents(text: str, expected: int) -> None:
    assert java_hash(text) == expected


def test_java_hash_counts_surrogates_one_by_one() -> None:
    assert java_hash("\U0001f600") == 0xD83D * 31 + 0xDE00


def test_the_least_integer_goes_to_shard_zero() -> None:
    assert shard_of("polygenelubricants", 50) == 0
    assert shard_of("hello", 50) == 22


def test_a_share_partition_is_named_by_group_topic_id_and_partition() -> None:
    topic_id = UUID("01234567-89ab-cdef-0123-456789abcdef")
    assert share_key("g", topic_id, 5) == "g:ASNFZ4mrze8BI0VniavN7w:5"
    assert is_share_key(share_key("with:colons", topic_id, 0))
    for wrong in (
        "",
        "g",
        "g:5",
        "g:ASNFZ4mrze8BI0VniavN7w:",
        "g:ASNFZ4mrze8BI0VniavN7w:x",
        "g:short:1",
        ":ASNFZ4mrze8BI0VniavN7w:1",
    ):
        assert not is_share_key(wrong)
