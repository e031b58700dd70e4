"""`--add-scram`: the credentials that a new cluster begins with, since who has none cannot log in to make any.

A password on the command line is in the list of processes for as long as the node runs: a file (`@FILE`, one credential a line)
or a variable (`env:NAME`) keeps it out of there.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from millstream_cluster.records import LoginSecretSet, MetadataRecord
from millstream_controller.core.logins.scram_credentials import credential_set
from millstream_runtime.properties import PropertyError
from millstream_security.sasl.errors import SaslConfigError
from millstream_security.sasl.scram_argument import parse_scram_argument
from millstream_security.sasl.scram_mechanism import base64

_SALT_BYTES = 24
_SECRET_BYTES = 32


def first_logins_of(arguments: Sequence[str]) -> tuple[MetadataRecord, ...]:
    """Raises PropertyError."""
    if not arguments:
        return ()
    records: list[MetadataRecord] = [LoginSecretSet(base64(secrets.token_bytes(_SECRET_BYTES)))]
    seen = set()
    for text in first_login_texts(arguments):
        try:
            first = parse_scram_argument(text, secrets.token_bytes(_SALT_BYTES))
        except SaslConfigError as error:
            raise PropertyError(str(error)) from None
        if (first.user, first.mechanism) in seen:
            raise PropertyError(f"--add-scram names {first.user} twice for {first.mechanism.wire_name}")
        seen.add((first.user, first.mechanism))
        records.append(credential_set(first.user, first.mechanism, first.credential))
    return tuple(records)


def first_login_texts(arguments: Sequence[str]) -> list[str]:
    """What the arguments say, or the files and variables that they name. Raises PropertyError."""
    return [text for argument in arguments for text in _texts(argument)]


def write_private(path: Path, content: str) -> None:
    """For nobody else to read: there may be passwords in it."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(content)


def _texts(argument: str) -> Iterator[str]:
    if argument.startswith("@"):
        try:
            lines = Path(argument[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise PropertyError(f"--add-scram cannot read {argument[1:]}: {error}") from None
        yield from (line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    elif argument.startswith("env:"):
        text = os.environ.get(argument[4:])
        if not text:
            raise PropertyError(f"--add-scram: the variable {argument[4:]} is not set")
        yield text
    else:
        yield argument
