"""RE2's syntax, as far as topic names can tell the difference: a pattern is read into an expression or refused."""

import string

from millstream_wire.late_dataclass import dataclass

PATTERN_MAX = 1_000
"""Characters."""
DEPTH_MAX = 50
REPEAT_MAX = 1_000


class RegexError(ValueError):
    """The pattern is not one, or asks for too much; says why."""


@dataclass(frozen=True, slots=True)
class Characters:
    """One character that is in the set, or (negated) one that is not."""

    characters: frozenset[str]
    negated: bool = False

    def contains(self, character: str) -> bool:
        return (character in self.characters) != self.negated


@dataclass(frozen=True, slots=True)
class AtStart: ...


@dataclass(frozen=True, slots=True)
class AtEnd: ...


@dataclass(frozen=True, slots=True)
class Sequenced:
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    options: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    expression: "Expression"
    least: int
    most: int | None


Expression = Characters | AtStart | AtEnd | Sequenced | Alternatives | Repeated

_WORD = frozenset(string.ascii_letters + string.digits + "_")
_CLASSES = {"d": frozenset(string.digits), "w": _WORD, "s": frozenset("\t\n\f\r ")}
_POSIX = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "digit": frozenset(string.digits),
    "lower": frozenset(string.ascii_lowercase),
    "punct": frozenset(string.punctuation),
    "space": frozenset(string.whitespace),
    "upper": frozenset(string.ascii_uppercase),
    "word": _WORD,
    "xdigit": frozenset(string.hexdigits),
}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASCII = frozenset(map(chr, range(128)))


def parse(pattern: str) -> Expression:
    if len(pattern) > PATTERN_MAX:
        raise RegexError(f"it is longer than {PATTERN_MAX} characters")
    reader = _Reader(pattern)
    expression = reader.alternatives(depth=0, ignores_case=False)
    if not reader.is_done:
        raise RegexError("unexpected )")
    return expression


class _Reader:
    """Reads from left to right; each method reads one kind of thing."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._ignores_case = False

    @property
    def is_done(self) -> bool:
        return self._position == len(self._pattern)

    def alternatives(self, *, depth: int, ignores_case: bool) -> Expression:
        if depth > DEPTH_MAX:
            raise RegexError("its groups are nested too deep")
        outer, self._ignores_case = self._ignores_case, ignores_case
        options = [self._sequence(depth)]
        while self._take("|"):
            options.append(self._sequence(depth))
        self._ignores_case = outer
        return options[0] if len(options) == 1 else Alternatives(tuple(options))

    def _sequence(self, depth: int) -> Expression:
        parts: list[Expression] = []
        while not self.is_done and self._peek() not in "|)":
            part = self._atom(depth)
            if part is not None:
                parts.append(self._repeated(part))
        return Sequenced(tuple(parts))

    def _repeated(self, expression: Expression) -> Expression:
        bounds = self._bounds()
        if bounds is None:
            return expression
        self._take("?")  # lazy or not is all the same to whether it matches
        if self._bounds() is not None:
            raise RegexError("a repetition of a repetition")
        least, most = bounds
        if max(least, most or 0) > REPEAT_MAX or (most is not None and most < least):
            raise RegexError("a repetition out of bounds")
        return Repeated(expression, least, most)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        if self.is_done or self._peek() != "{":
            return None
        text, closed, _ = self._pattern[self._position + 1 :].partition("}")
        least, comma, most = text.partition(",")
        # As in RE2, braces that hold no bounds are just braces.
        if not closed or not _is_number(least) or (most and not _is_number(most)):
            return None
        self._position += len(text) + 2
        return int(least), (int(most) if most else None) if comma else int(least)

    def _atom(self, depth: int) -> Expression | None:
        character = self._next()
        match character:
            case "(":
                return self._group(depth)
            case "[":
                return self._class()
            case ".":
                return Characters(frozenset("\n"), negated=True)
            case "^":
                return AtStart()
            case "$":
                return AtEnd()
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise RegexError(f"nothing to repeat before {character}")
            case _:
                return self._literal(character)

    def _group(self, depth: int) -> Expression | None:
        ignores_case = self._ignores_case
        if self._take("?"):
            if self._take("P<") or (self._looking_at("<") and not self._looking_at("<=", "<!") and self._take("<")):
                self._until(">")
            else:
                flags, ended = self._flags()
                ignores_case = flags if flags is not None else ignores_case
                if ended == ")":
                    self._ignores_case = ignores_case
                    return None
        inner = self.alternatives(depth=depth + 1, ignores_case=ignores_case)
        if not self._take(")"):
            raise RegexError("missing closing )")
        return inner

    def _flags(self) -> tuple[bool | None, str]:
        """Whether case is ignored from here on (None: as before), and what ended the flags."""
        ignores_case, sets = None, True
        while True:
            flag = self._next()
            match flag:
                case "i":
                    ignores_case = sets
                case "s" | "m" | "U":
                    pass  # names have no lines
                case "-":
                    sets = False
                case ":" | ")":
                    return ignores_case, flag
                case _:
                    raise RegexError(f"no such group: (?{flag}")

    def _escape(self) -> Expression:
        character = self._next()
        if character.lower() in _CLASSES:
            return Characters(_CLASSES[character.lower()], negated=character.isupper())
        match character:
            case "A":
                return AtStart()
            case "z":
                return AtEnd()
            case "Q":
                quoted = self._pattern[self._position :].partition("\\E")[0]
                self._position = min(self._position + len(quoted) + 2, len(self._pattern))
                return Sequenced(tuple(self._literal(each) for each in quoted))
            case _:
                return self._literal(self._escaped(character))

    def _escaped(self, character: str) -> str:
        if character == "x":
            digits = self._until("}") if self._take("{") else self._next() + self._next()
            if not digits or not all(digit in string.hexdigits for digit in digits) or int(digits, 16) > 0x10FFFF:
                raise RegexError("a malformed \\x")
            return chr(int(digits, 16))
        if character in _CONTROL:
            return _CONTROL[character]
        if character in _WORD or character not in _ASCII:
            raise RegexError(f"no such escape: \\{character}")
        return character

    def _class(self) -> Characters:
        negated = self._take("^")
        members: set[str] = set()
        first = True
        while first or not self._looking_at("]"):
            first = False
            if self._take("[:"):
                members |= self._posix()
                continue
            start = self._class_character()
            if isinstance(start, frozenset):
                members |= start
            elif self._looking_at("-") and not self._looking_at("-]"):
                self._next()
                end = self._class_character()
                if isinstance(end, frozenset) or end < start or ord(end) - ord(start) > 0xFFFF:
                    raise RegexError("a malformed range")
                members.update(map(chr, range(ord(start), ord(end) + 1)))
            else:
                members.add(start)
        self._next()
        return Characters(self._any_case(members), negated)

    def _posix(self) -> frozenset[str]:
        name = self._until(":]")
        characters = _POSIX.get(name.removeprefix("^"))
        if characters is None:
            raise RegexError(f"no such class: [:{name}:]")
        return _ASCII - characters if name.startswith("^") else characters

    def _class_character(self) -> str | frozenset[str]:
        character = self._next()
        if character != "\\":
            return character
        character = self._next()
        if character.lower() in _CLASSES:
            members = _CLASSES[character.lower()]
            return _ASCII - members if character.isupper() else members
        return self._escaped(character)

    def _literal(self, character: str) -> Characters:
        return Characters(self._any_case({character}))

    def _any_case(self, characters: set[str]) -> frozenset[str]:
        if not self._ignores_case:
            return frozenset(characters)
        return frozenset(case for each in characters for case in (each, each.lower(), each.upper()))

    def _peek(self) -> str:
        return self._pattern[self._position]

    def _next(self) -> str:
        if self.is_done:
            raise RegexError("it ends too soon")
        self._position += 1
        return self._pattern[self._position - 1]

    def _looking_at(self, *texts: str) -> bool:
        return self._pattern.startswith(texts, self._position)

    def _take(self, text: str) -> bool:
        if not self._looking_at(text):
            return False
        self._position += len(text)
        return True

    def _until(self, end: str) -> str:
        text, found, _ = self._pattern[self._position :].partition(end)
        if not found:
            raise RegexError(f"missing {end}")
        self._position += len(text) + len(end)
        return text


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 6
