"""What a checkpoint belongs to: one topic (by id, not by name) and one lake. Recorded beside it by the first run.

Spark knows a topic by name only: over a re-created topic it would go on at the old offsets and skip what lies
below them. And a lake that meets a new checkpoint takes its first batches for ones it has, and drops them silently.
"""

import json
from dataclasses import asdict, dataclass

from millstream_spark.errors import LineageBroken
from millstream_spark.storage import Storage
from millstream_spark.topic import Topic

FILE = "lineage.json"


@dataclass(frozen=True, slots=True)
class Lineage:
    topic: str
    topic_id: str
    output: str


def establish(storage: Storage, *, checkpoint: str, output: str, topic: Topic) -> Lineage:
    """Record the lineage on the first run, return it if this run continues it, and refuse anything else."""
    path = f"{checkpoint}/{FILE}"
    current = Lineage(topic.name, topic.topic_id, storage.qualify(output))
    recorded = storage.read_text(path)
    if recorded is not None:
        check_continues(Lineage(**json.loads(recorded)), current)
        return current
    if storage.names(f"{checkpoint}/offsets"):
        raise LineageBroken(f"checkpoint {checkpoint} was not made by this job: it has no {FILE}")
    if storage.names(f"{output}/_spark_metadata"):
        raise LineageBroken(
            f"lake {output} was written with another checkpoint than {checkpoint}: "
            "bring that checkpoint back, or archive into an empty lake"
        )
    storage.create_text(path, json.dumps(asdict(current), indent=2) + "\n")
    return current


def check_continues(recorded: Lineage, current: Lineage) -> None:
    if recorded.topic != current.topic:
        raise LineageBroken(f"the checkpoint is of topic {recorded.topic}, not {current.topic}")
    if recorded.topic_id != current.topic_id:
        raise LineageBroken(
            f"topic {current.topic} was re-created: the checkpoint is of id {recorded.topic_id}, the cluster has "
            f"{current.topic_id}; archive the new topic with a new checkpoint into a new lake"
        )
    if recorded.output != current.output:
        raise LineageBroken(f"the checkpoint is of the lake {recorded.output}, not {current.output}")
