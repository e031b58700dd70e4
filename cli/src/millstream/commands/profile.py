"""`millstream profile`: create, use, list, delete. No secret of one is printed."""

from argparse import Namespace
from pathlib import Path

from millstream.commands.output import print_json, print_table, tell
from millstream.commands.profiles import (
    BOOTSTRAP,
    chosen_profile,
    delete_profile,
    profile_names,
    read_profile,
    use_profile,
    write_profile,
)
from millstream_client.addresses import parse_bootstrap
from millstream_client.credentials import credentials_of
from millstream_client.errors import InvalidData
from millstream_runtime.properties import PropertyError, parse_file

_PROTOCOL = "security.protocol"
_FILE = ".location"
"""How the properties end that name files."""


async def work(options: Namespace) -> None:
    match options.action:
        case "create":
            _create(options)
        case "use":
            use_profile(options.name)
            tell(options, f"commands now go to {read_profile(options.name)[BOOTSTRAP]}", profile=options.name)
        case "list":
            _list(options)
        case _:
            delete_profile(options.name)
            tell(options, f"profile {options.name} is gone", profile=options.name)


def _create(options: Namespace) -> None:
    """Only one with which a command could connect."""
    try:
        given = parse_file(options.command_config) if options.command_config is not None else {}
    except PropertyError as error:
        raise InvalidData(str(error)) from None
    properties = {key: _absolute(key, value) for key, value in given.items()}
    if options.bootstrap is not None:
        properties[BOOTSTRAP] = options.bootstrap
    if BOOTSTRAP not in properties:
        raise InvalidData(f"where is it? --bootstrap HOST:PORT,..., or {BOOTSTRAP} in the file")
    parse_bootstrap(properties[BOOTSTRAP])
    credentials_of(properties)
    if options.name in profile_names() and not options.replace:
        raise InvalidData(f"there is a profile {options.name} already: --replace")
    path = write_profile(options.name, properties)
    if options.use:
        use_profile(options.name)
    tell(options, f"wrote {path}", profile=options.name, path=str(path))


def _absolute(key: str, value: str) -> str:
    """Commands that use the profile may run elsewhere."""
    return str(Path(value).resolve()) if key.endswith(_FILE) and value else value


def _list(options: Namespace) -> None:
    used = chosen_profile()
    rows = []
    for name in profile_names():
        properties = read_profile(name)
        rows.append((name, properties.get(BOOTSTRAP, ""), properties.get(_PROTOCOL, "PLAINTEXT"), name == used))
    if options.json:
        columns = ("profile", "bootstrap", "security_protocol", "in_use")
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table(
            ("PROFILE", "BOOTSTRAP", "PROTOCOL", "IN USE"), [[*row[:3], "yes" if row[3] else ""] for row in rows]
        )
