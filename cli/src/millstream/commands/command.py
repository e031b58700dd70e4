"""Runs one command to its end and turns what went wrong into one line and an exit code."""

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Coroutine
from typing import Any

from millstream_client.errors import KafkaError

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


def run_command(options: Namespace) -> int:
    try:
        if options.command == "log":
            from millstream.commands.log_dump import dump

            return dump(options)
        asyncio.run(_work(options))
        sys.stdout.flush()
        return 0
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain of it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except (KafkaError, OSError) as error:
        print(f"millstream: {_line(error)}", file=sys.stderr)
        return EXIT_FAILED


def _work(options: Namespace) -> Coroutine[Any, Any, None]:
    match options.command:
        case "topic":
            from millstream.commands.topic import work
        case "produce":
            from millstream.commands.produce import work
        case "consume":
            from millstream.commands.consume import work
        case _:
            from millstream.commands.config import work
    return work(options)


def _line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
