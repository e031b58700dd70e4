"""The loop whose clock moves: what is due happens, in order, with what follows from it, and nobody waits."""

import asyncio
import contextvars
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from millstream.testing.host.moving_loop import LEAPS, MovingLoop
from millstream.testing.host.owner import Owner

T = TypeVar("T")
WEEK_S = 7 * 86_400.0
QUICK_S = 5.0


def run(main: Callable[[MovingLoop], Awaitable[T]]) -> T:
    async def on_loop() -> T:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovingLoop)
        return await main(loop)

    began_s = time.monotonic()
    with asyncio.Runner(loop_factory=MovingLoop) as runner:
        result = runner.run(on_loop())
    assert time.monotonic() - began_s < QUICK_S
    return result


def in_a_node(loop: MovingLoop, work: Callable[[], T]) -> tuple[Owner, T]:
    """What `work` begins belongs to the node."""
    owner = Owner()
    context = contextvars.copy_context()
    context.run(loop.owner.set, owner)
    return owner, context.run(work)


def test_time_passes_by_as_much_as_it_is_moved() -> None:
    async def main(loop: MovingLoop) -> tuple[float, list[str]]:
        seen: list[str] = []
        before_s = loop.time()
        loop.call_later(86_400, seen.append, "a day")
        loop.call_later(3_600, seen.append, "an hour")
        loop.call_later(2 * WEEK_S, seen.append, "never")
        await loop.move(WEEK_S, leap_max_s=WEEK_S)
        return loop.time() - before_s, seen

    passed_s, seen = run(main)
    assert passed_s == pytest.approx(WEEK_S, abs=1.0)
    assert seen == ["an hour", "a day"]


def test_who_looks_ten_times_a_second_looks_about_once_a_leap() -> None:
    async def main(loop: MovingLoop) -> int:
        looks = 0

        async def look_for_ever() -> None:
            nonlocal looks
            while True:
                await asyncio.sleep(0.1)
                looks += 1

        looking = asyncio.ensure_future(look_for_ever())
        await loop.move(WEEK_S, leap_max_s=WEEK_S)
        looking.cancel()
        return looks

    assert LEAPS / 2 < run(main) < LEAPS * 3


def test_an_answer_comes_before_the_time_out_of_who_waits_for_it() -> None:
    """The one that answers holds the question for half a second, and the one that asks would wait for one: a leap takes both."""

    async def main(loop: MovingLoop) -> int:
        asking, answering = socket.socketpair()
        asking.setblocking(False)
        answering.setblocking(False)
        answers = 0

        async def answer() -> None:
            while True:
                await loop.sock_recv(answering, 1)
                await asyncio.sleep(0.5)
                await loop.sock_sendall(answering, b"!")

        async def ask() -> None:
            nonlocal answers
            while True:
                async with asyncio.timeout(1.0):
                    await loop.sock_sendall(asking, b"?")
                    await loop.sock_recv(asking, 1)
                answers += 1

        tasks = [asyncio.ensure_future(answer()), asyncio.ensure_future(ask())]
        await loop.move(WEEK_S, leap_max_s=WEEK_S)
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        asking.close()
        answering.close()
        return answers

    assert run(main) > LEAPS / 2


def test_work_in_threads_is_waited_for() -> None:
    async def main(loop: MovingLoop) -> float:
        released = threading.Event()

        async def work() -> float:
            await asyncio.to_thread(released.wait)
            return loop.time()

        working = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        began_s = loop.time()
        threading.Timer(0.2, released.set).start()
        await loop.move(WEEK_S, leap_max_s=WEEK_S)
        return working.result() - began_s

    assert run(main) < 1.0


def test_a_node_that_is_stopped_does_afterwards_what_was_due() -> None:
    async def main(loop: MovingLoop) -> tuple[list[str], list[str]]:
        seen: list[str] = []
        owner, _ = in_a_node(loop, lambda: loop.call_later(10, seen.append, "its timer"))
        loop.call_later(10, seen.append, "another's")
        owner.stop()
        await loop.move(60, leap_max_s=60)
        while_stopped = list(seen)
        owner.go_on()
        await asyncio.sleep(0)
        return while_stopped, seen

    assert run(main) == (["another's"], ["another's", "its timer"])


def test_a_node_that_died_does_nothing_any_more() -> None:
    async def main(loop: MovingLoop) -> list[str]:
        seen: list[str] = []

        async def live() -> None:
            while True:
                await asyncio.sleep(1)
                seen.append("alive")

        def begin() -> "asyncio.Future[None]":
            loop.call_later(10, seen.append, "its timer")
            return asyncio.ensure_future(live())

        owner, living = in_a_node(loop, begin)
        await owner.die()
        assert living.cancelled()
        await loop.move(60, leap_max_s=60)
        return seen

    assert run(main) == []


def test_a_node_that_is_cut_off_hears_later_what_arrived_and_a_slow_one_in_time() -> None:
    async def main(loop: MovingLoop) -> tuple[list[bytes], list[bytes], float]:
        here, there = socket.socketpair()
        here.setblocking(False)
        heard: list[bytes] = []
        second = asyncio.Event()

        def hear() -> None:
            heard.append(here.recv(10))
            if len(heard) == 2:
                second.set()

        owner, _ = in_a_node(loop, lambda: loop.add_reader(here, hear))
        owner.cut()
        there.send(b"one")
        await asyncio.sleep(0.05)
        while_cut = list(heard)
        owner.mend()
        await asyncio.sleep(0.05)
        owner.delay_s = 0.2
        began_s = loop.time()
        there.send(b"two")
        await second.wait()
        took_s = loop.time() - began_s
        loop.remove_reader(here)
        here.close()
        there.close()
        return while_cut, heard, took_s

    while_cut, heard, took_s = run(main)
    assert (while_cut, heard) == ([], [b"one", b"two"])
    assert took_s >= 0.2
