"""Kinds of options that several jobs have."""

import argparse

from millstream_spark.trigger import Trigger, parse_trigger


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def trigger(text: str) -> Trigger:
    try:
        return parse_trigger(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
