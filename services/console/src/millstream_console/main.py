"""The console as a process: `python -m millstream_console.main --bootstrap HOST:PORT --listen HOST:PORT`.

A node that starts it hands over its listening socket, and its standard input: when that ends, nobody is there any more to serve for.
"""

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from millstream_client import InvalidData, parse_bootstrap
from millstream_console.settings import MECHANISMS, ConsoleSettings
from millstream_runtime.process import configure_logging
from millstream_runtime.properties import Properties, PropertyError, parse_address

EXIT_FAILED = 1
EXIT_USAGE = 2
DEFAULT_LISTEN = "127.0.0.1:9096"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="millstream-console")
    add_arguments(parser)
    parser.add_argument("--socket", type=int, metavar="FD", help="listen on this one instead, while the input lasts")
    parser.add_argument(
        "--reach",
        action="append",
        default=[],
        metavar="ADVERTISED=ADDRESS",
        help="where a node is found whose advertised address this machine cannot use; repeatable",
    )
    return run_console(parser.parse_args(arguments))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", metavar="HOST:PORT,...", help="of the cluster")
    parser.add_argument("--listen", default=DEFAULT_LISTEN, metavar="HOST:PORT", help=f"default {DEFAULT_LISTEN}")
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="properties as Kafka's clients take them; with SASL and no login of its own each person logs in",
    )
    parser.add_argument(
        "--mechanism",
        action="append",
        default=[],
        metavar="NAME",
        help=f"by which people log in, the preferred one first; repeatable (default {', '.join(MECHANISMS)})",
    )
    parser.add_argument("--read-only", action="store_true", help="show, and change nothing")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="under which the page is reached; repeatable"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one of these; repeatable")
    parser.add_argument("--log-level", default="INFO", metavar="LEVEL")


def run_console(options: argparse.Namespace) -> int:
    configure_logging(options.log_level)
    try:
        settings = ConsoleSettings(
            options.bootstrap,
            Properties.read(options.command_config, options.set).as_dict(),
            tuple(options.mechanism) or MECHANISMS,
            options.read_only,
            frozenset(each.lower() for each in options.allow_host),
            dict(_reached(each) for each in getattr(options, "reach", ())),
        )
        handed_over = getattr(options, "socket", None)
        listening = _listen(options.listen) if handed_over is None else socket.socket(fileno=handed_over)
    except (InvalidData, PropertyError) as error:
        print(f"millstream: {error}", file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f"millstream: cannot listen on {options.listen}: {error.strerror or error}", file=sys.stderr)
        return EXIT_FAILED
    try:
        asyncio.run(_run(settings, listening, watches_input=handed_over is not None))
    except InvalidData as error:
        print(f"millstream: {error}", file=sys.stderr)
        return EXIT_USAGE
    return 0


def _reached(text: str) -> tuple[tuple[str, int], tuple[str, int]]:
    advertised, _, address = text.partition("=")
    return parse_bootstrap(advertised)[0], parse_bootstrap(address)[0]


def _listen(text: str) -> socket.socket:
    address = parse_address("--listen", text)
    return socket.create_server(address, family=socket.AF_INET6 if ":" in address[0] else socket.AF_INET)


async def _run(settings: ConsoleSettings, listening: socket.socket, *, watches_input: bool) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if watches_input:
        loop.add_reader(sys.stdin.fileno(), stop.set)
    from millstream_console.app import serve  # what the command line need not wait for

    host, port = listening.getsockname()[:2]
    if not watches_input:
        shown = f"[{host}]" if ":" in host else host
        print(f"millstream console ready on http://{shown}:{port} (cluster at {settings.bootstrap})", flush=True)
    await serve(settings, listening, stop)


if __name__ == "__main__":
    sys.exit(main())
