"""What Kafka's keys of quotas take, and for whom."""

import math

import pytest

from millstream_cluster.quotas.addresses import canonical, numbers_of
from millstream_cluster.quotas.keys import QUOTA_KEYS

LONGS = ("producer_byte_rate", "consumer_byte_rate")
DOUBLES = ("request_percentage", "controller_mutation_rate")


@pytest.mark.parametrize("key", QUOTA_KEYS)
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_rate_is_a_positive_number(key: str, value: float) -> None:
    assert QUOTA_KEYS[key].wrong_with(value) is not None
    assert QUOTA_KEYS[key].wrong_with(1.0) is None


@pytest.mark.parametrize("key", QUOTA_KEYS)
def test_only_what_is_no_number_of_things_may_be_a_fraction(key: str) -> None:
    assert (QUOTA_KEYS[key].wrong_with(0.5) is None) == (key in DOUBLES)
    assert (QUOTA_KEYS[key].wrong_with(1e30) is None) == (key in DOUBLES)
    assert (QUOTA_KEYS[key].wrong_with(2.0**31) is None) == (key in (*DOUBLES, *LONGS))


def test_an_address_is_the_same_however_it_is_written() -> None:
    assert canonical("127.0.0.1") == canonical("::ffff:127.0.0.1") == "127.0.0.1"
    assert canonical("[0:0::1]") == canonical("::1") == "::1"
    assert canonical("fe80::1%eth0") == "fe80::1"
    assert canonical("localhost") is None
    assert numbers_of("10.0.0.1:5, [::1]:7,") == {"10.0.0.1": 5, "::1": 7}
    assert numbers_of("") == {}
    for wrong in ("10.0.0.1", "host:3", "10.0.0.1:-1", ":4"):
        with pytest.raises(ValueError, match="address:number"):
            numbers_of(wrong)
