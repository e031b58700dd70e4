from uuid import UUID, uuid4

import pytest

from millstream_cluster.ids import METADATA_TOPIC_ID, Role, node_id_of, parse_uuid, role_of, uuid_text


def test_the_role_follows_from_the_id() -> None:
    assert [role_of(node) for node in (0, 9_999, 10_000, 19_999, 20_000)] == [
        Role.BROKER,
        Role.BROKER,
        Role.COORDINATOR,
        Role.COORDINATOR,
        Role.CONTROLLER,
    ]
    assert role_of(node_id_of(Role.COORDINATOR, 7)) is Role.COORDINATOR
    with pytest.raises(ValueError, match="outside"):
        role_of(-1)
    with pytest.raises(ValueError, match="outside"):
        node_id_of(Role.BROKER, 10_000)


def test_uuids_are_written_as_kafkas_tools_print_them() -> None:
    assert uuid_text(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"
    value = uuid4()
    assert parse_uuid(uuid_text(value)) == value
    assert parse_uuid("AAAAAAAAAAAAAAAAAAAAAA") == UUID(int=0)
    for text in ("", "AAAA", "AAAAAAAAAAAAAAAAAAAAAQ==", "AAAAAAAAAAAAAAAAAAAAA*"):
        with pytest.raises(ValueError, match=r"."):
            parse_uuid(text)
