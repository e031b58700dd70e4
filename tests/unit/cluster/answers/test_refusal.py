"""A refusal must be encodable in every version of its API: it is what clients get in bad times."""

import pytest

from millstream_cluster.answers.refusal import refuse_admin, refuse_group
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import OffsetFetchRequest
from millstream_wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic

ADMIN = [
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.DESCRIBE_QUORUM,
]
GROUP = [
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.DELETE_GROUPS,
    ApiKey.OFFSET_DELETE,
]


@pytest.mark.parametrize("key", ADMIN)
def test_admin_refusals_have_every_version(key: ApiKey) -> None:
    api = API[key]
    answer = refuse_admin(api.request(), ErrorCode.REQUEST_TIMED_OUT, "no controller")
    for version in range(api.versions[0], api.versions[1] + 1):
        assert decode(api.response, version, encode(answer, version)) is not None


@pytest.mark.parametrize("key", GROUP)
def test_group_refusals_have_every_version(key: ApiKey) -> None:
    api = API[key]
    for version in range(api.versions[0], api.versions[1] + 1):
        answer = refuse_group(api.request(), version, ErrorCode.NOT_COORDINATOR)
        assert decode(api.response, version, encode(answer, version)) is not None


def test_offset_fetch_is_refused_per_group_or_per_partition() -> None:
    new = refuse_group(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g")]), 8, ErrorCode.NOT_COORDINATOR)
    assert [(group.group_id, group.error_code) for group in new.groups] == [("g", 16)]  # type: ignore[attr-defined]
    asked = OffsetFetchRequest(topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[3])])
    old = refuse_group(asked, 1, ErrorCode.NOT_COORDINATOR)
    assert old.topics[0].partitions[0].error_code == 16  # type: ignore[attr-defined]
