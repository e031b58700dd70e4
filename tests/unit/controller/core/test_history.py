"""What `millstream why` tells, from the records of real decisions."""

import re

from replicated_course import Course

from millstream_cluster.history import Event, events_of, grouped
from millstream_cluster.ids import NO_NODE
from millstream_controller.core.partitions.elections import Ballot, ElectionType, elect_leaders
from millstream_controller.core.topics.deleted_topics import TopicRef, delete_topics
from millstream_controller.core.topics.new_topics import NewTopic

SEEDS, STEPS = 15, 250


def events(cluster) -> list[Event]:
    return events_of(list(enumerate(cluster.history)), {})


def told(cluster, since: int = 0, about: str = "") -> list[tuple[str, str, str]]:
    """What was told of what happened from that record on."""
    found = [each for each in events(cluster) if each.time_ms >= since]
    return [(each.about, each.what, each.why) for each in found if each.about.startswith(about)]


def shared(cluster, **configs: str) -> int:
    for node in (1, 2, 3):
        cluster.register(node)
    cluster.create(NewTopic("t", assignments=((0, (1, 2, 3)),), configs=tuple(configs.items())))
    return len(cluster.history)


def test_a_broker_that_falls_silent_is_why_another_leads(cluster) -> None:
    begin = shared(cluster)
    cluster.fence(1)
    assert told(cluster, begin) == [
        ("t-0", "broker 2 leads instead of broker 1", "broker 1 fell silent"),
        ("t-0", "broker 1 out of sync; in sync 2,3", "broker 1 fell silent"),
        ("broker 1", "fenced: it leads nothing and is in no ISR", "it fell silent"),
    ]


def test_a_broker_that_stops_is_the_reason_already_where_it_makes_way(cluster) -> None:
    begin = shared(cluster)
    while not cluster.beat(1, want_shut_down=True).should_shut_down:
        pass
    assert told(cluster, begin)[0] == ("t-0", "broker 2 leads instead of broker 1", "broker 1 stops")
    assert told(cluster, begin)[-1][2] == "it stops"


def test_a_follower_that_is_slow_is_not_taken_for_one_that_is_gone(cluster) -> None:
    begin = shared(cluster)
    assert not cluster.propose("t", (1, 2))
    assert told(cluster, begin) == [("t-0", "broker 3 out of sync; in sync 1,2", "it did not keep up with the leader")]
    begin = len(cluster.history)
    assert not cluster.propose("t", (1, 2, 3))
    assert told(cluster, begin) == [("t-0", "broker 3 in sync again; in sync 1,2,3", "caught up with the leader")]


def test_a_crash_and_a_new_life_before_anybody_missed_it(cluster) -> None:
    begin = shared(cluster)
    cluster.register(1, live=False)
    assert told(cluster, begin)[0] == (
        "t-0",
        "broker 2 leads instead of broker 1",
        "broker 1 came back without having stopped cleanly",
    )
    assert told(cluster, begin, "broker 1")[0][2] == "without a proof that it stopped cleanly"


def test_a_disk_that_is_another_one_is_named(cluster) -> None:
    begin = shared(cluster)
    cluster.register(1, disk=1, live=False)
    assert told(cluster, begin, "broker 1")[0][2] == "it came with another disk"


def test_a_partition_that_nobody_can_lead_and_the_first_who_can_again(cluster) -> None:
    begin = shared(cluster, **{"min.insync.replicas": "2"})
    for node in (3, 2, 1):
        cluster.fence(node)
    assert ("t-0", "no leader", "broker 1 fell silent") in told(cluster, begin)
    assert any("may still lead without a loss" in what for _, what, _ in told(cluster, begin))
    begin = len(cluster.history)
    cluster.register(1, clean=True)
    assert ("t-0", "broker 1 leads", "broker 1 is there again") in told(cluster, begin)


def test_an_election_of_the_preferred_leader_and_an_unclean_one(cluster) -> None:
    begin = shared(cluster)
    cluster.fence(1)
    cluster.register(1)
    assert not cluster.propose("t", (2, 3, 1))
    begin = len(cluster.history)
    cluster.do(elect_leaders(cluster.machine, ElectionType.PREFERRED, [Ballot("t", (0,))]))
    assert told(cluster, begin) == [("t-0", "broker 1 leads instead of broker 2", "it is the preferred leader")]
    for node in (3, 2, 1):
        cluster.fence(node)
    cluster.register(3)
    begin = len(cluster.history)
    cluster.do(elect_leaders(cluster.machine, ElectionType.UNCLEAN, [Ballot("t", (0,))]))
    assert told(cluster, begin)[0][1] == "broker 3 leads, elected uncleanly: records may be lost"


def test_a_topic_that_is_gone_still_has_its_name(cluster) -> None:
    begin = shared(cluster)
    cluster.do(delete_topics(cluster.machine, [TopicRef("t", None)]))
    assert told(cluster, begin) == [("topic t", "deleted", "")]


def test_a_log_whose_beginning_is_forgotten_is_told_from_where_it_is(cluster) -> None:
    begin = shared(cluster)
    topic_id = cluster.partition().topic_id
    cluster.fence(3)
    rest = list(enumerate(cluster.history))[begin:]
    first = events_of(rest, {topic_id: "t"})[0]
    assert (first.what, first.why) == (
        "broker 1 leads; in sync 1,2; replicas 1,2,3",
        "what was before is not kept",
    )


def test_many_partitions_of_one_broker_are_one_line(cluster) -> None:
    for node in (1, 2):
        cluster.register(node)
    cluster.create(NewTopic("t", assignments=tuple((n, (1, 2)) for n in range(9))))
    begin = len(cluster.history)
    cluster.fence(1)
    at_once = [(0, record) for record in cluster.history[begin:]]
    before = [(0, record) for record in cluster.history[:begin]]
    lines = grouped(events_of([*before, *at_once], {})[-19:])
    assert [(each.about, each.what) for each in lines] == [
        ("t-0, t-1, t-2 and 6 more", "broker 2 leads instead of broker 1"),
        ("t-0, t-1, t-2 and 6 more", "broker 1 out of sync; in sync 2"),
        ("broker 1", "fenced: it leads nothing and is in no ISR"),
    ]


def test_what_is_told_adds_up_to_what_is(new_cluster) -> None:
    """Courses by chance: who leads and who is in sync in the end is what was told of it last."""
    for seed in range(SEEDS):
        course = Course(new_cluster(), seed)
        course.run(STEPS)
        leaders: dict[str, int] = {}
        in_sync: dict[str, str] = {}
        for event in events(course.cluster):
            if (found := re.search(r"broker (\d+) leads", event.what)) is not None:
                leaders[event.about] = int(found[1])
            elif "no leader" in event.what:
                leaders[event.about] = NO_NODE
            if (found := re.search(r"in sync ([\d,]+|nobody)", event.what)) is not None:
                in_sync[event.about] = found[1]
        for partition in course.cluster.image.partitions():
            about = f"{partition.topic}-{partition.partition}"
            assert leaders[about] == partition.leader, (seed, about)
            last = set(in_sync[about].split(",")) - {"nobody"}
            assert last == set(map(str, partition.isr)), (seed, about)
