"""`millstream why`: what happened to a topic, a group, a broker or the whole cluster, in order, and why."""

from argparse import Namespace

from millstream.commands.connection import cluster_of
from millstream.commands.existing import existing_topic
from millstream.commands.output import print_json, print_table, time_text
from millstream.commands.starts import parse_start
from millstream_client import Cluster, InvalidData
from millstream_client.story import Story, story_of_broker, story_of_cluster, story_of_group, story_of_topic
from millstream_cluster.history import grouped


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        since_ms = parse_start(options.since, "--since", cluster.world.now_ms()).time
        if since_ms is None:
            raise InvalidData(f"--since: a time, or so long ago as 6h expected, not {options.since!r}")
        story = await _story(cluster, options, since_ms)
    if options.json:
        shown = [
            {"time_ms": each.time_ms, "about": each.about, "what": each.what, "why": each.why or None}
            for each in story.events
        ]
        print_json({"kept_since_ms": story.kept_since_ms, "events": shown})
        return
    rows = [[time_text(each.time_ms), each.about, each.what, each.why] for each in grouped(story.events)]
    if rows:
        print_table(("TIME", "ABOUT", "WHAT", "WHY"), rows)
    else:
        print(f"nothing happened since {time_text(since_ms)}")
    if story.kept_since_ms is not None and story.kept_since_ms > since_ms:
        print(f"\nthe controller's log tells nothing of what was before {time_text(story.kept_since_ms)}")


async def _story(cluster: Cluster, options: Namespace, since_ms: int) -> Story:
    match options.action:
        case "topic":
            story = await story_of_topic(cluster, options.topic, since_ms)
            if not story.events:
                await existing_topic(cluster, options.topic)  # says so if there is none
            return story
        case "broker":
            return await story_of_broker(cluster, options.broker, since_ms)
        case "group":
            return await story_of_group(cluster, options.group, since_ms)
        case _:
            return await story_of_cluster(cluster, since_ms)
