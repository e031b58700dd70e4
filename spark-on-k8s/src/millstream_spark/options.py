"""Kinds of options that several jobs have."""

import argparse
import re
from pathlib import Path

from millstream_spark.trigger import Trigger, parse_trigger

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}")


def add_segments_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--segments",
        action="append",
        default=[],
        type=Path,
        help="read closed segments in this data directory of a broker, not through the brokers; may come several times",
    )


def add_copy_options(parser: argparse.ArgumentParser, kind: str) -> None:
    """Of a job that copies into another topic, and knows by its name where it ended."""
    parser.add_argument(
        "--name", required=True, type=copy_name, help=f"of this {kind} alone: it goes on under the same name"
    )
    parser.add_argument("--credentials", help="a directory with the files of a User's Secret, in driver and executors")
    parser.add_argument("--to-credentials", help="those for the other cluster; --credentials by default")


def copy_name(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a name: letters, digits, - and _")
    return text


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def trigger(text: str) -> Trigger:
    try:
        return parse_trigger(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
