"""`sasl.jaas.config` as Kafka writes it: one login module with its options, `ModuleName required key="value" ...;`."""

import re
from collections.abc import Mapping
from dataclasses import field

from millstream_wire.late_dataclass import dataclass

_FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<mark>[=;])|(?P<word>[^\s"=;]+))', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class JaasError(ValueError):
    """Not the form that Kafka takes; the message has none of the values, which are passwords."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    name: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def short_name(self) -> str:
        """`PlainLoginModule`: who writes the properties need not spell out a package of Java's."""
        return self.name.rpartition(".")[2]


def parse_jaas(text: str) -> LoginModule:
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] != (";", True):
        raise JaasError("it must be MODULE required key=value ... ; with the semicolon")
    name, flag = tokens[0][0], tokens[1][0]
    if flag.lower() not in _FLAGS:
        raise JaasError("the module's name must be followed by `required`")
    rest = tokens[2:-1]
    options: dict[str, str] = {}
    if len(rest) % 3:
        raise JaasError("options are key=value")
    for at in range(0, len(rest), 3):
        (key, is_mark), equals, (value, no_value) = rest[at : at + 3]
        if is_mark or equals != ("=", True) or no_value:
            raise JaasError("options are key=value")
        options[key] = value
    return LoginModule(name, options)


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Words, and whether each is a mark of the syntax."""
    found, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise JaasError("a quotation mark is missing")
        position = match.end()
        if match["quoted"] is not None:
            found.append((_ESCAPED.sub(r"\1", match["quoted"]), False))
        else:
            found.append((match["mark"] or match["word"], match["mark"] is not None))
    return found
