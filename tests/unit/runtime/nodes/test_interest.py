"""Waiting for an answer only while the metadata says that it is worth it."""

import asyncio

import pytest

from millstream_runtime.nodes.interest import Interest, NoLonger


def test_a_wait_ends_with_the_change_that_ends_its_reason() -> None:
    async def scenario() -> None:
        interest, leader = Interest(), [1]
        ended = []

        async def wait(for_leader: int) -> None:
            try:
                async with interest.only_while(lambda: leader[0] == for_leader):
                    await asyncio.Event().wait()
            except NoLonger:
                ended.append(for_leader)

        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(wait(1))
            await asyncio.sleep(0)
            interest.on_change()
            await asyncio.sleep(0)
            assert not ended
            leader[0] = 2
            interest.on_change()
            interest.on_change()  # a second one, before the first has taken effect, does no harm
            await waiting
        assert ended == [1]
        interest.on_change()  # nobody waits

    asyncio.run(asyncio.wait_for(scenario(), 5))


def test_what_has_no_reason_does_not_begin() -> None:
    async def scenario() -> None:
        begun = False
        with pytest.raises(NoLonger):
            async with Interest().only_while(lambda: False):
                begun = True
        assert not begun

    asyncio.run(scenario())


def test_the_time_out_of_what_is_inside_is_its_own() -> None:
    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            async with Interest().only_while(lambda: True), asyncio.timeout(0):
                await asyncio.Event().wait()

    asyncio.run(scenario())
