"""A shop: orders go into a topic, and what each customer has ordered is read from it.

KAFKA=127.0.0.1:9092 uvicorn shop:app
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from fastapi import FastAPI
from pydantic import BaseModel, PositiveInt

TOPIC = "orders"


class Order(BaseModel):
    customer: str
    apples: PositiveInt


class Totals:
    """What everybody has ordered: all of the topic, added up, and then what comes."""

    def __init__(self, kafka: str) -> None:
        self.apples: Counter[str] = Counter()
        self._consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=kafka, auto_offset_reset="earliest")

    async def follow(self) -> None:
        async with self._consumer:
            async for message in self._consumer:
                order = json.loads(message.value)
                self.apples[order["customer"]] += order["apples"]


def create_app(kafka: str) -> FastAPI:
    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        app.state.totals = Totals(kafka)
        app.state.producer = AIOKafkaProducer(bootstrap_servers=kafka, enable_idempotence=True)
        async with app.state.producer:
            following = asyncio.create_task(app.state.totals.follow())
            yield
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    app = FastAPI(lifespan=running)

    @app.post("/orders", status_code=202)
    async def order(wanted: Order) -> dict[str, int]:
        """Answered once the order is in the topic: it cannot be lost any more."""
        written = await app.state.producer.send_and_wait(
            TOPIC, wanted.model_dump_json().encode(), key=wanted.customer.encode()
        )
        return {"offset": written.offset}

    @app.get("/customers/{customer}")
    async def customer_of(customer: str) -> dict[str, int]:
        return {"apples": app.state.totals.apples[customer]}

    return app


app = create_app(os.environ.get("KAFKA", "127.0.0.1:9092"))
