import pytest

from millstream_cluster.shard import java_hash, shard_of


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
