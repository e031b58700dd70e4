"""Situations that a range of seeds has to have been in: what never happened was not tested, whatever the seeds say.

They are noted where they come about (`Story.note`), or known by what a process logs. To add one: its line in SITUATIONS, and
either a note or its line in LOGGED.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Situation:
    meaning: str
    within: int = 20
    """A range of so many seeds has it at least once: some five times as a rule, so that no change of the stories makes it miss one."""


SITUATIONS: Mapping[str, Situation] = {
    "process killed": Situation("a process ended without a word"),
    "process stopped": Situation("a process was told to stop and did so in peace"),
    "process paused": Situation("a process stood still and did not know it"),
    "link cut": Situation("nothing passed between two hosts"),
    "host isolated": Situation("a host lost all its peers, while clients reached it"),
    "link cut in one direction": Situation("a host heard another one that did not hear it"),
    "host heard by nobody": Situation("a host heard all its peers, and none of them heard it", within=50),
    "link slow between two hosts": Situation("everything between two hosts took many times as long"),
    "link whose connections break": Situation("connections between two hosts broke again and again", within=50),
    "node slow": Situation("everything on one host took its time", within=50),
    "clock set back": Situation("a host's wall clock went back", within=100),
    "clock set forward": Situation("a host's wall clock jumped ahead", within=100),
    "network storm": Situation("connections broke and frames crawled everywhere"),
    "store away from a controller": Situation("a controller did not reach the API server"),
    "active controller stranded": Situation(
        "the active controller lost the API server and its standbys, but no broker", within=100
    ),
    "store away for all": Situation("no controller reached the API server", within=100),
    "store request lost": Situation("a request to the API server, or the answer to a question, got lost"),
    "store write unanswered": Situation("the API server did what was asked, and its answer got lost"),
    "store request late": Situation("a request reached the API server seconds after it was sent", within=50),
    "store write conflicted": Situation("a slot was not what its writer took it for"),
    "store request refused": Situation("the API server refused in passing what was right"),
    "node behind the elected controller": Situation(
        "a node reached the elected controller and still followed an older one"
    ),
    "controller took over": Situation("a controller became the active one"),
    "controller deposed": Situation("an active controller found that another had taken over"),
    "controller stepped aside": Situation("an active controller did not reach its store, and answered nobody"),
    "sessions started anew": Situation(
        "an active controller had stood still, and held that against nobody", within=100
    ),
    "node fenced": Situation("a node lost its session"),
    "node unfenced": Situation("a node got a session"),
    "told fenced before the metadata said so": Situation(
        "a broker was told by a heartbeat's answer that it is fenced, and its metadata was late", within=100
    ),
    "stop without leave": Situation("a node stopped and had not been let go", within=100),
    "metadata snapshot written": Situation("a controller let its log begin with a snapshot", within=50),
    "metadata snapshot loaded": Situation("a node began with a snapshot of the metadata", within=50),
    "partition without its leader": Situation("partitions changed their leader, or lost it"),
    "leader epoch rose": Situation("a broker that hosts a partition learned of its next leader epoch"),
    "topic deleted": Situation("a topic's partitions were removed"),
    "shard moved": Situation("a shard of groups or transactions was claimed by a coordinator"),
    "shard dropped": Situation("a coordinator let a shard go"),
    "shard claimed again": Situation("a coordinator doubted its claim and made it anew"),
    "shard served in a new session": Situation("a coordinator was fenced, came back and claimed a shard"),
    "members timed out": Situation("a group put out members that were silent"),
    "classic group rebalanced": Situation("a member of a classic group was told its partitions"),
    "consumer told its partitions": Situation("a member of a consumer group was told other partitions than before"),
    "read from a follower": Situation("a consumer got records from a replica that does not lead", within=50),
    "consumer crashed": Situation("a member of a consumer group was gone without a word"),
    "topic grown": Situation("a topic got more partitions while it was read", within=50),
    "transaction committed": Situation("a transaction was committed"),
    "transaction aborted": Situation("a transaction was aborted by its producer"),
    "transaction took too long": Situation("a coordinator aborted a transaction whose time was over"),
    "producer fenced": Situation("a producer was told that another has its transactional id"),
    "batch sent again": Situation("a producer did not know what had become of a batch"),
    "audit met a compacted log": Situation(
        "a coordinator's log had been compacted before the audit read it", within=100
    ),
    "cold read": Situation("what a request wanted was not in memory"),
    "disk full": Situation("a write found no room", within=100),
    "EIO on read": Situation("a disk could not be read", within=100),
    "EIO on write": Situation("a disk could not be written", within=100),
    "flush failed": Situation("a flush failed, and what it was for was lost", within=100),
    "power lost": Situation("a machine lost what its disk had not got", within=100),
    "power lost everywhere": Situation(
        "all brokers' machines lost what their disks had not got, at the same moment", within=100
    ),
    "file torn by power loss": Situation(
        "a power loss left a part of what a file had got since its last flush", within=100
    ),
    "name lost": Situation("a power loss undid what had been done to a name", within=100),
    "directory lost": Situation("a partition's directory was gone when its broker came back", within=50),
    "partition lost": Situation("a broker found that it has lost a partition", within=100),
    "log directory failed": Situation(
        "a broker gave one of its data directories up, and went on with the other", within=50
    ),
    "started without a log directory": Situation(
        "a broker started, and one of its data directories could not be opened", within=100
    ),
    "log directory replaced": Situation("one of a broker's data directories was another one, empty", within=100),
    "replica made again by its broker": Situation(
        "what had been in a directory that stayed away was made again in another one", within=100
    ),
    "replica sent to another directory": Situation(
        "somebody asked for a replica to be in another directory", within=50
    ),
    "replica moved to another directory": Situation("a copy in another directory took over", within=50),
    "brokers cut from each other": Situation("a broker did not hear another one, and everybody else heard both"),
    "broker killed with the active controller": Situation(
        "a broker and the active controller died at once, and the broker was back before anybody missed it", within=100
    ),
    "follower slow": Situation("a broker heard all other brokers late"),
    "ISR shrunk": Situation("a replica was taken out of the ISR"),
    "ISR expanded": Situation("a replica had caught up and came into the ISR"),
    "leader failed over": Situation("another replica became a partition's leader"),
    "replica became eligible": Situation("a replica left an ISR at its smallest and may lead all the same", within=50),
    "eligible replica elected": Situation(
        "a replica that was out of the ISR was elected, and lost nothing", within=100
    ),
    "record waited for replicas": Situation("a leader had what not all of its ISR had yet"),
    "new leader behind on what is committed": Situation(
        "a new leader did not know yet how far the last one had committed"
    ),
    "end not known yet": Situation("a new leader would not say where its partition ends"),
    "preferred leader elected": Situation("somebody asked for preferred leaders, and got one", within=50),
    "min.insync.replicas changed": Situation("a topic asked for another number of replicas in sync"),
    "reassignment begun": Situation("somebody asked for a partition's replicas to be elsewhere"),
    "reassignment replaced": Situation("a partition on the move was given another target, or sent back", within=100),
    "reassignment complete": Situation("a move ended: all of its target were in sync"),
    "reassignment cancelled": Situation("a move was given up before it was complete", within=50),
    "uncommitted tail cut off": Situation("a replica had what the next leader had not, and let it go"),
    "not enough replicas": Situation("a producer was told that too few replicas are in sync"),
    "leader elected uncleanly": Situation("a replica was elected that nobody could vouch for", within=1_000_000),
    "disk emptied": Situation("a broker came back with an empty disk"),
    "empty disk noticed": Situation("a controller saw that a broker's disk is another one"),
    "segments deleted": Situation("retention let segments go"),
    "records gone by age or size": Situation("a topic no longer began with its first record"),
    "log compacted": Situation("a log was compacted"),
    "torn tail cut": Situation("recovery cut off what was not whole", within=100),
    "topic made in trouble": Situation("a topic was made in the middle of trouble, and stayed"),
}

LOGGED: Mapping[str, str] = {
    "segments deleted": "segments deleted",
    "log compacted": "log compacted",
    "torn tail cut": "torn tail cut",
    "partition lost": "partition lost",
    "log directory failed": "log directory failed",
    "log directory not opened": "started without a log directory",
    "partition made again": "replica made again by its broker",
    "replica moved": "replica moved to another directory",
    "node came back with an empty disk": "empty disk noticed",
    "controller active": "controller took over",
    "controller deposed": "controller deposed",
    "controller steps aside": "controller stepped aside",
    "sessions start anew": "sessions started anew",
    "node fenced": "node fenced",
    "node unfenced": "node unfenced",
    "controlled shutdown gave up": "stop without leave",
    "metadata snapshot": "metadata snapshot written",
    "metadata snapshot loaded": "metadata snapshot loaded",
    "partitions changed": "partition without its leader",
    "partition deleted": "topic deleted",
    "shard claimed": "shard moved",
    "shard dropped": "shard dropped",
    "shard to be claimed again": "shard claimed again",
    "members timed out": "members timed out",
    "transaction took too long": "transaction took too long",
}
"""How the message of a log line begins, up to its first field -> the situation."""

TOLD: Mapping[str, str] = {
    "assigned": "classic group rebalanced",
    "told": "consumer told its partitions",
    "member crashed": "consumer crashed",
    "topic grown": "topic grown",
    "topic lasts": "topic made in trouble",
}
"""Event of the story -> the situation."""


def table(counts: Mapping[str, int], seeds: int) -> list[str]:
    """One line per situation, in the order of SITUATIONS."""
    width = max(map(len, SITUATIONS))
    lines = []
    for name, situation in SITUATIONS.items():
        count = counts.get(name, 0)
        missed = "  MISSED" if count == 0 and seeds >= situation.within else ""
        lines.append(f"{name:{width}} {count:9,}{missed}")
    return lines


def missed(counts: Mapping[str, int], seeds: int) -> list[str]:
    """Situations that a range of this many seeds should have been in and was not."""
    return [name for name, each in SITUATIONS.items() if seeds >= each.within and not counts.get(name)]
