"""From a certificate's subject to a principal's name: ssl.principal.mapping.rules, as Kafka reads them.

RULE:^CN=([^,]+),.*$/$1/L, DEFAULT
"""

import re

from millstream_security.tls.errors import TlsConfigError
from millstream_wire.late_dataclass import dataclass

KEY = "ssl.principal.mapping.rules"
_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:[,\n]|$)")
_REFERENCE = re.compile(r"\\(.)|\$([0-9]+)")


class NoRuleMatches(Exception):
    """A certificate's subject fits no rule: whoever shows it is nobody."""


@dataclass(frozen=True, slots=True)
class Rule:
    pattern: re.Pattern[str]
    """Has to fit the whole subject."""
    replacement: str
    case: str
    """L, U or nothing."""

    def apply(self, subject: str) -> str | None:
        if self.pattern.fullmatch(subject) is None:
            return None
        name = self.pattern.sub(self._replaced, subject)
        return name.lower() if self.case == "L" else name.upper() if self.case == "U" else name

    def _replaced(self, match: re.Match[str]) -> str:
        def group(reference: re.Match[str]) -> str:
            if reference[1] is not None:
                return reference[1]
            digits = reference[2]
            # Java takes as many digits as name a group; what is no group's number stays as it is.
            for end in range(len(digits), 0, -1):
                if int(digits[:end]) <= self.pattern.groups:
                    return (match[int(digits[:end])] or "") + digits[end:]
            return reference[0]

        return _REFERENCE.sub(group, self.replacement)


@dataclass(frozen=True, slots=True)
class PrincipalRules:
    rules: tuple[Rule | None, ...] = (None,)
    """None stands for DEFAULT: the subject as it is."""

    @staticmethod
    def parse(text: str, key: str = KEY) -> "PrincipalRules":
        """Raises TlsConfigError."""
        rules: list[Rule | None] = []
        at = 0
        stripped = text.strip()
        while at < len(stripped):
            found = _RULE.match(stripped, at)
            if found is None or found.end() == at:
                raise TlsConfigError(f"{key} must be RULE:pattern/replacement/[LU] or DEFAULT, not {stripped[at:]!r}")
            rules.append(None if found[1] else _rule(found, key))
            at = found.end()
        return PrincipalRules(tuple(rules)) if rules else PrincipalRules()

    def name_of(self, subject: str) -> str:
        """Raises NoRuleMatches."""
        for rule in self.rules:
            name = subject if rule is None else rule.apply(subject)
            if name is not None:
                return name
        raise NoRuleMatches(f"no rule of {KEY} fits {subject}")


def _rule(found: re.Match[str], key: str) -> Rule:
    try:
        pattern = re.compile(found[2])
    except re.error as error:
        raise TlsConfigError(f"{key}: {found[2]!r} is no regular expression: {error}") from None
    return Rule(pattern, found[3], found[4])
