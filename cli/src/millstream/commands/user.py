"""`millstream user`: who may log in with a password (SCRAM)."""

import getpass
import os
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table, tell
from millstream_client import InvalidData
from millstream_client.users import delete_user, list_users, set_password
from millstream_security.sasl.scram_mechanism import ITERATIONS_MAX, ITERATIONS_MIN, SCRAM_NAMES


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        match options.action:
            case "list":
                users = await list_users(cluster)
                if options.json:
                    print_json([asdict(each) for each in users])
                else:
                    rows = [[each.name, each.mechanism, each.iterations] for each in users]
                    print_table(("USER", "MECHANISM", ">ITERATIONS"), rows)
            case "set":
                if not ITERATIONS_MIN <= options.iterations <= ITERATIONS_MAX:
                    raise InvalidData(f"--iterations must be {ITERATIONS_MIN} to {ITERATIONS_MAX}")
                password = _password(options.password)
                await set_password(cluster, options.user, password, SCRAM_NAMES[options.mechanism], options.iterations)
                tell(options, f"user {options.user} logs in by {options.mechanism}", user=options.user)
            case _:
                await delete_user(cluster, options.user, SCRAM_NAMES[options.mechanism])
                tell(options, f"user {options.user} has no password for {options.mechanism}", user=options.user)


def _password(source: str | None) -> str:
    """From where nobody else reads it: a file, a variable, the terminal, or a line of the standard input."""
    if source is None:
        password = getpass.getpass("password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    elif source.startswith("@"):
        password = Path(source[1:]).read_text(encoding="utf-8").rstrip("\r\n")
    elif source.startswith("env:"):
        password = os.environ.get(source[4:], "")
    else:
        raise InvalidData(
            "--password takes @FILE or env:NAME: what is written here, others see in the list of processes"
        )
    if not password:
        raise InvalidData("the password is empty")
    return password
