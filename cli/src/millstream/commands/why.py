"""`millstream why`: what happened to a topic, a group, a broker or the whole cluster, in order, and why."""

from argparse import Namespace

from millstream.commands.connection import cluster_of
from millstream.commands.existing import existing_topic
from millstream.commands.output import print_json, print_table, time_text
from millstream.commands.starts import parse_start
from millstream_client import Cluster, InvalidData
from millstream_client.history import History, NoHistory, cluster_history, group_history
from millstream_cluster.history import Event, grouped
from millstream_cluster.ids import OFFSETS_TOPIC
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Story:
    events: list[Event]
    kept_since_ms: int | None
    """Of what was before, the controller's log tells nothing."""


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        since_ms = parse_start(options.since, "--since", cluster.world.now_ms()).time
        if since_ms is None:
            raise InvalidData(f"--since: a time, or so long ago as 6h expected, not {options.since!r}")
        story = await _story(cluster, options, since_ms)
    events = sorted((each for each in story.events if each.time_ms >= since_ms), key=lambda each: each.time_ms)
    if options.json:
        shown = [
            {"time_ms": each.time_ms, "about": each.about, "what": each.what, "why": each.why or None}
            for each in events
        ]
        print_json({"kept_since_ms": story.kept_since_ms, "events": shown})
        return
    rows = [[time_text(each.time_ms), each.about, each.what, each.why] for each in grouped(events)]
    if rows:
        print_table(("TIME", "ABOUT", "WHAT", "WHY"), rows)
    else:
        print(f"nothing happened since {time_text(since_ms)}")
    if story.kept_since_ms is not None and story.kept_since_ms > since_ms:
        print(f"\nthe controller's log tells nothing of what was before {time_text(story.kept_since_ms)}")


async def _story(cluster: Cluster, options: Namespace, since_ms: int) -> Story:
    match options.action:
        case "topic":
            history = await cluster_history(cluster)
            found = [each for each in history.events if each.topic == options.topic]
            if not found:
                await existing_topic(cluster, options.topic)  # says so if there is none
        case "broker":
            history = await cluster_history(cluster)
            found = [each for each in history.events if options.broker in each.nodes or each.about == "all brokers"]
        case "group":
            return await _group_story(cluster, options.group, since_ms)
        case _:
            history = await cluster_history(cluster)
            found = [each for each in history.events if each.topic is None]
    return Story(found, history.kept_since_ms)


async def _group_story(cluster: Cluster, group_id: str, since_ms: int) -> Story:
    """What the group's own log says, and who took care of it."""
    place, events = await group_history(cluster, group_id, since_ms)
    try:
        history = await cluster_history(cluster)
    except NoHistory:
        history = History([], None)  # of Kafka's groups the log of groups alone tells
    about = f"{OFFSETS_TOPIC}-{place.partition}"
    kept = [each for each in history.events if each.about in (about, f"group {group_id}")]
    return Story([*events, *kept], history.kept_since_ms)
