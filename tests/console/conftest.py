"""A node with something to see, and a browser that looks at its console."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from console_page import console_of
from playwright.sync_api import Browser, sync_playwright

TIMEOUT_S = 60
HOSTILE = (
    b"<img src=x onerror=\"document.title='harmed'\"><script>document.title='harmed'</script>",
    b"\xff\xfe\x00\xc3(",
    None,
    b"",
    b"\x1b[2J",
    "\u202eabc".encode(),
    (7).to_bytes(8, "big"),
    b'{"deep":' + b"[" * 3000 + b"]" * 3000 + b"}",
    b"x" * 900_000,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pictures", type=Path, default=None, help="where pictures of the pages are put; default: nowhere"
    )


@pytest.fixture(scope="session")
def pictures(request: pytest.FixtureRequest) -> Path | None:
    folder: Path | None = request.config.getoption("--pictures")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.node(tmp_path_factory.mktemp("node")) as node, contextlib.ExitStack() as open_ones:
        _fill(node.bootstrap, open_ones)
        yield console_of(node.ready_line)


def _fill(bootstrap: str, open_ones: contextlib.ExitStack) -> None:
    at = {"bootstrap.servers": bootstrap}
    wanted = {
        "orders": 6,
        "payments": 3,
        "hostile": 1,
        "wide": 1000,
        **{f"team-{n % 9}.events-{n}": 1 for n in range(70)},
    }
    topics = [NewTopic(name, count, 1, config={"retention.ms": "604800000"}) for name, count in wanted.items()]
    admin = AdminClient(at)  # goes on for as long as somebody has it
    for made in admin.create_topics(topics).values():
        made.result(TIMEOUT_S)
    producer = Producer(at)
    for number in range(200):
        order = {"id": number, "customer": f"customer-{number % 37}", "total": number * 7.25 % 500, "currency": "EUR"}
        order |= {
            "items": [{"sku": f"A-{number % 90}", "count": number % 4 + 1}],
            "paid": number % 3 == 0,
            "note": None,
        }
        headers = [("trace-id", f"{number:016x}".encode()), ("source", b"shop")]
        producer.produce("orders", key=f"customer-{number % 37}", value=json.dumps(order), headers=headers)
        producer.produce("payments", key=str(number), value=json.dumps({"order": number, "state": "captured"}))
    for body in HOSTILE:
        producer.produce("hostile", value=body, key=b"<b>key</b>", headers=[("<i>header</i>", b"\xff<script>")])
    producer.flush(TIMEOUT_S)
    transactions = Producer({**at, "transactional.id": "checkout-7", "transaction.timeout.ms": 900_000})
    transactions.init_transactions(TIMEOUT_S)
    transactions.begin_transaction()
    transactions.produce("payments", value=b"pending")
    transactions.flush(TIMEOUT_S)
    open_ones.callback(_ended, transactions)
    for group, protocol, count in (("billing", "classic", 120), ("analytics", "consumer", 40)):
        told = {
            "group.id": group,
            "group.protocol": protocol,
            "client.id": f"{group}-worker",
            "auto.offset.reset": "earliest",
        }
        consumer = Consumer({**at, **told, "enable.auto.commit": False})
        open_ones.callback(consumer.close)
        consumer.subscribe(["orders"])
        read = 0
        deadline = time.monotonic() + TIMEOUT_S
        while read < count and time.monotonic() < deadline:
            read += len(consumer.consume(count - read, 1.0))
        assert read == count
        consumer.commit(asynchronous=False)


def _ended(transactions: Producer) -> None:
    """Unless the tests took longer than a transaction may."""
    with contextlib.suppress(KafkaException):
        transactions.abort_transaction(TIMEOUT_S)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()
