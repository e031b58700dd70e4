"""Error codes; that they are Kafka's is the conformance tests' business."""

from millstream_wire.errors import ErrorCode


def test_codes_have_no_gaps() -> None:
    assert sorted(ErrorCode) == list(range(-1, len(ErrorCode) - 1))


def test_retriable() -> None:
    assert ErrorCode(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert not ErrorCode.NONE.retriable
    assert not ErrorCode.FENCED_INSTANCE_ID.retriable
