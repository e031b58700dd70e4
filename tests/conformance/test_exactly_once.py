"""Exactly once under fire: Kafka's own copier, in transactions version 2, while everything around it and it itself are killed."""

import os
import random
import shutil
from pathlib import Path

import pytest
import servers
from exactly_once import results
from kafka_tools import run_tool
from message_copier import Copier
from test_transactions import RECORDS, create, fill

OTHERS = ("broker-1", "broker-2", "broker-3", "coordinator-1", "coordinator-2")
KILLS_OF_OTHERS = 3
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "1").split(",")]
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")


@needs_java
@pytest.mark.parametrize("seed", SEEDS)
def test_each_result_once_whoever_is_killed(fresh: Path, topic: str, seed: int) -> None:
    source, target = f"{topic}-source", f"{topic}-target"
    drawn = random.Random(seed)
    victims = ["copier", *drawn.sample(OTHERS, KILLS_OF_OTHERS)]
    drawn.shuffle(victims)
    with servers.cluster(fresh) as running:
        create(running.bootstrap, source, target)
        expected = fill(running.bootstrap, source)
        copier = Copier(running.bootstrap, source, target, fresh / "copier.log", transaction_size=5)
        with copier.at_work():
            for victim in victims:
                copier.wait_for(copier.copied + drawn.randrange(1, RECORDS // (2 * len(victims))))
                print(f"kill -9 {victim} after {copier.copied} records")
                if victim == "copier":
                    copier.kill()
                else:
                    running.kill(victim)
                    running.restart(victim)
            copier.wait_done()
        found = results(running.bootstrap, target, RECORDS)
        lost, repeated = (expected - found).total(), (found - expected).total()
        print(f"exactly once: seed={seed} lives={copier.lives} lost={lost} repeated={repeated}")
        assert (lost, repeated) == (0, 0)


@needs_java
def test_kafkas_tools_read_what_is_stored_of_transactions(fresh: Path, topic: str) -> None:
    """The copier ran under version 2: the log says so, in the bytes that Kafka's own decoder takes."""
    source, target = f"{topic}-source", f"{topic}-target"
    with servers.node(fresh, "transaction.state.log.num.partitions=1") as running:
        create(running.bootstrap, source, target)
        expected = fill(running.bootstrap, source)
        copier = Copier(running.bootstrap, source, target, fresh / "copier.log", transaction_size=300)
        with copier.at_work():
            copier.wait_done()
        assert results(running.bootstrap, target, RECORDS) == expected
        assert running.stop() == 0
    (log,) = (fresh / "data").rglob("__transaction_state-0/*.log")
    result = run_tool("kafka-dump-log", ["--transaction-log-decoder", "--files", str(log)])
    assert result.returncode == 0, result.stdout + result.stderr
    stored = [line for line in result.stdout.splitlines() if f'"transactionalId":"x-{target}"' in line]
    # Status 4: CompleteCommit.
    assert '"transactionStatus":4' in stored[-1]
    assert '"clientTransactionVersion":2' in stored[-1]
    assert '"previousProducerId"' in stored[-1]
