"""When a service has an authorizer, and what it is told."""

import pytest

from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.serving.authorization import STANDARD_AUTHORIZER, authorizer_config_of
from millstream_security.authorization.authorizer import AuthorizerConfig

CLOSED = {"authorizer.class.name": STANDARD_AUTHORIZER}
OPEN = {"authorizer.class.name": ""}


@pytest.mark.parametrize(
    ("settings", "has_credentials", "has_authorizer"),
    [({}, False, False), ({}, True, True), (CLOSED, False, True), (OPEN, True, False), (OPEN, False, False)],
)
def test_closed_as_soon_as_somebody_has_to_log_in(
    settings: dict[str, str], has_credentials: bool, has_authorizer: bool
) -> None:
    config = authorizer_config_of(Properties(settings), has_credentials=has_credentials)
    assert (config is not None) is has_authorizer


def test_super_users_are_separated_by_semicolons_since_names_have_commas() -> None:
    told = {"super.users": "User:CN=a,O=b; User:admin;", "allow.everyone.if.no.acl.found": "true"}
    config = authorizer_config_of(Properties(told), has_credentials=True)
    assert config == AuthorizerConfig(frozenset({"User:CN=a,O=b", "User:admin"}), allow_everyone=True)


@pytest.mark.parametrize(
    "settings",
    [
        {"authorizer.class.name": "com.example.Other"},
        {"super.users": "admin"},
        {"allow.everyone.if.no.acl.found": "maybe"},
    ],
)
def test_what_cannot_be_meant_is_an_error(settings: dict[str, str]) -> None:
    with pytest.raises(PropertyError):
        authorizer_config_of(Properties(settings), has_credentials=False)


def test_all_keys_are_known_whatever_is_set() -> None:
    properties = Properties({})
    authorizer_config_of(properties, has_credentials=False)
    assert {"super.users", "allow.everyone.if.no.acl.found", "authorizer.class.name"} <= properties.known
