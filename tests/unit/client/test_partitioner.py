"""Keys go where Java's clients send them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner import murmur2 as murmur2_of_kafka_python

from millstream_client.partitioner import RoundRobin, murmur2, partition_of_key

# From the tests of Java's client.
OF_JAVA = [
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("key", "signed"), OF_JAVA)
def test_hash_is_javas(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF


@given(st.binary(max_size=200))
def test_hash_is_kafka_pythons(key: bytes) -> None:
    assert murmur2(key) == murmur2_of_kafka_python(key) & 0xFFFFFFFF


@given(st.binary(), st.integers(1, 1000))
def test_a_key_always_goes_to_the_same_partition(key: bytes, partitions: int) -> None:
    assert partition_of_key(key, partitions) == partition_of_key(key, partitions) < partitions


def test_without_a_key_partitions_take_turns() -> None:
    turns = RoundRobin()
    assert [turns.next(3, [0, 1, 2]) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_a_partition_without_a_leader_is_left_out_while_there_are_others() -> None:
    turns = RoundRobin()
    assert [turns.next(3, [0, 2]) for _ in range(4)] == [0, 2, 0, 2]
    assert {turns.next(3, []) for _ in range(3)} == {0, 1, 2}
