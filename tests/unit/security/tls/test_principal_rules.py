"""ssl.principal.mapping.rules, as Kafka's documentation and its users have them."""

import pytest

from millstream_security.tls.errors import TlsConfigError
from millstream_security.tls.principal_rules import NoRuleMatches, PrincipalRules

SUBJECT = "CN=Service1,OU=ServiceUsers,O=Org,C=US"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("", SUBJECT),
        ("DEFAULT", SUBJECT),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "Service1"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L", "service1"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/U , DEFAULT", "SERVICE1"),
        ("RULE:^CN=(.*?),OU=Other.*$/$1/\nDEFAULT", SUBJECT),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),.*$/$1@$2.$3/L", "service1@serviceusers.org"),
        ("RULE:^CN=(\\w+),.*$/$1$2/", "Service1$2"),
        ("RULE:^CN=(\\w+),.*$/$12/", "Service12"),
        ("RULE:CN=(\\w+),.*/\\$1-$0x/U", "$1-CN=SERVICE1,OU=SERVICEUSERS,O=ORG,C=USX"),
        ("RULE:CN=a\\/b/x/,DEFAULT", SUBJECT),
    ],
)
def test_rules(rules: str, expected: str) -> None:
    assert PrincipalRules.parse(rules).name_of(SUBJECT) == expected


def test_a_rule_has_to_fit_the_whole_subject() -> None:
    with pytest.raises(NoRuleMatches):
        PrincipalRules.parse("RULE:CN=Service1/x/").name_of(SUBJECT)


@pytest.mark.parametrize("rules", ["RULES:a/b/", "DEFAULTS", "RULE:a/b", "RULE:a/b/X", "DEFAULT nonsense", "RULE:(/b/"])
def test_what_is_no_rule_is_refused(rules: str) -> None:
    with pytest.raises(TlsConfigError, match=r"ssl\.principal\.mapping\.rules"):
        PrincipalRules.parse(rules)
