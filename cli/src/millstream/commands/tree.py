"""All commands as a tree, read from the parser: for the reference in docs/ and for completion in shells."""

import argparse
from collections.abc import Iterator

from millstream.commands.late_parser import LateParser
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Argument:
    names: tuple[str, ...]
    """Of an option, all of its spellings; of what has a place instead, what stands there."""
    value: str
    """What follows an option; empty where nothing does."""
    help: str
    choices: tuple[str, ...]
    is_option: bool


@dataclass(frozen=True, slots=True)
class Command:
    path: tuple[str, ...]
    help: str
    arguments: tuple[Argument, ...]
    actions: tuple["Command", ...]

    def walk(self) -> Iterator["Command"]:
        yield self
        for action in self.actions:
            yield from action.walk()


def command_tree(parser: argparse.ArgumentParser, path: tuple[str, ...] = (), text: str = "") -> Command:
    if isinstance(parser, LateParser):
        parser.fill()
    arguments: list[Argument] = []
    actions: list[Command] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {each.dest: each.help or "" for each in action._choices_actions}
            actions += [
                command_tree(inner, (*path, name), helps.get(name, "")) for name, inner in action.choices.items()
            ]
        elif not isinstance(action, argparse._HelpAction):
            arguments.append(_argument(action))
    return Command(path, text, tuple(arguments), tuple(actions))


def _argument(action: argparse.Action) -> Argument:
    choices = tuple(map(str, action.choices or ()))
    shown = action.metavar if isinstance(action.metavar, str) else "|".join(choices) or action.dest.upper()
    is_option = bool(action.option_strings)
    many = " ..." if action.nargs == "+" else ""
    return Argument(
        names=tuple(action.option_strings) or (f"{shown}{many}",),
        value=shown if is_option and action.nargs != 0 else "",
        help=(action.help or "").replace("%%", "%"),
        choices=choices,
        is_option=is_option,
    )
