"""What the commands for clusters and groups take on the command line; light, as every start reads it."""

import argparse
from typing import Any

from millstream.commands.arguments import add_bootstrap, add_json

SHELLS = ("bash", "zsh", "fish")
GROUP_TYPES = ("classic", "consumer", "share")


def add_admin_commands(commands: Any) -> None:
    commands.add_parser("group", help="groups: members, lag, offsets", fill=_add_group)
    completing = commands.add_parser("completion", help="a script that completes these commands in a shell")
    completing.add_argument("shell", choices=SHELLS)


def add_cluster_actions(parser: argparse.ArgumentParser) -> None:
    """Beside the options of `millstream cluster` itself, which starts one."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="or ask a cluster that runs", required=False)
    for name, text in (
        ("info", "its id, nodes, leaders, feature levels"),
        ("health", "what is not well, each with what to do; exit code 4 if there is anything"),
    ):
        action = actions.add_parser(name, help=text)
        add_bootstrap(action)
        add_json(action)


def _add_group(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all groups")
    listing.add_argument("--type", choices=GROUP_TYPES, help="only these")
    listing.add_argument("--state", metavar="STATE", help="only these: Stable, Empty, ...")
    describing = actions.add_parser("describe", help="state, members and lag of a group")
    lagging = actions.add_parser("lag", help="how far behind a group is")
    lagging.add_argument("--max", type=int, metavar="N", help="exit code 4 if it is more records behind than that")
    resetting = actions.add_parser(
        "reset", help="have a group go on elsewhere: shows the plan, --execute carries it out"
    )
    undoing = actions.add_parser("undo", help="take the last reset of a group back: shows the plan, too")
    forgetting = actions.add_parser("forget", help="delete a group's offsets of a topic")
    forgetting.add_argument("--topic", required=True, metavar="TOPIC")
    for action in (describing, lagging, resetting, undoing, forgetting):
        action.add_argument("group", metavar="GROUP")
    deleting = actions.add_parser("delete", help="groups with all their offsets")
    deleting.add_argument("groups", nargs="+", metavar="GROUP")
    chosen = resetting.add_mutually_exclusive_group(required=True)
    chosen.add_argument(
        "--topic", action="append", metavar="TOPIC[:0,1,...]", help="all of its partitions, or these; repeatable"
    )
    chosen.add_argument("--all-topics", action="store_true", help="wherever the group has committed")
    resetting.add_argument(
        "--to",
        required=True,
        metavar="WHERE",
        help="earliest, latest, an offset, +N or -N records from where it is, or a time such as 2026-01-31T12:00:00+00:00",
    )
    for action in (resetting, undoing):
        action.add_argument("--execute", action="store_true", help="do it; without this nothing is changed")
    for action in (listing, describing, lagging, resetting, undoing, forgetting, deleting):
        add_bootstrap(action)
        add_json(action)
