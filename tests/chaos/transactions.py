"""Transactional producers: payments in transactions over several partitions, some of them aborted on purpose."""

from itertools import count

from clients import PARTITIONS, PAYMENTS, TIMEOUT_S, Surroundings, padding, persistently
from confluent_kafka import KafkaException, Producer
from history import ABORTED, COMMITTED, UNKNOWN, Ended, Sent, now

PATIENCE_S = 90
TRANSACTION_TIMEOUT_MS = 120_000
"""Longer than any fault: whoever is fenced before that was fenced wrongly, since nobody else has its transactional id."""
ABORTED_SHARE = 0.15
RECORDS = (2, 6)
PAUSE_S = 0.1


class PaymentsProducer:
    """After a fatal error it goes on as another producer with the same transactional id."""

    def __init__(self, around: Surroundings, name: str) -> None:
        self._around = around
        self._name = name
        self._drawn = around.drawn(name)
        self._numbers = count()
        self._discarded: list[Producer] = []  # librdkafka does not always come back from destroying one in trouble

    def run(self) -> None:
        for life in count(self._around.first_life):
            name = f"{self._name}.{life}"
            producer = self._new_producer()
            try:
                persistently(self._around, name, lambda p=producer: p.init_transactions(TIMEOUT_S), PATIENCE_S)
                while not self._around.stop.is_set():
                    self._transaction(producer, name)
                    self._around.stop.wait(PAUSE_S)
            except KafkaException as error:
                self._around.trouble(name, error)
                self._around.stop.wait(1)
            if self._around.stop.is_set():
                return

    def _new_producer(self) -> Producer:
        producer = Producer(
            self._around.settings(
                transactional_id=f"payments-{self._name}",
                transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
                linger_ms=0,
            )
        )
        self._discarded.append(producer)
        return producer

    def _transaction(self, producer: Producer, name: str) -> None:
        number, begun = next(self._numbers), now()
        keys = []
        outcome = UNKNOWN
        try:
            producer.begin_transaction()
            for index in range(self._drawn.randint(*RECORDS)):
                partition = self._drawn.randrange(PARTITIONS[PAYMENTS])
                keys.append(f"{name}|{partition}|{number}.{index}")
                self._around.history.note(Sent(name, PAYMENTS, partition, keys[-1], now()))
                producer.produce(PAYMENTS, padding(self._drawn), keys[-1].encode(), partition=partition)
            if self._drawn.random() < ABORTED_SHARE:
                outcome = self._abort(producer, name)
            else:
                outcome = self._commit(producer, name)
        finally:
            self._around.history.note(Ended(name, number, outcome, PAYMENTS, keys, begun, now()))

    def _commit(self, producer: Producer, name: str) -> str:
        try:
            persistently(self._around, name, lambda: producer.commit_transaction(TIMEOUT_S), PATIENCE_S)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            return self._abort(producer, name)
        return COMMITTED

    def _abort(self, producer: Producer, name: str) -> str:
        persistently(self._around, name, lambda: producer.abort_transaction(TIMEOUT_S), PATIENCE_S)
        return ABORTED
