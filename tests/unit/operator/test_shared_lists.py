"""Who asks for a list of everything, at the same time as others."""

import asyncio
from typing import Any

import pytest

from millstream_operator.reconcile.shared_lists import SharedLists

MANY = 1_000


class ApiServer:
    """Its answers are numbered, and are given when it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails = False
        self.turn = asyncio.Semaphore(0)
        self.noticed = asyncio.Condition()

    async def list(self, kind: str) -> list[dict[str, Any]]:
        async with self.noticed:
            self.asked += 1
            self.noticed.notify_all()
        answer = [{"number": self.asked}]
        await self.turn.acquire()
        if self.fails:
            raise ConnectionError("away")
        return answer


async def until_asked(server: ApiServer, times: int) -> None:
    async with server.noticed, asyncio.timeout(60):
        await server.noticed.wait_for(lambda: server.asked >= times)


def test_a_thousand_share_what_began_after_they_asked() -> None:
    async def scenario() -> None:
        server = ApiServer()
        lists = SharedLists(server.list)
        first = asyncio.create_task(lists.of("Topic"))
        await until_asked(server, 1)
        others = [asyncio.create_task(lists.of("Topic")) for _ in range(MANY)]
        await asyncio.sleep(0)
        server.turn.release()
        await until_asked(server, 2)
        server.turn.release()
        assert await first == [{"number": 1}]
        found = await asyncio.gather(*others)
        assert found == [[{"number": 2}]] * MANY
        assert all(each is found[0] for each in found)
        assert server.asked == 2

    asyncio.run(scenario())


def test_that_nobody_answers_is_everybodys() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.fails = True
        lists = SharedLists(server.list)
        waiting = [asyncio.create_task(lists.of("Topic")) for _ in range(MANY)]
        for asked in (1, 2):
            await until_asked(server, asked)
            server.turn.release()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert {str(each) for each in found} == {"away"}
        assert server.asked == 2
        server.turn.release()
        with pytest.raises(ConnectionError):
            await lists.of("Topic")
        assert server.asked == 3

    asyncio.run(scenario())


def test_who_is_cancelled_in_the_middle_leaves_nobody_an_older_list() -> None:
    async def scenario() -> None:
        server = ApiServer()
        lists = SharedLists(server.list)
        first = asyncio.create_task(lists.of("Topic"))
        await until_asked(server, 1)
        server.turn.release()
        assert await first == [{"number": 1}]
        cancelled, other = (asyncio.create_task(lists.of("Topic")) for _ in range(2))
        await until_asked(server, 2)
        cancelled.cancel()
        await until_asked(server, 3)
        server.turn.release()
        assert await other == [{"number": 3}]

    asyncio.run(scenario())
