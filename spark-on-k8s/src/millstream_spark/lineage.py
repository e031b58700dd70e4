"""What a checkpoint belongs to: one topic (by id, not by name) and one output. Recorded beside it by the first run.

Spark knows a topic by name only: over a re-created topic it would go on at the old offsets and skip what lies
below them. And a lake that meets a new checkpoint takes its first batches for ones it has, and drops them silently.
"""

import json
from dataclasses import asdict, dataclass

from millstream_spark.errors import LineageBroken
from millstream_spark.storage import Storage

FILE = "lineage.json"


@dataclass(frozen=True, slots=True)
class Lineage:
    topic: str
    topic_id: str
    output: str
    """A lake, or a topic."""


def establish(storage: Storage, *, checkpoint: str, current: Lineage, output_is_begun: bool) -> None:
    """Record the lineage on the first run, go on if this run continues it, and refuse anything else."""
    path = f"{checkpoint}/{FILE}"
    recorded = storage.read_text(path)
    if recorded is not None:
        return check_continues(Lineage(**json.loads(recorded)), current)
    if storage.names(f"{checkpoint}/offsets"):
        raise LineageBroken(f"checkpoint {checkpoint} was not made by this job: it has no {FILE}")
    if output_is_begun:
        raise LineageBroken(
            f"lake {current.output} was written with another checkpoint than {checkpoint}: "
            "bring that checkpoint back, or archive into an empty lake"
        )
    return storage.create_text(path, json.dumps(asdict(current), indent=2) + "\n")


def check_continues(recorded: Lineage, current: Lineage) -> None:
    if recorded.topic != current.topic:
        raise LineageBroken(f"the checkpoint is of topic {recorded.topic}, not {current.topic}")
    if recorded.topic_id != current.topic_id:
        raise LineageBroken(
            f"topic {current.topic} was re-created: the checkpoint is of id {recorded.topic_id}, the cluster has "
            f"{current.topic_id}; read the new topic with a new checkpoint into a new output"
        )
    if recorded.output != current.output:
        raise LineageBroken(f"the checkpoint is of the output {recorded.output}, not {current.output}")
