"""One list for all who ask meanwhile, and none that is older than the question."""

import asyncio
from collections.abc import Sequence
from typing import Any

from millstream_operator.reconcile.listings import Listings


def test_whoever_asks_while_a_list_is_read_shares_the_next_one() -> None:
    begun: list[str] = []
    go = asyncio.Event()

    async def lists(kind: str) -> Sequence[dict[str, Any]]:
        begun.append(kind)
        number = len(begun)
        await go.wait()
        return [{"number": number}]

    async def story() -> None:
        listings = Listings(lists)
        first = asyncio.create_task(listings.of("Topic"))
        await asyncio.sleep(0)
        others = [asyncio.create_task(listings.of("Topic")) for _ in range(1_000)]
        await asyncio.sleep(0)
        assert begun == ["Topic"]
        go.set()
        assert await first == [{"number": 1}]
        found = await asyncio.gather(*others)
        assert all(each == [{"number": 2}] for each in found), "the first was begun before they asked"
        assert await listings.of("Topic") == [{"number": 3}]
        assert await listings.of("User") == [{"number": 4}]
        assert begun == ["Topic", "Topic", "Topic", "User"]

    asyncio.run(story())


def test_a_list_that_failed_is_nobodys() -> None:
    answers: list[Any] = [OSError("gone"), [{"number": 1}]]

    async def lists(kind: str) -> Sequence[dict[str, Any]]:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return list(answer)

    async def story() -> None:
        listings = Listings(lists)
        found = await asyncio.gather(listings.of("Topic"), listings.of("Topic"), return_exceptions=True)
        assert isinstance(found[0], OSError)
        assert found[1] == [{"number": 1}]

    asyncio.run(story())
