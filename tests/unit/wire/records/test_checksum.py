"""The checksum of record batches: the extension alone says what its package says."""

import crc32c as package
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.records.checksum import crc32c


def test_the_check_value_of_the_algorithm() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_it_is_the_package_s(first: bytes, rest: bytes) -> None:
    assert crc32c(memoryview(first + rest)) == package.crc32c(first + rest)
    assert crc32c(rest, crc32c(first)) == crc32c(first + rest)
