"""What waits for the audit topic: in order, bounded, and what found no room is said."""

import asyncio
import json
from typing import Any

from millstream_runtime.serving.audit.event import AuditEvent, AuditKind
from millstream_runtime.serving.audit.records import WAITING_MAX, AuditRecords


def event(name: str = "t") -> AuditEvent:
    return AuditEvent.of(AuditKind.AUTHORIZATION, "authorization denied", "User:a", "h", ("resource", name))


def taken(records: AuditRecords, most: int) -> list[dict[str, Any]]:
    return [json.loads(each.value or b"") for each in asyncio.run(records.take(most))]


def test_a_record_says_what_the_line_says_and_who_said_it() -> None:
    records = AuditRecords()
    records.is_read = True
    records.put(event("topic\nTOPIC:other"), "broker-0", 5)
    assert taken(records, 10) == [
        {
            "time_ms": 5,
            "node": "broker-0",
            "number": 1,
            "kind": "authorization",
            "event": "authorization denied",
            "principal": "User:a",
            "host": "h",
            "resource": "topic\nTOPIC:other",
        }
    ]


def test_nothing_is_kept_where_nobody_takes_it_out() -> None:
    records = AuditRecords()
    records.put(event(), "broker-0", 5)
    records.is_read = True
    records.put(event("later"), "broker-0", 5)
    assert [each["resource"] for each in taken(records, 10)] == ["later"]


def test_what_found_no_room_is_counted_and_said_with_the_next() -> None:
    records = AuditRecords()
    records.is_read = True
    for number in range(WAITING_MAX + 7):
        records.put(event(str(number)), "broker-0", number)
    found = taken(records, WAITING_MAX + 7)
    assert [each["resource"] for each in found] == [str(number) for number in range(WAITING_MAX)], "the first stay"
    assert records.dropped == 7
    records.put(event("next"), "broker-0", 9)
    records.put(event("and next"), "broker-0", 9)
    assert [each.get("dropped") for each in taken(records, 2)] == [7, None]
