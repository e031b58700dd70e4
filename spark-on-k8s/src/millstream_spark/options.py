"""Kinds of options that several jobs have, and how a job says that one makes no sense."""

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from millstream_spark.errors import BadConfig
from millstream_spark.trigger import Trigger, parse_trigger

MAX_OFFSETS = 1_000_000
"""What a batch or a round takes at most, where nothing else is said: the first one too, over a topic of any size."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}")


class JobParser(argparse.ArgumentParser):
    """Raises BadConfig, in place of a usage of many lines; no option may be shortened."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise BadConfig(message)


class _Setting(argparse.Action):
    """Collects NAME=VALUE words into one mapping."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        name, is_setting, value = str(values).partition("=")
        if not is_setting or not name:
            raise argparse.ArgumentError(self, f"{values!r} is not NAME=VALUE")
        setattr(namespace, self.dest, {**getattr(namespace, self.dest), name: value})


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """Of every job: where the topic is, and how it is read."""
    parser.add_argument("--bootstrap-servers", required=True, help="host:port[,host:port...]")
    parser.add_argument("--topic", required=True, type=topic_name)
    parser.add_argument("--credentials", help="a directory with the files of a User's Secret; none: no login")
    parser.add_argument(
        "--kafka",
        action=_Setting,
        default={},
        metavar="NAME=VALUE",
        help="a setting of the Kafka consumer that reads the topic; may come several times",
    )


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
    parser.add_argument("--to-topic", required=True, type=topic_name, help="with at least as many partitions")
    parser.add_argument(
        "--name", required=True, type=copy_name, help=f"of this {kind} alone: it goes on under the same name"
    )
    parser.add_argument("--to-credentials", help="those for the other cluster; --credentials by default")


def topic_name(text: str) -> str:
    if re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a topic's name")
    return text


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


def parse_starting_offsets(text: str, topic: str) -> Mapping[int, int] | None:
    """Return the offsets that are named, None for earliest and latest. Raises ValueError."""
    if text in ("earliest", "latest"):
        return None
    try:
        words = json.loads(text)
    except json.JSONDecodeError:
        words = None
    places = words.get(topic) if isinstance(words, dict) and len(words) == 1 else None
    if not isinstance(places, dict) or not all(at.isdecimal() and type(to) is int for at, to in places.items()):
        raise ValueError(f'{text!r} is neither earliest, latest nor JSON such as {{"{topic}": {{"0": 23, "1": -2}}}}')
    return {int(partition): offset for partition, offset in places.items()}
