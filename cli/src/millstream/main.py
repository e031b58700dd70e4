"""The `millstream` command: a node, a cluster of processes on this machine, and what talks to any of them.

Only what a subcommand needs is imported, when it is needed: a node takes connections within a second.
"""

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from millstream.commands.admin_arguments import add_admin_commands, add_cluster_actions
from millstream.commands.arguments import add_client_commands
from millstream.commands.late_parser import LateParser

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 9092
DEFAULT_DATA = Path("./data")
DEFAULT_CLUSTER_DATA = Path("./data/cluster")


def main(arguments: Sequence[str] | None = None) -> int:
    gc.disable()  # until the work begins: classes are made by the hundred, and none of them goes away
    try:
        options = command_parser().parse_args(arguments)
        match options.command:
            case "node":
                from millstream.node import run_node

                return run_node(options)
            case "cluster" if options.action is None:
                from millstream.cluster import run_cluster

                return run_cluster(options)
            case "console":
                from millstream_console.main import run_console

                return run_console(options)
            case _:
                from millstream.commands.command import run_command

                return run_command(options)
    finally:
        gc.enable()


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="millstream", description="Event streaming that speaks the Kafka protocol.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=LateParser)
    commands.add_parser("node", help="one process: broker, controller and coordinator, or some of them", fill=_add_node)
    commands.add_parser("cluster", help="a cluster of processes on this machine; or how one is", fill=_add_cluster)
    commands.add_parser("console", help="a page to look at a cluster, and to change it", fill=_add_console)
    add_client_commands(commands)
    add_admin_commands(commands)
    return parser


def _add_node(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="Kafka-style properties")
    parser.add_argument(
        "--roles", metavar="ROLES", help="broker,controller,coordinator: short for --set process.roles="
    )
    parser.add_argument("--host", default=DEFAULT_HOST, help=f"address to listen on (default {DEFAULT_HOST})")
    parser.add_argument(
        "--port",
        type=int,
        help=f"for clients (default {DEFAULT_PORT}); the controller takes the next, /metrics the third after it, the console the fourth; 0: any free ones",
    )
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR", help="default ./data")
    parser.add_argument(
        "--no-console",
        dest="console",
        action="store_false",
        help="no page to look at (it is there with all roles only)",
    )
    _add_common(parser)


def _add_console(parser: argparse.ArgumentParser) -> None:
    from millstream_console.main import add_arguments

    add_arguments(parser)


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--brokers", type=int, default=3, metavar="N")
    parser.add_argument("--controllers", type=int, default=2, metavar="N")
    parser.add_argument("--coordinators", type=int, default=2, metavar="N")
    parser.add_argument(
        "--racks", metavar="A,B,...", help="broker.rack of the first broker, the second, ..., and round again"
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="of the first process; 0: any free ones")
    parser.add_argument("--data", type=Path, default=DEFAULT_CLUSTER_DATA, metavar="DIR", help="default ./data/cluster")
    _add_common(parser)
    add_cluster_actions(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add-scram",
        action="append",
        default=[],
        metavar="CREDENTIAL",
        help="of a new cluster: SCRAM-SHA-256=[name=admin,password=...], @FILE with one a line, or env:NAME; repeatable",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one property; repeatable")
    parser.add_argument("--log-level", default="INFO", metavar="LEVEL")


if __name__ == "__main__":
    sys.exit(main())
