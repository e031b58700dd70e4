"""What the commands for clusters and groups take on the command line; light, as every start reads it."""

import argparse
from pathlib import Path
from typing import Any

from millstream.commands.arguments import add_asking, add_connection, add_json

SHELLS = ("bash", "zsh", "fish")
GROUP_TYPES = ("classic", "consumer", "share")
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
ITERATIONS = 4096


def add_admin_commands(commands: Any) -> None:
    commands.add_parser("broker", help="brokers: list, disks, leaders, cordon, drain", fill=_add_broker)
    commands.add_parser("group", help="groups: members, lag, offsets", fill=_add_group)
    commands.add_parser("transaction", help="list, describe and abort transactions", fill=_add_transaction)
    commands.add_parser("acl", help="list, create and delete ACLs", fill=_add_acl)
    commands.add_parser("user", help="list users, set and delete their passwords (SCRAM)", fill=_add_user)
    commands.add_parser("quota", help="list, set and delete quotas of users, client ids and addresses", fill=_add_quota)
    commands.add_parser("token", help="create, describe, renew and expire delegation tokens", fill=_add_token)
    commands.add_parser(
        "check",
        help="is this fit for production: what is not, each with its fix; exit code 4 if anything",
        fill=add_asking,
    )
    commands.add_parser("why", help="what happened to a topic, group or broker, in order, with reasons", fill=_add_why)
    commands.add_parser("debug", help="collect what helps to find out what is wrong", fill=_add_debug)
    commands.add_parser("profile", help="addresses and credentials under a name", fill=_add_profile)
    completing = commands.add_parser("completion", help="a script that completes these commands in a shell")
    completing.add_argument("shell", choices=SHELLS)


def add_cluster_actions(parser: argparse.ArgumentParser) -> None:
    """Beside the options of `millstream cluster` itself, which starts one."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="or ask a cluster that runs", required=False)
    for name, text in (
        ("info", "its id, nodes, leaders, feature levels"),
        ("health", "what is not well, each with what to do; exit code 4 if there is anything"),
    ):
        add_asking(actions.add_parser(name, help=text))


def _add_broker(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all brokers, those that are away too")
    disks = actions.add_parser("disks", help="data directories, what they hold and what room there is")
    cordoning = actions.add_parser("cordon", help="give a broker no new replicas")
    uncordoning = actions.add_parser("uncordon", help="give a broker new replicas again")
    leading = actions.add_parser(
        "leaders", help="partitions that another than their preferred leader leads; --execute has that one lead"
    )
    draining = actions.add_parser(
        "drain", help="cordon a broker and move its replicas to others: shows the plan, --execute carries it out"
    )
    for action in (cordoning, uncordoning, draining):
        action.add_argument("broker", type=int, metavar="BROKER")
    for action in (leading, draining):
        action.add_argument("--execute", action="store_true", help="do it; without this nothing is changed")
    draining.add_argument("--wait", action="store_true", help="until all replicas are where they are to be")
    add_asking(listing, disks, cordoning, uncordoning, leading, draining)


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
        help="earliest, latest, an offset, +N or -N records from where it is, a time such as 2026-01-31T12:00:00+00:00, or so long ago as 15m",
    )
    for action in (resetting, undoing):
        action.add_argument("--execute", action="store_true", help="do it; without this nothing is changed")
    add_asking(listing, describing, lagging, resetting, undoing, forgetting, deleting)


def _add_transaction(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all transactional ids")
    listing.add_argument("--state", metavar="STATE", help="only these: Ongoing, CompleteCommit, ...")
    describing = actions.add_parser("describe", help="state, producer, age and partitions of one")
    aborting = actions.add_parser("abort", help="end what a producer has left open, and fence it")
    for action in (describing, aborting):
        action.add_argument("transactional_id", metavar="ID")
    add_asking(listing, describing, aborting)


def _add_acl(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all ACLs, or those that match")
    creating = actions.add_parser("create", help="let somebody do something, or forbid it")
    deleting = actions.add_parser("delete", help="the ACLs that match: shows them, --execute deletes them")
    creating.add_argument("principal", metavar="PRINCIPAL", help="User:alice, or alice; User:* for everybody")
    creating.add_argument("operations", nargs="+", metavar="OPERATION", help="read, write, describe, all, ...")
    for action in (listing, deleting):
        action.add_argument("--principal", metavar="PRINCIPAL")
        action.add_argument("--operation", metavar="OPERATION")
    for action in (listing, creating, deleting):
        resource = action.add_mutually_exclusive_group()
        for option in ("--topic", "--group", "--transactional-id", "--user", "--token"):
            resource.add_argument(option, metavar="NAME", help="or * for all of them")
        resource.add_argument("--cluster", action="store_true")
        action.add_argument("--prefixed", action="store_true", help="all that begin with the name")
        action.add_argument("--deny", action="store_true", help="what is forbidden instead of what is allowed")
        is_creating = action is creating
        action.add_argument("--host", default="*" if is_creating else None, metavar="ADDRESS", help="from there only")
    add_asking(listing, creating, deleting)
    deleting.add_argument("--execute", action="store_true", help="do it; without this nothing is changed")


def _add_user(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="everybody who has a password")
    setting = actions.add_parser("set", help="give a user a password, a new one or another")
    deleting = actions.add_parser("delete", help="take a user's password away")
    for action in (setting, deleting):
        action.add_argument("user", metavar="USER")
        action.add_argument("--mechanism", choices=MECHANISMS, default=MECHANISMS[1])
    setting.add_argument(
        "--password", metavar="@FILE|env:NAME", help="default: asked for, or a line of the standard input"
    )
    setting.add_argument("--iterations", type=int, default=ITERATIONS, metavar="N", help=f"default {ITERATIONS}")
    add_asking(listing, setting, deleting)


def _add_quota(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all quotas, or those of one")
    setting = actions.add_parser("set", help="such as producer_byte_rate=1048576")
    deleting = actions.add_parser("delete", help="leave it to the next default")
    setting.add_argument("quotas", nargs="+", metavar="QUOTA=NUMBER")
    deleting.add_argument("keys", nargs="+", metavar="QUOTA")
    for action in (listing, setting, deleting):
        for option in ("--user", "--client-id", "--ip"):
            action.add_argument(option, metavar="NAME", help="or `default` for all that have none of their own")
    add_asking(listing, setting, deleting)


def _add_token(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    creating = actions.add_parser("create", help="a token that logs in as its owner; its HMAC is the password")
    describing = actions.add_parser("describe", help="the tokens that you may see, without their HMACs")
    renewing = actions.add_parser("renew", help="have a token expire later")
    expiring = actions.add_parser("expire", help="have a token expire sooner, or at once")
    creating.add_argument("--owner", metavar="PRINCIPAL", help="User:alice, or alice; default: yourself")
    creating.add_argument(
        "--renewer", action="append", default=[], metavar="PRINCIPAL", help="may renew it; repeatable"
    )
    creating.add_argument("--max-life", metavar="DURATION", help="such as 6h or 7d; default: as the broker is set up")
    describing.add_argument("--owner", metavar="PRINCIPAL", help="only those of this one")
    for action in (renewing, expiring):
        action.add_argument("token_id", metavar="TOKEN")
    renewing.add_argument(
        "--for", dest="period", metavar="DURATION", help="from now on; default: as the broker is set up"
    )
    expiring.add_argument("--in", dest="period", metavar="DURATION", help="from now on; default: at once")
    add_asking(creating, describing, renewing, expiring)


def _add_why(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    topics = actions.add_parser("topic", help="who led and was in sync, what moved, what was set")
    topics.add_argument("topic", metavar="TOPIC")
    groups = actions.add_parser("group", help="who came and went, which generation, who took care of it")
    groups.add_argument("group", metavar="GROUP")
    brokers = actions.add_parser("broker", help="when it came and went, what it led and was in sync with")
    brokers.add_argument("broker", type=int, metavar="BROKER")
    everything = actions.add_parser("cluster", help="controllers, nodes, levels of features")
    for action in (topics, groups, brokers, everything):
        action.add_argument(
            "--since", default="1d", metavar="WHEN", help="a time, or so long ago as 15m, 6h, 7d (default 1d)"
        )
    add_asking(topics, groups, brokers, everything)


def _add_debug(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    bundling = actions.add_parser("bundle", help="one archive of what the cluster says of itself, without secrets")
    bundling.add_argument("--output", type=Path, metavar="FILE", help="default: millstream-bundle-TIME.tar.gz, here")
    bundling.add_argument(
        "--metrics", action="append", default=[], metavar="HOST:PORT", help="a node's HTTP port; repeatable"
    )
    bundling.add_argument(
        "--log", type=Path, action="append", default=[], metavar="FILE", help="the end of a log file; repeatable"
    )
    add_asking(bundling)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    creating = actions.add_parser("create", help="keep an address, and client properties from a file")
    using = actions.add_parser("use", help="what commands take that name no address")
    listing = actions.add_parser("list", help="all of them, and which is in use")
    deleting = actions.add_parser("delete", help="with its credentials")
    for action in (creating, using, deleting):
        action.add_argument("name", metavar="NAME")
    add_connection(creating)
    creating.add_argument("--use", action="store_true", help="from now on")
    creating.add_argument("--replace", action="store_true", help="the one of that name")
    for action in (creating, using, listing, deleting):
        add_json(action)
