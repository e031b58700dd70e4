"""Whether a service asks an authorizer, and what it is told at its start: the same properties for every service.

Closed as soon as somebody has to log in: where a listener asks for credentials there is an authorizer, unless
`authorizer.class.name` is set and empty. Plain listeners only: there is none, unless it is named.
"""

from collections.abc import Callable

from millstream_cluster.image.acls import AclsImage
from millstream_runtime.properties import Properties, PropertyError
from millstream_security.authorization.authorizer import Authorizer, AuthorizerConfig

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def authorizer_config_of(properties: Properties, *, has_credentials: bool) -> AuthorizerConfig | None:
    """super.users, allow.everyone.if.no.acl.found, authorizer.class.name; None: everybody may do everything."""
    users = properties.text("super.users", "")
    config = AuthorizerConfig(
        frozenset(_principal(user.strip()) for user in users.split(";") if user.strip()),
        properties.boolean("allow.everyone.if.no.acl.found", False),
    )
    name = properties.text("authorizer.class.name", STANDARD_AUTHORIZER if has_credentials else "")
    if name not in ("", STANDARD_AUTHORIZER):
        raise PropertyError(f"authorizer.class.name must be {STANDARD_AUTHORIZER} or empty, not {name!r}")
    return config if name else None


def _principal(text: str) -> str:
    if ":" not in text:
        raise PropertyError(f"super.users must be Type:name, separated by semicolons, not {text!r}")
    return text


def authorizer_of(config: AuthorizerConfig | None, acls: Callable[[], AclsImage]) -> Authorizer | None:
    return None if config is None else Authorizer(config, acls)
