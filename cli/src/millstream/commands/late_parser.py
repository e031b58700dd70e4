"""A parser that learns its arguments when it has to parse: of many subcommands one is used, and a node is to start at once."""

import argparse
from collections.abc import Callable
from typing import Any


def _nothing(parser: argparse.ArgumentParser) -> None: ...


class LateParser(argparse.ArgumentParser):
    def __init__(self, *args: Any, fill: Callable[[argparse.ArgumentParser], None] = _nothing, **settings: Any) -> None:
        """`fill` adds the arguments."""
        super().__init__(*args, **settings)
        self._fill = fill

    def fill(self) -> None:
        fill, self._fill = self._fill, _nothing
        fill(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.fill()
        return super().parse_known_args(args, namespace)
