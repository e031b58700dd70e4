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
    """A range of so many seeds has it at least once."""


SITUATIONS: Mapping[str, Situation] = {
    "process killed": Situation("a process ended without a word"),
    "process stopped": Situation("a process was told to stop and did so in peace"),
    "process paused": Situation("a process stood still and did not know it"),
    "link cut": Situation("nothing passed between two hosts"),
    "host isolated": Situation("a host lost all its peers, while clients reached it"),
    "link cut in one direction": Situation("a host heard another one that did not hear it"),
    "host heard by nobody": Situation("a host heard all its peers, and none of them heard it"),
    "link slow between two hosts": Situation("everything between two hosts took many times as long"),
    "link whose connections break": Situation("connections between two hosts broke again and again"),
    "node slow": Situation("everything on one host took its time"),
    "clock set back": Situation("a host's wall clock went back"),
    "clock set forward": Situation("a host's wall clock jumped ahead"),
    "network storm": Situation("connections broke and frames crawled everywhere"),
    "store away from a controller": Situation("a controller did not reach the API server"),
    "active controller stranded": Situation(
        "the active controller lost the API server and its standbys, but no broker"
    ),
    "store away for all": Situation("no controller reached the API server"),
    "store request lost": Situation("a request to the API server, or the answer to a question, got lost"),
    "store write unanswered": Situation("the API server did what was asked, and its answer got lost"),
    "store request late": Situation("a request reached the API server seconds after it was sent"),
    "store write conflicted": Situation("a slot was not what its writer took it for"),
    "store request refused": Situation("the API server refused in passing what was right"),
    "node behind the elected controller": Situation(
        "a node reached the elected controller and still followed an older one"
    ),
}

LOGGED: Mapping[str, str] = {}
"""How the message of a log line begins, up to its first field -> the situation."""


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
