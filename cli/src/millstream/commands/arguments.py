"""What the commands for topics, records, settings and logs take on the command line; light, as every start reads it."""

import argparse
from pathlib import Path
from typing import Any

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
FORMATS = ("string", "int", "long", "float", "double", "bytes", "hex", "base64", "null", "json")
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
RESOURCES = ("topic", "broker", "group")


# What `add_subparsers` returns has no public name; its parsers are LateParsers.
def add_client_commands(commands: Any) -> None:
    commands.add_parser("topic", help="list, create, describe, alter and delete topics", fill=_add_topic)
    commands.add_parser("produce", help="write lines of the standard input or of a file to a topic", fill=_add_produce)
    commands.add_parser("consume", help="print a topic's messages", fill=_add_consume)
    commands.add_parser(
        "config", help="describe, set and delete settings of topics, brokers and groups", fill=_add_config
    )
    commands.add_parser("log", help="look into log directories", fill=_add_log)


def _add_topic(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all topics")
    listing.add_argument("--internal", action="store_true", help="the system's own topics too")
    creating = actions.add_parser("create", help="a new topic")
    creating.add_argument("topic", metavar="TOPIC")
    creating.add_argument("--partitions", type=int, default=-1, metavar="N", help="default: as the broker is set up")
    creating.add_argument("--replication-factor", type=int, default=-1, metavar="N", help="as above")
    creating.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    creating.add_argument("--if-not-exists", action="store_true", help="no error if it is there already")
    describing = actions.add_parser("describe", help="partitions, leaders, offsets and settings of a topic")
    describing.add_argument("topic", metavar="TOPIC")
    altering = actions.add_parser("alter", help="more partitions for a topic")
    altering.add_argument("topic", metavar="TOPIC")
    altering.add_argument("--partitions", type=int, required=True, metavar="N", help="how many there are to be")
    deleting = actions.add_parser("delete", help="topics with all that is in them")
    deleting.add_argument("topics", nargs="+", metavar="TOPIC")
    deleting.add_argument("--if-exists", action="store_true", help="no error if it is not there")
    moving = actions.add_parser("reassign", help="replicas to other brokers: shows the plan, --execute carries it out")
    moving.add_argument("topics", nargs="+", metavar="TOPIC")
    moving.add_argument("--brokers", metavar="1,2,...", help="where they are to be; default: all that are there")
    moving.add_argument("--replication-factor", type=int, metavar="N", help="default: as many as there are")
    moving.add_argument("--execute", action="store_true", help="do it; without this nothing is changed")
    moving.add_argument("--wait", action="store_true", help="until all replicas are where they are to be")
    watching = actions.add_parser("moves", help="replicas that are being moved")
    watching.add_argument("--cancel", action="store_true", help="leave them where they are")
    add_asking(listing, creating, describing, altering, deleting, moving, watching)


def _add_produce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--file", type=Path, metavar="FILE", help="instead of the standard input")
    parser.add_argument("--key-separator", metavar="TEXT", help="a line is KEY TEXT VALUE")
    parser.add_argument("--key", metavar="KEY", help="the same key for every line")
    parser.add_argument(
        "--json", action="store_true", help="a line is an object with key, value, headers, partition, timestamp"
    )
    parser.add_argument("--key-format", choices=FORMATS, default="string")
    parser.add_argument("--value-format", choices=FORMATS, default="string")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="on every record")
    parser.add_argument("--partition", type=int, metavar="N", help="default: by key, or in turn without one")
    parser.add_argument("--acks", choices=("all", "1", "0"), default="all")
    parser.add_argument("--no-idempotence", action="store_true", help="a retry may write a record twice")
    parser.add_argument("--compression", choices=COMPRESSIONS, default="none")
    parser.add_argument("--linger-ms", type=int, default=5, metavar="MS", help="how long a batch waits (default 5)")
    add_bootstrap(parser)


def _add_consume(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--from",
        dest="start",
        default="earliest",
        metavar="WHERE",
        help="earliest (default), latest, an offset, -N for the last N of each partition, a time such as "
        "2026-01-31T12:00:00+00:00, or so long ago as 90s, 15m, 6h, 7d",
    )
    parser.add_argument("--until", metavar="WHERE", help="stop before that, in each partition; as --from")
    parser.add_argument("--partition", type=int, action="append", metavar="N", help="only this one; repeatable")
    parser.add_argument("--group", metavar="NAME", help="as a member of this group, from where it has committed")
    parser.add_argument("--max-messages", type=int, metavar="N", help="stop after that many")
    parser.add_argument("--follow", action="store_true", help="wait for more instead of stopping at the end")
    parser.add_argument("--committed-only", action="store_true", help="leave out open and aborted transactions")
    parser.add_argument("--key-format", choices=FORMATS, help="default: text where it is text")
    parser.add_argument("--value-format", choices=FORMATS, help="default: text where it is text")
    parser.add_argument("--key-matches", metavar="REGEX", help="only these")
    parser.add_argument("--value-matches", metavar="REGEX", help="only these")
    parser.add_argument(
        "--header-matches", action="append", default=[], metavar="NAME=REGEX", help="only these; repeatable"
    )
    parser.add_argument("--values", action="store_true", help="print values alone, as they are")
    parser.add_argument(
        "--format",
        metavar="TEXT",
        help="as kcat: %%t topic, %%p partition, %%o offset, %%T timestamp, %%k key, %%s value, %%h headers, %%K and %%S lengths, \\n, \\t",
    )
    add_asking(parser)


def _add_config(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    describing = actions.add_parser("describe", help="what is set, and by whom")
    setting = actions.add_parser("set", help="give settings a value")
    deleting = actions.add_parser("delete", help="put settings back to their default")
    for action in (describing, setting, deleting):
        action.add_argument("resource", choices=RESOURCES)
        action.add_argument("name", metavar="NAME", help="of a broker: its id, or `default` for all of them")
    add_asking(describing, setting, deleting)
    describing.add_argument("--all", action="store_true", help="the defaults too")
    setting.add_argument("settings", nargs="+", metavar="KEY=VALUE")
    deleting.add_argument("keys", nargs="+", metavar="KEY")


def _add_log(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    dumping = actions.add_parser("dump", help="batches, records, indexes and snapshots, Kafka's files or ours")
    dumping.add_argument("path", type=Path, metavar="DIR|FILE", help="a file, a partition, or a whole data directory")
    dumping.add_argument("--deep", action="store_true", help="every record of every batch")
    add_json(dumping)


def add_asking(*parsers: argparse.ArgumentParser) -> None:
    """What every command takes that asks a cluster and prints the answer."""
    for parser in parsers:
        add_bootstrap(parser)
        add_json(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def add_bootstrap(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(found=None)  # by `kubectl millstream`
    add_connection(parser)
    parser.add_argument("--profile", metavar="NAME", help="where and how to connect; `millstream profile list`")


def add_connection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help=f"default: that of the profile in use, else {DEFAULT_BOOTSTRAP}",
    )
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="properties as Kafka's tools take them: security.protocol, ssl.truststore.location, ...",
    )
