"""AlterClientQuotas as a decision."""

import math

import pytest

from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.records import ClientQuotaChanged, QuotaEntity, QuotaEntityType
from millstream_controller.core.client_quotas import QuotaChange, alter_client_quotas, entity_of
from millstream_wire.errors import ErrorCode

RATE = "producer_byte_rate"
USER = QuotaEntity(QuotaEntityType.USER, "u")
CLIENT = QuotaEntity(QuotaEntityType.CLIENT_ID, None)


def alter(cluster, *wanted, validate_only=False):
    named = [(entity_of(parts), changes) for parts, changes in wanted]
    decision = alter_client_quotas(cluster.machine, named, validate_only=validate_only)
    return [outcome.error for outcome in cluster.do(decision).values()]


def test_a_quota_is_for_an_entity_however_its_parts_are_ordered(cluster) -> None:
    assert alter(cluster, ((("client-id", None), ("user", "u")), (QuotaChange(RATE, 5.0),))) == [ErrorCode.NONE]
    assert alter(cluster, ((("user", "u"), ("client-id", None)), (QuotaChange(RATE, 6.0),))) == [ErrorCode.NONE]
    assert cluster.image.client_quotas == {(USER, CLIENT): {RATE: 6.0}}
    before = len(cluster.history)
    assert alter(cluster, ((("user", "u"), ("client-id", None)), (QuotaChange(RATE, 6.0),))) == [ErrorCode.NONE]
    assert len(cluster.history) == before
    alter(cluster, ((("user", "u"), ("client-id", None)), (QuotaChange(RATE, None),)))
    assert cluster.image.client_quotas == {}
    assert cluster.history[-1] == ClientQuotaChanged((USER, CLIENT), RATE, None)


def test_an_entity_gets_all_of_its_changes_or_none(cluster) -> None:
    wanted = (
        ((("user", "u"),), (QuotaChange(RATE, 5.0), QuotaChange("consumer_byte_rate", -1.0))),
        ((("user", None),), (QuotaChange(RATE, 5.0),)),
    )
    assert alter(cluster, *wanted, validate_only=True) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert cluster.image.client_quotas == {}
    assert alter(cluster, *wanted) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert list(cluster.image.client_quotas) == [(QuotaEntity(QuotaEntityType.USER, None),)]


@pytest.mark.parametrize("key", ["request_percentage", "controller_mutation_rate", "connection_creation_rate", "x"])
@pytest.mark.parametrize(("kind", "name"), [("user", "u"), ("client-id", None), ("ip", "127.0.0.1"), ("ip", None)])
def test_each_key_is_for_its_kinds(cluster, kind, name, key) -> None:
    fits = key != "x" and (key == "connection_creation_rate") == (kind == "ip")
    error = ErrorCode.NONE if fits else ErrorCode.INVALID_REQUEST
    assert alter(cluster, (((kind, name),), (QuotaChange(key, 5.0),))) == [error]
    assert bool(cluster.image.client_quotas) == fits


@pytest.mark.parametrize("key", ["request_percentage", "controller_mutation_rate"])
def test_what_older_nodes_do_not_enforce_waits_for_the_level(cluster, key) -> None:
    cluster.image.metadata_version = MetadataVersion.RELEASE_0_1
    assert alter(cluster, ((("user", "u"),), (QuotaChange(RATE, 5.0),))) == [ErrorCode.NONE]
    assert alter(cluster, ((("user", "u"),), (QuotaChange(key, 5.0),))) == [ErrorCode.INVALID_REQUEST]
    of_address = ((("ip", "127.0.0.1"),), (QuotaChange("connection_creation_rate", 5.0),))
    assert alter(cluster, of_address) == [ErrorCode.INVALID_REQUEST]
    assert cluster.image.client_quotas == {(USER,): {RATE: 5.0}}


@pytest.mark.parametrize("value", [0.0, -1.0, 0.5, 1e30, math.inf, math.nan])
def test_a_rate_is_a_positive_whole_number(cluster, value) -> None:
    assert alter(cluster, ((("user", "u"),), (QuotaChange(RATE, value),))) == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize(
    "entity",
    [
        (),
        (("zoo", "a"),),
        (("user", ""),),
        (("user", "a"), ("user", "")),
        (("ip", "127.0.0.1"), ("user", "b")),
        (("ip", "a"),),
    ],
)
def test_not_everything_is_an_entity(cluster, entity) -> None:
    assert alter(cluster, (entity, (QuotaChange(RATE, 5.0),))) == [ErrorCode.INVALID_REQUEST]


def test_an_entity_named_twice_is_not_changed(cluster) -> None:
    once = ((("user", "u"),), (QuotaChange(RATE, 5.0),))
    assert alter(cluster, once, once) == [ErrorCode.INVALID_REQUEST]
    assert cluster.image.client_quotas == {}


def test_of_two_names_of_one_type_the_last_counts(cluster) -> None:
    assert alter(cluster, ((("user", ""), ("user", "u")), (QuotaChange(RATE, 5.0),))) == [ErrorCode.NONE]
    assert cluster.image.client_quotas == {(USER,): {RATE: 5.0}}
