"""A cluster's course by chance: brokers come, crash and go, leaders write and propose, persons change things; checked at each step.

The same seed is the same course. The controller is the real one; what brokers do with their logs is `Copies`.
"""

import random
from collections.abc import Callable
from typing import Any

from replicated_partition import Copies

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.errors import ClusterError
from millstream_cluster.ids import NO_NODE
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_cluster.records import LeaderRecoveryState, ResourceType
from millstream_controller.core import upkeep
from millstream_controller.core.altered_configs import Change, Operation, Resource, alter_incrementally
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import unregister
from millstream_controller.core.partitions.change import Cause, next_state
from millstream_controller.core.partitions.elections import Ballot, ElectionType, elect_leaders
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.isr_changes import Proposal, Proposals, alter_partitions
from millstream_controller.core.partitions.losses import Loss, lose_replicas
from millstream_controller.core.topics.new_topics import NewTopic

BROKERS = range(4)
MIN_ISR = "min.insync.replicas"
TOPICS = {"one": "1", "two": "2", "all": "3"}
"""By name, how many have to be in sync."""
STOPPING_BEATS = 4


class Violation(AssertionError):
    """What was promised does not hold."""


class Course:
    def __init__(self, cluster: Any, seed: int) -> None:
        self.random = random.Random(seed)
        self.cluster = cluster
        self.story: list[str] = []
        self.seen: set[str] = set()
        self.alive: set[int] = set()
        self.proof: dict[int, bool] = {}
        """Of brokers that are down, whether they stopped cleanly."""
        self.disk = dict.fromkeys(BROKERS, 0)
        self.copies: dict[str, Copies] = {name: Copies() for name in TOPICS}
        self.writes = 0
        self.judged = 0
        self.sent: list[Proposals] = []
        self.proposed: set[int] = set()
        """Who joins an ISR by the present action, and may lead by the same record."""
        for broker in BROKERS:
            cluster.register(broker)
            self.alive.add(broker)
        for name, least in TOPICS.items():
            replicas = tuple(self.random.sample(BROKERS, 3))
            cluster.create(NewTopic(name, assignments=((0, replicas),), configs=((MIN_ISR, least),)))
        self.judged = len(cluster.history)
        self.states = {name: self.partition(name) for name in TOPICS}

    def run(self, steps: int) -> None:
        actions: list[tuple[Callable[[], bool | None], int]] = [
            (self.write, 8),
            (self.fetch, 30),
            (self.commit, 12),
            (self.shrink, 3),
            (self.expand, 20),
            (self.propose_late, 3),
            (self.fence, 3),
            (self.beat, 8),
            (self.crash, 1),
            (self.stop, 2),
            (self.come_back, 5),
            (self.restart, 2),
            (self.register_again, 1),
            (self.need_others, 1),
            (self.move, 4),
            (self.forget, 1),
            (self.take_over, 1),
            (self.elect, 1),
        ]
        kinds, weights = zip(*actions, strict=True)
        for _ in range(steps):
            (act,) = self.random.choices(kinds, weights)
            before = len(self.story)
            try:
                self.act(act)
            except (AssertionError, ClusterError) as error:
                raise Violation("\n".join([*self.story[max(0, before - 40) :], str(error)])) from error

    def act(self, act: Callable[[], bool | None]) -> None:
        """`act` says False if it may cost copies that are known of."""
        self.proposed = set()
        harmless = act() is not False
        self.cluster.do(Decision(upkeep._elections(self.cluster.machine), None))
        for record in self.cluster.history[self.judged :]:
            if isinstance(record, r.PartitionChanged):
                self.judge(record, harmless)
        self.judged = len(self.cluster.history)
        for name in TOPICS:
            self.check_copies(name)

    # What brokers do

    def write(self) -> None:
        if (led := self.led()) is not None:
            self.writes += 1
            self.copies[led.topic].write(led.leader, self.writes)

    def fetch(self) -> None:
        led = self.led()
        if led is None:
            return
        follower = self.random.choice(led.replicas)
        if follower in self.alive and follower != led.leader:
            most = self.random.choice((0, 1, 9))
            self.copies[led.topic].fetch(follower, self.epoch(follower), led.leader, most)

    def commit(self) -> None:
        led = self.led()
        if led is not None and len(led.isr) >= min(self.least(led.topic), len(led.replicas)):
            self.copies[led.topic].commit(led.leader, led.isr, led.partition_epoch)

    def shrink(self) -> None:
        led = self.led()
        if led is not None and len(led.isr) > 1:
            gone = self.random.choice([member for member in led.isr if member != led.leader])
            self.propose(led, [member for member in led.isr if member != gone])

    def expand(self) -> None:
        led = self.led()
        if led is None:
            return
        copies = self.copies[led.topic]
        joining = [node for node in led.replicas if node not in led.isr and copies.may_join(node)]
        if joining:
            self.propose(led, [*led.isr, self.random.choice(joining)])

    def propose(self, led: Partition, isr: list[int]) -> None:
        copies = self.copies[led.topic]
        if copies.awaits(led.partition_epoch):
            return
        self.proposed = set(isr)
        copies.pending = (led.partition_epoch, tuple(isr))
        members = tuple((node, copies.fetched[node][0] if node not in led.isr else -1) for node in isr)
        proposal = Proposal(led.topic_id, 0, led.leader_epoch, led.partition_epoch, members)
        self.sent.append(Proposals(led.leader, self.epoch(led.leader), (proposal,)))
        if self.random.random() < 0.8:
            self.judged_proposal(self.sent[-1])

    def propose_late(self) -> None:
        """A request that was long under way, or is sent again."""
        if self.sent:
            wanted = self.random.choice(self.sent[-6:])
            self.proposed = {node for node, _ in wanted.proposals[0].isr}
            self.judged_proposal(wanted)

    def judged_proposal(self, wanted: Proposals) -> None:
        copies = self.copies[self.cluster.image.topic(wanted.proposals[0].topic_id).name]
        if copies.pending[0] == wanted.proposals[0].partition_epoch:
            copies.pending = (-1, ())
        judged = self.cluster.do(alter_partitions(self.cluster.machine, wanted))
        error = judged.verdicts[0].error if judged.verdicts else judged.error
        self.tell(f"{wanted.node_id} proposes {wanted.proposals[0]}: {error.name}")
        self.seen.add(f"proposal {error.name}")

    # What becomes of brokers

    def fence(self) -> None:
        broker = self.random.choice(BROKERS)
        node = self.cluster.image.node(broker)
        if node is not None and not node.fenced:
            self.cluster.fence(broker)
            self.tell(f"{broker} is fenced")

    def beat(self) -> None:
        if self.alive:
            self.cluster.beat(self.random.choice(sorted(self.alive)))

    def crash(self) -> None:
        """Power is lost, and with it some of what was not on the disk yet."""
        if self.alive:
            broker = self.random.choice(sorted(self.alive))
            self.go_down(broker, clean=False)
            for copies in self.copies.values():
                log = copies.log(broker)
                copies.logs[broker] = log[: self.random.randint(0, len(log))]
            self.tell(f"{broker} crashes")

    def stop(self) -> None:
        if self.alive:
            broker = self.random.choice(sorted(self.alive))
            for _ in range(STOPPING_BEATS):
                if self.cluster.beat(broker, want_shut_down=True).should_shut_down:
                    break
            else:
                raise Violation(f"{broker} may not stop")
            self.go_down(broker, clean=True)
            self.tell(f"{broker} stops")

    def go_down(self, broker: int, *, clean: bool) -> None:
        self.alive.discard(broker)
        self.proof[broker] = clean

    def come_back(self) -> bool:
        down = [broker for broker in BROKERS if broker not in self.alive]
        if not down:
            return True
        broker = self.random.choice(down)
        clean = self.proof[broker]
        lost = self.random.choice((*[None] * 6, "disk", "one"))
        if lost == "disk":
            self.disk[broker] += 1
            for copies in self.copies.values():
                copies.logs.pop(broker, None)
        known = self.cluster.image.node(broker) is not None
        epoch = self.cluster.register(broker, disk=self.disk[broker], live=False, clean=clean and known, beat=False)
        if lost == "one":
            topic = self.random.choice(list(TOPICS))
            self.copies[topic].logs.pop(broker, None)
            loss = Loss(broker, epoch, ((self.partition(topic).topic_id, 0),))
            self.cluster.do(lose_replicas(self.cluster.machine, loss))
        self.alive.add(broker)
        self.tell(f"{broker} comes back clean={clean} lost={lost}")
        return clean and lost is None

    def restart(self) -> bool:
        """A crash and a new life before anybody has missed it."""
        if len(self.alive) < len(BROKERS):
            return True
        self.crash()
        harmless = self.come_back()
        for broker in BROKERS:
            self.cluster.beat(broker)
        return harmless

    def register_again(self) -> None:
        """A process that lost its session goes on with its logs, under a new epoch."""
        if self.alive:
            broker = self.random.choice(sorted(self.alive))
            if self.cluster.image.node(broker) is not None:
                self.cluster.register(broker, disk=self.disk[broker], clean=True, beat=False)
                self.tell(f"{broker} registers again")

    # What persons and controllers do

    def need_others(self) -> bool:
        topic, least = self.random.choice(list(TOPICS)), self.random.choice("123")
        change = (Resource(ResourceType.TOPIC, topic, 2), (Change(MIN_ISR, Operation.SET, least),))
        self.cluster.do(alter_incrementally(self.cluster.machine, [change], validate_only=False))
        self.tell(f"{topic} needs {least} in sync")
        return False

    def move(self) -> bool:
        partition = self.partition(self.random.choice(list(TOPICS)))
        if partition.adding_replicas or partition.removing_replicas:
            return True
        wanted = self.random.sample(BROKERS, self.random.choice((2, 3)))
        adding = tuple(node for node in wanted if node not in partition.replicas)
        removing = tuple(node for node in partition.replicas if node not in wanted)
        both = (*wanted, *removing)
        cause = Cause(replicas=both, adding_replicas=adding, removing_replicas=removing)
        change = next_state(partition, Electorate(self.cluster.machine), cause)
        self.cluster.do(Decision((change,) if change is not None else (), None))
        self.tell(f"{partition.topic} moves from {partition.replicas} to {wanted}")
        return False

    def forget(self) -> bool:
        """A broker that is gone for good; under its id another one may come."""
        down = [broker for broker in BROKERS if broker not in self.alive]
        if not down:
            return True
        broker = self.random.choice(down)
        if self.cluster.do(unregister(self.cluster.machine, broker)).error == 0:
            self.disk[broker] += 1
            for copies in self.copies.values():
                copies.logs.pop(broker, None)
            self.tell(f"{broker} is forgotten")
        return False

    def take_over(self) -> None:
        """Another controller knows what the log says and nothing else."""
        image = self.cluster.image
        self.cluster.machine = ControllerMachine(self.cluster.machine.settings, Image.of(image.records(), image.offset))
        assert self.cluster.image == image

    def elect(self) -> bool:
        kind = self.random.choice((ElectionType.PREFERRED, ElectionType.PREFERRED, ElectionType.UNCLEAN))
        ballot = Ballot(self.random.choice(list(TOPICS)), (0,))
        self.cluster.do(elect_leaders(self.cluster.machine, kind, [ballot]))
        return False

    # What must be true

    def judge(self, change: r.PartitionChanged, harmless: bool) -> None:
        topic = self.cluster.image.topic(change.topic_id).name
        before, after = self.states[topic], Partition.of(change, topic)
        self.states[topic] = after
        self.tell(f"  {topic}: {shown(before)} -> {shown(after)}")
        safe = {*before.isr, *before.eligible_leader_replicas}
        if after.leader not in (before.leader, NO_NODE):
            if after.leader in safe | self.proposed:
                self.seen.add(
                    "elected from the ELR"
                    if after.leader in before.eligible_leader_replicas
                    else "elected from the ISR"
                )
            else:
                self.seen.add("elected uncleanly")
                assert after.leader_recovery_state is LeaderRecoveryState.RECOVERING or len(after.replicas) == 1
                self.copies[topic].accept_loss(after.leader)
        if after.replicas != before.replicas:
            self.judge_move(before, after)
            for gone in set(before.replicas) - set(after.replicas):
                self.copies[topic].logs.pop(gone, None)
        need = min(self.least(topic), len(after.replicas))
        still = {*after.isr, *after.eligible_leader_replicas}
        if harmless and len(safe) >= need and before.replicas == after.replicas:
            assert len(still) >= need, f"{topic} has fewer copies known to be complete than it needs"
        if not after.isr:
            self.seen.add("no ISR")

    def judge_move(self, before: Partition, after: Partition) -> None:
        """No copy is given up before those that come are complete, and those that are left are enough."""
        if set(after.replicas) < set(before.replicas):
            self.seen.add("moved")
            assert set(before.adding_replicas) <= set(after.isr), "a move ends before who comes is in sync"
            least = min(self.least(after.topic), len(after.replicas))
            assert len(after.isr) >= least, "a move ends with too few in sync"

    def check_copies(self, name: str) -> None:
        partition, copies = self.partition(name), self.copies[name]
        if not partition.online:
            able = Electorate(self.cluster.machine).electable
            assert able.isdisjoint({*partition.isr, *partition.eligible_leader_replicas}), "a leader could be elected"
        for node in {*partition.isr, *partition.eligible_leader_replicas}:
            broken = node not in self.alive and not self.proof[node]
            if not broken and not copies.has_all(node):
                raise Violation(
                    f"{node} is in ISR or ELR of {shown(partition)} with {copies.log(node)}, committed: {copies.committed}"
                )
        if copies.committed:
            self.seen.add("committed")

    def led(self) -> Partition | None:
        """A partition whose leader is at work."""
        partition = self.partition(self.random.choice(list(TOPICS)))
        if partition.leader not in self.alive:
            return None
        self.copies[partition.topic].lead(partition.leader, partition.leader_epoch)
        return partition

    def partition(self, name: str) -> Partition:
        found: Partition = self.cluster.partition(name)
        return found

    def epoch(self, broker: int) -> int:
        node = self.cluster.image.node(broker)
        return -1 if node is None else node.epoch

    def least(self, topic: str) -> int:
        return int(self.cluster.image.config(ResourceType.TOPIC, topic)[MIN_ISR])

    def tell(self, what: str) -> None:
        self.story.append(what)


def shown(partition: Partition) -> str:
    return (
        f"replicas={partition.replicas} isr={partition.isr} elr={partition.eligible_leader_replicas} "
        f"last={partition.last_known_elr} leader={partition.leader}/{partition.leader_epoch} "
        f"+{partition.adding_replicas} -{partition.removing_replicas}"
    )
