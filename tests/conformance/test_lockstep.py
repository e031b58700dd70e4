"""The same requests to Apache Kafka and to us, one after the other: whatever came before, the answers are the same."""

from collections.abc import Iterator
from typing import Any

import pytest
import servers
from kafka_broker import KafkaBroker
from lockstep import CHANGES_NOTHING, Side, apart, plain

SEEDS = range(1, 61)
STEPS = 40
PATIENCE_S = 30


@pytest.fixture
def sides(node: servers.ServerProcess, kafka: KafkaBroker, seed: int) -> Iterator[tuple[Side, Side]]:
    both = Side(node.bootstrap, seed), Side(kafka.bootstrap, seed)
    yield both
    for side in both:
        side.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_asked_alike_is_answered_alike(sides: tuple[Side, Side]) -> None:
    for step in range(STEPS):
        (request, version), (theirs, _) = (side.draw.request() for side in sides)

        def ask(step: int = step, asked: Any = (request, theirs), version: int = version) -> list[Any]:
            answers = [side.ask(each, version) for side, each in zip(sides, asked, strict=True)]
            ours, kafkas = (
                plain(answer, {topic_id: name for name, topic_id in side.ids.items()})
                for answer, side in zip(answers, sides, strict=True)
            )
            assert not (differing := list(apart(ours, kafkas))), (
                f"step {step}, version {version}: {differing} for {asked[0]}"
            )
            return answers

        if isinstance(request, CHANGES_NOTHING):
            servers.eventually(ask, within_s=PATIENCE_S)  # what a change brings about may take each its time
        else:
            for side, answer in zip(sides, ask(), strict=True):
                side.settle(request, answer)
