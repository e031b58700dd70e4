"""Runs one command to its end and turns what went wrong into one line and an exit code."""

import asyncio
import gc
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any

from millstream_client.errors import KafkaError, Unreachable

EXIT_FAILED = 1
"""The cluster refused, or something was not there. 2 is argparse's, for what is not understood."""
EXIT_UNREACHABLE = 3
"""Nobody answered: whether anything was done is unknown."""
EXIT_UNWELL = 4
"""The question was answered, and the answer is not what one would like: a cluster that is not well, a group too far behind."""
EXIT_INTERRUPTED = 130


class Unwell(Exception):
    """What was asked for has been printed, and is not well."""


def run_command(options: Namespace) -> int:
    try:
        if options.command == "log":
            from millstream.commands.log_dump import dump

            return dump(options)
        if options.command == "completion":
            from millstream.commands.completion import print_completion

            return print_completion(options)
        work = _work(options)
        gc.enable()
        asyncio.run(work)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain of it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Unwell:
        return EXIT_UNWELL
    except (KafkaError, OSError) as error:
        print(f"millstream: {_line(error)}", file=sys.stderr)
        return EXIT_UNREACHABLE if isinstance(error, Unreachable) else EXIT_FAILED


def _work(options: Namespace) -> Coroutine[Any, Any, None]:
    """Every command has a module of its own name."""
    work: Callable[[Namespace], Coroutine[Any, Any, None]] = import_module(
        f"millstream.commands.{options.command}"
    ).work
    return work(options)


def _line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
