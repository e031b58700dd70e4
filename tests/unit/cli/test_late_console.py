"""Through which listener the console beside a node goes to the cluster: none that its own guests could not reach."""

import pytest

from millstream.late_console import WayIn
from millstream_runtime.properties import Properties

MAP = "INTERNAL:PLAINTEXT,CLIENTS:SASL_PLAINTEXT,OPEN:PLAINTEXT,SECURE:SASL_SSL"


@pytest.mark.parametrize(
    ("listeners", "host", "chosen"),
    [
        ("OPEN://127.0.0.1:9092", "127.0.0.1", "OPEN"),
        ("OPEN://0.0.0.0:9092", "0.0.0.0", "OPEN"),
        ("OPEN://0.0.0.0:9092", "127.0.0.1", "OPEN"),
        ("SECURE://0.0.0.0:9092,INTERNAL://127.0.0.1:9094", "127.0.0.1", "INTERNAL"),
        ("SECURE://0.0.0.0:9092,INTERNAL://127.0.0.1:9094", "0.0.0.0", None),
        ("INTERNAL://127.0.0.1:9094,CLIENTS://0.0.0.0:9092", "0.0.0.0", "CLIENTS"),
    ],
)
def test_a_listener_for_this_machine_is_not_everybodys(listeners: str, host: str, chosen: str | None) -> None:
    told = {
        "listeners": listeners,
        "listener.security.protocol.map": MAP,
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    }
    found = WayIn.of(Properties(told), host)
    assert (found and found.listener) == chosen
