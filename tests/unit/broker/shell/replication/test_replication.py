"""Followers copy from leaders: whole brokers but for their controller, over a network."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from millstream_log.disk import Disk
from millstream_wire.errors import ErrorCode

Scene: TypeAlias = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]


def test_a_follower_copies_what_its_leader_has_and_gets(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await brokers.start(1), await brokers.start(2)
        brokers.create(1, 2)
        for value in "abc":
            leader.append(value)
        await brokers.until_same(1, 2)
        leader.append("d", "e")
        assert await brokers.until_same(1, 2) < 0.1, "a request waits at the leader"
        assert follower.values() == ["a", "b", "c", "d", "e"]
        for node in leader, follower:
            await brokers.until(lambda node=node: node.replica().partition.high_watermark == 5)

    scene(scenario)


def test_acks_all_is_answered_once_the_follower_has_it(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        await brokers.start(1)
        follower = await brokers.start(2)
        brokers.create(1, 2)
        assert await brokers.produce(1, "a") is ErrorCode.NONE
        assert follower.values() == ["a"]
        await brokers.kill(2)
        assert await brokers.produce(1, "b", timeout_ms=1_000) is ErrorCode.REQUEST_TIMED_OUT

    scene(scenario)


def test_nothing_to_copy_costs_two_small_requests_a_second(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await brokers.start(1), await brokers.start(2)
        brokers.create(1, 2, partitions=40)
        await brokers.until(lambda: len(leader.partitions) == len(follower.replication) == 40)
        leader.append("a")
        await brokers.until_same(1, 2)
        await brokers.rest(1)
        before = len(leader.requests)
        await brokers.rest(10)
        asked = leader.requests[before:]
        assert 18 <= len(asked) <= 22, "one request in replica.fetch.wait.max.ms"
        assert all(not request.topics and not request.forgotten_topics_data for request in asked)
        assert follower.values() == ["a"]

    scene(scenario)


def test_a_new_partition_does_not_wait_for_a_request_that_is_under_way(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        await brokers.start(2, replica_fetch_wait_max_ms=20_000)
        brokers.create(1, 2)
        leader.append("a")
        await brokers.until_same(1, 2)
        await brokers.rest(1)
        brokers.add_partition(1, 1, 2)
        leader.append("b", index=1)
        assert await brokers.until_same(1, 2, index=1) < 0.2
        leader.append("c", index=1)
        assert await brokers.until_same(1, 2, index=1) < 0.2, "it is asked for until it has joined the others"
        await brokers.rest(30)
        leader.append("d", index=1)
        assert await brokers.until_same(1, 2, index=1) < 0.2
        leader.append("e")
        assert await brokers.until_same(1, 2) < 0.2

    scene(scenario)


def test_what_a_dead_leader_had_alone_is_cut_off_when_it_returns(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one, two = await brokers.start(1), await brokers.start(2)
        brokers.create(1, 2)
        one.append("a")
        await brokers.until_same(1, 2)
        await brokers.until(lambda: one.replica().partition.high_watermark == 1)
        await brokers.kill(2)
        one.append("b")
        one.append("c")
        await brokers.kill(1)
        two = await brokers.start(2)
        brokers.elect(2, isr=(2,))
        two.append("d")
        one = await brokers.start(1)
        await brokers.until_same(1, 2)
        assert one.values() == ["a", "d"]
        assert [(each.epoch, each.start_offset) for each in one.replica().log.epochs] == [(0, 0), (1, 1)]
        await brokers.stop(1)
        one = await brokers.start(1)
        assert one.values() == ["a", "d"], "the disk has followed"

    scene(scenario)


def test_logs_that_diverged_over_several_epochs_agree_again(scene: Scene) -> None:
    """Each leads alone for some epochs, as unclean elections have it; some epochs write nothing."""

    async def scenario(brokers: Any) -> None:
        one = await brokers.start(1)
        brokers.create(1, 2)
        for value in "ab":
            one.append(value)
            brokers.elect(1, isr=(1,), epochs=2)
        one.append("c")
        await brokers.kill(1)
        two = await brokers.start(2)
        brokers.elect(2, isr=(2,))
        for value in "xyz":
            two.append(value)
            brokers.elect(2, isr=(2,), epochs=3)
        one = await brokers.start(1)
        await brokers.until_same(1, 2)
        assert one.values() == ["x", "y", "z"]
        assert one.replica().log.epochs == two.replica().log.epochs

    scene(scenario)


def test_committed_records_that_go_are_said_loudly(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(brokers: Any) -> None:
        one = await brokers.start(1)
        brokers.create(1, 2)
        brokers.elect(1, isr=(1,))
        one.append("a")
        one.append("b")
        await brokers.stop(1)
        two = await brokers.start(2)
        brokers.elect(2, isr=(2,))
        two.append("c")
        one = await brokers.start(1)
        assert one.replica().partition.high_watermark == 2
        await brokers.until_same(1, 2)
        await brokers.until(lambda: one.replica().partition.high_watermark == 1)

    with caplog.at_level(logging.ERROR):
        scene(scenario)
    (told,) = [each.getMessage() for each in caplog.records]
    assert told.startswith("committed records truncated partition=orders-0 end_offset=0 high_watermark=2")


def test_a_follower_goes_on_where_it_stopped(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        await brokers.start(2)
        brokers.create(1, 2)
        leader.append("a")
        await brokers.until_same(1, 2)
        for end in brokers.stop, brokers.kill:
            await end(2)
            leader.append("b")
            copied = (await brokers.start(2)).broker.metrics
            await brokers.until_same(1, 2)
            assert copied.replicated_bytes == len(leader.batches()[-1]), "what it has is not sent again"

    scene(scenario)


def test_gaps_that_compaction_left_are_copied_and_survive_a_crash(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        brokers.create(1, 2, cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
        brokers.elect(1, isr=(1,))
        for _ in range(4):
            for value in "abcdefgh":
                leader.append(value)
            leader.replica().log.roll(0)
        assert await leader.cleaner.clean_dirtiest()
        kept = leader.values()
        assert len(kept) < 32
        # It is not compacted any more, so that only the leader can say that it was.
        brokers.configure(cleanup_policy="delete")
        follower = await brokers.start(2)
        await brokers.until_same(1, 2)
        await brokers.kill(2)
        follower = await brokers.start(2)
        assert follower.values() == kept
        assert follower.replica().log.log_end_offset == 32

    scene(scenario)


def test_what_is_missing_in_a_log_that_was_never_compacted_is_not_skipped(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        brokers.create(1, 2)
        leader.append("a")
        log = leader.replica().log
        log.log_end_offset += 5  # as a leader whose disk lost a batch without anybody's knowledge
        leader.append("b")
        follower = await brokers.start(2)
        await brokers.until(lambda: follower.values() == ["a"])
        await brokers.rest(5)
        assert follower.values() == ["a"]

    with caplog.at_level(logging.WARNING):
        scene(scenario)
    told = [each.getMessage() for each in caplog.records if "not copied" in each.getMessage()]
    assert told == [
        "replica not copied partition=orders-0 leader=1 leader_epoch=0 offset=1"
        " reason=offsets 1 to 6 are missing in a log that was never compacted"
    ]


def test_a_batch_that_the_leaders_disk_spoilt_is_not_copied(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        brokers.create(1, 2)
        leader.append("a")
        good = leader.replica().log.size
        leader.append("b")
        path = next((brokers.directory / "b1" / "orders-0").glob("*.log"))
        content = bytearray(path.read_bytes())
        content[good + 65] ^= 1
        path.write_bytes(content)
        follower = await brokers.start(2)
        await brokers.until(lambda: follower.values() == ["a"])
        await brokers.rest(5)
        assert follower.values() == ["a"]
        content[good + 65] ^= 1
        path.write_bytes(content)
        await brokers.until_same(1, 2)

    with caplog.at_level(logging.WARNING):
        scene(scenario)
    told = [each.getMessage() for each in caplog.records if "not copied" in each.getMessage()]
    assert told == [
        "replica not copied partition=orders-0 leader=1 leader_epoch=0 offset=1 reason=the checksum does not match"
    ]


class UnflushedDisk(Disk):
    """Cannot bring anything to the disk while `is_failing`."""

    is_failing = False

    def fdatasync(self, fd: int) -> None:
        if self.is_failing:
            raise OSError(5, "input/output error")
        super().fdatasync(fd)


def test_a_follower_whose_flush_failed_does_not_say_that_it_has_the_records(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        disk = brokers.disks[2] = UnflushedDisk()
        leader = await brokers.start(1)
        follower = await brokers.start(2)
        brokers.create(1, 2, flush_messages="1")
        leader.append("a")
        await brokers.until(lambda: leader.replica().partition.high_watermark == 1)
        disk.is_failing = True
        leader.append("b")
        await brokers.until(lambda: follower.replica().log.has_failed)
        disk.is_failing = False
        await brokers.rest(10)
        assert leader.replica().partition.high_watermark == 1
        follower.replica().check()
        brokers.elect(1)
        await brokers.rest(5)
        assert leader.replica().partition.high_watermark == 1, "a new leader epoch does not make the disk better"
        await brokers.kill(2)
        await brokers.start(2)
        await brokers.until(lambda: leader.replica().partition.high_watermark == 2)

    scene(scenario)


def test_a_leader_that_is_away_is_asked_again_until_it_is_back(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        await brokers.start(2)
        brokers.create(1, 2)
        leader.append("a")
        await brokers.until_same(1, 2)
        await brokers.kill(1)
        await brokers.rest(20)
        leader = await brokers.start(1)
        leader.append("b")
        assert await brokers.until_same(1, 2) < 3

    with caplog.at_level(logging.INFO):
        scene(scenario)
    told = [
        each.getMessage() for each in caplog.records if "leader" in each.getMessage() and "answer" in each.getMessage()
    ]
    assert [each.split(" broker=")[0] for each in told] == ["leader does not answer", "leader answers again"]


def test_a_log_that_begins_later_is_copied_from_there(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        brokers.create(1, 2)
        brokers.elect(1, isr=(1,))
        leader.append("a", "b", "c", "d", "e")
        leader.append("f")
        leader.replica().log.advance_start(3)  # inside a batch, as DeleteRecords may
        follower = await brokers.start(2)
        await brokers.until(lambda: follower.values() == ["d", "e", "f"])
        await brokers.until_same(1, 2)
        leader.replica().log.advance_start(5)
        leader.append("g")
        await brokers.until(lambda: follower.values() == ["f", "g"])
        follower.replica().check()

    scene(scenario)


def test_a_follower_that_the_leader_left_behind_begins_anew(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await brokers.start(1), await brokers.start(2)
        brokers.create(1, 2)
        for value in "abc":
            leader.append(value)
        await brokers.until_same(1, 2)
        await brokers.stop(2)
        brokers.elect(1, isr=(1,))
        log = leader.replica().log
        leader.append("d", "e")
        log.roll(0)
        leader.append("f", "g")
        log.doom_segments(1)
        assert log.log_start_offset == 5
        follower = await brokers.start(2)
        await brokers.until_same(1, 2)
        assert follower.values() == ["f", "g"]
        assert follower.replica().log.log_start_offset == 5
        await brokers.until(lambda: follower.replica().partition.high_watermark == 7)

    scene(scenario)


def test_a_replica_that_is_added_copies_and_one_that_is_removed_goes(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, other = await brokers.start(1), await brokers.start(2)
        brokers.create(1)
        leader.append("a")
        brokers.elect(1, replicas=(1, 2), epochs=0)
        await brokers.until_same(1, 2)
        brokers.elect(2, replicas=(2,), isr=(2,))
        other.append("b")
        assert other.values() == ["a", "b"]
        assert len(leader.partitions) == 0
        assert len(leader.replication) == len(other.replication) == 0

    scene(scenario)


def test_leadership_goes_back_and_forth(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        nodes = {node_id: await brokers.start(node_id) for node_id in (1, 2, 3)}
        brokers.create(1, 2, 3)
        expected = []
        for turn in range(12):
            leader = turn % 3 + 1
            brokers.elect(leader)
            for value in range(turn % 4):
                expected.append(f"{turn}-{value}")
                nodes[leader].append(expected[-1])
            for other in {1, 2, 3} - {leader}:
                await brokers.until_same(leader, other)
            for node in nodes.values():
                node.replica().check()
                assert node.values() == expected
        for node in nodes.values():
            await brokers.until(lambda node=node: node.replica().partition.high_watermark == len(expected))

    scene(scenario)


def test_a_leader_does_not_answer_for_what_is_not_asked_any_more(scene: Scene) -> None:
    """Both partitions leave, and one returns: a session that still held the other would be answered at once, for ever."""

    async def scenario(brokers: Any) -> None:
        one = await brokers.start(1)
        await brokers.start(2)
        brokers.create(1, 2, partitions=2)
        one.append("a", index=1)
        await brokers.until_same(1, 2, index=1)
        for index in 0, 1:
            brokers.elect(2, index=index)
        await brokers.rest(2)
        brokers.elect(1, index=1)
        await brokers.rest(1)
        before = len(one.requests)
        await brokers.rest(10)
        assert len(one.requests) - before <= 22

    scene(scenario)


def test_an_answer_that_comes_after_the_election_is_not_appended(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        nodes = {1: await brokers.start(1), 2: await brokers.start(2)}
        brokers.create(1, 2)
        leader, other = 1, 2
        for at in range(40):
            nodes[leader].append(f"{at}")
            await brokers.rest(at / 10_000)
            leader, other = other, leader
            brokers.elect(leader)
            await brokers.rest(at % 2 / 50)
            nodes[leader].append(f"{at} led by {leader}")
            await brokers.until_same(leader, other)
            for node in nodes.values():
                assert [f"{each} led by" in " ".join(node.values()) for each in range(at + 1)] == [True] * (at + 1)

    scene(scenario)
