"""Each test has a broker of its own, with nothing in it: `millstream` is the fixture of millstream.testing."""

import json
import time
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient
from shop import TOPIC, create_app

from millstream.testing import Millstream


@pytest.fixture
def shop(millstream: Millstream) -> Iterator[TestClient]:
    millstream.create_topic(TOPIC)
    with TestClient(create_app(millstream.bootstrap_servers)) as client:
        yield client


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_order_is_in_the_topic_when_it_is_answered(millstream: Millstream, shop: TestClient) -> None:
    answer = shop.post("/orders", json={"customer": "alice", "apples": 2})
    assert (answer.status_code, answer.json()) == (202, {"offset": 0})
    assert [json.loads(value) for value in millstream.values(TOPIC)] == [{"customer": "alice", "apples": 2}]


def test_what_is_no_order_gets_nowhere(millstream: Millstream, shop: TestClient) -> None:
    assert shop.post("/orders", json={"customer": "alice", "apples": 0}).status_code == 422
    assert millstream.values(TOPIC) == []


def test_totals_follow_what_anybody_writes(millstream: Millstream, shop: TestClient) -> None:
    shop.post("/orders", json={"customer": "alice", "apples": 2})
    millstream.produce(TOPIC, json.dumps({"customer": "alice", "apples": 3}))
    wait_until(lambda: shop.get("/customers/alice").json() == {"apples": 5})


@pytest.mark.millstream(brokers=3)
def test_orders_survive_the_death_of_a_broker(millstream: Millstream) -> None:
    millstream.create_topic(TOPIC, replication_factor=3)
    with TestClient(create_app(millstream.bootstrap_servers)) as shop:
        shop.post("/orders", json={"customer": "alice", "apples": 2})
        millstream.leader_of(TOPIC).kill()
        assert shop.post("/orders", json={"customer": "alice", "apples": 1}).status_code == 202
        wait_until(lambda: shop.get("/customers/alice").json() == {"apples": 3})
