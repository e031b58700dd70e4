"""CreateAcls and DeleteAcls as decisions."""

from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest

from millstream_cluster.acls import ANY, MATCH, Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_cluster.answers.describe_acls import AclFilter
from millstream_cluster.records import AclAdded, AclRemoved, MetadataVersionSet
from millstream_controller.core import acls
from millstream_controller.core.acls import NewAcl, create_acls, delete_acls
from millstream_wire.errors import ErrorCode

ASKED = NewAcl(2, 3, "t", "User:a", "*", 3, 3)
READ = Acl(AclResource.TOPIC, AclPattern.LITERAL, "t", "User:a", "*", AclOperation.READ, AclPermission.ALLOW)
EVERYTHING = AclFilter(ANY, ANY, None, None, None, ANY, ANY)
IDS = count(1)


def new_id() -> UUID:
    return UUID(int=next(IDS))


@pytest.fixture
def raised(cluster):
    """At the level that has ACLs."""
    if cluster.image.metadata_version < 25:
        cluster.apply(MetadataVersionSet(25))
    return cluster


def create(cluster, *wanted: NewAcl) -> list[ErrorCode]:
    return [each.error for each in cluster.do(create_acls(cluster.machine, wanted, new_id=new_id))]


def delete(cluster, *filters: AclFilter) -> list[set[str]]:
    return [{acl.name for acl in each.acls} for each in cluster.do(delete_acls(cluster.machine, filters))]


def test_each_is_created_once(raised) -> None:
    other = replace(ASKED, name="t-", pattern=4)
    assert create(raised, ASKED, other, ASKED) == [ErrorCode.NONE] * 3
    assert create(raised, ASKED) == [ErrorCode.NONE]
    assert set(raised.image.acls.ids) == {READ, replace(READ, name="t-", pattern=AclPattern.PREFIXED)}
    assert [type(record) for record in raised.history].count(AclAdded) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource": 1},
        {"resource": 99},
        {"pattern": 2},
        {"pattern": 0},
        {"operation": 1},
        {"operation": 16},
        {"permission": 1},
        {"permission": 0},
        {"name": ""},
        {"host": ""},
        {"principal": "alice"},
        {"resource": 4, "name": "*"},
        {"name": "x" * (acls.PART_MAX_BYTES + 1)},
    ],
)
def test_what_makes_no_sense_is_refused_and_the_rest_is_done(raised, wrong: dict[str, object]) -> None:
    assert create(raised, replace(ASKED, **wrong), ASKED) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert set(raised.image.acls.ids) == {READ}


def test_an_older_cluster_has_no_place_for_them(raised) -> None:
    raised.image.metadata_version = type(raised.image.metadata_version)(7)
    assert create(raised, ASKED) == [ErrorCode.UNSUPPORTED_VERSION]
    assert not raised.image.acls.ids


def test_filters(raised) -> None:
    named = [replace(ASKED, name=name) for name in ("t", "u", "*")]
    create(raised, *named, replace(ASKED, name="t-", pattern=4), replace(ASKED, resource=3, name="g"))
    of_topic = replace(EVERYTHING, resource=2)
    dry = [
        (replace(of_topic, name="t"), {"t"}),
        (replace(of_topic, name="t", pattern=MATCH), {"t", "*"}),
        (replace(of_topic, name="t-x", pattern=MATCH), {"t-", "*"}),
        (replace(of_topic, pattern=4), {"t-"}),
        (replace(EVERYTHING, principal="User:b"), set()),
        (replace(EVERYTHING, operation=4), set()),
        (replace(EVERYTHING, host="10.0.0.1"), set()),
        (EVERYTHING, {"t", "u", "*", "t-", "g"}),
    ]
    for wanted, expected in dry:
        assert {acl.name for acl in raised.image.acls.ids if wanted.matches(acl)} == expected, wanted


def test_what_several_filters_match_goes_once_and_each_says_so(raised) -> None:
    create(raised, ASKED, replace(ASKED, name="u"))
    both = replace(EVERYTHING, resource=2)
    assert delete(raised, replace(both, name="t"), both, replace(both, name="none")) == [{"t"}, {"t", "u"}, set()]
    assert not raised.image.acls.ids
    assert [type(record) for record in raised.history].count(AclRemoved) == 2


def test_a_filter_with_unknown_numbers_matches_nothing(raised) -> None:
    create(raised, ASKED)
    for wrong in ({"resource": 0}, {"pattern": 9}, {"operation": 0}, {"permission": 7}):
        (told,) = raised.do(delete_acls(raised.machine, [replace(EVERYTHING, **wrong)]))
        assert told.outcome.error is ErrorCode.INVALID_REQUEST
    assert raised.image.acls.ids


def test_no_decision_is_larger_than_a_store_takes(raised, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls, "RECORDS_MAX", 2)
    many = [replace(ASKED, name=f"t{number}") for number in range(3)]
    assert create(raised, *many) == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]
    assert create(raised, *many) == [ErrorCode.NONE] * 3
    (told,) = raised.do(delete_acls(raised.machine, [EVERYTHING]))
    assert told.outcome.error is ErrorCode.POLICY_VIOLATION
    assert len(raised.image.acls.ids) == 3
