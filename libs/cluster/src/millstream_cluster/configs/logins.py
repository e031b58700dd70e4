"""Broker configuration keys of logins and delegation tokens; each sasl.* key also as `listener.name.<listener>.sasl.*`."""

from millstream_cluster.configs.key import ConfigKey, ConfigType, UpdateMode, at_least
from millstream_cluster.records import ResourceType

_S, _LIST, _P, _INT, _LONG = ConfigType.STRING, ConfigType.LIST, ConfigType.PASSWORD, ConfigType.INT, ConfigType.LONG


def _static(name: str, kind: ConfigType, default: str | None, doc: str, least: int | None = None) -> ConfigKey:
    check = None if least is None else at_least(least)
    return ConfigKey(
        name, kind, default, doc, check, update_mode=UpdateMode.READ_ONLY, resource_type=ResourceType.BROKER
    )


LOGIN_CONFIGS = (
    _static("sasl.enabled.mechanisms", _LIST, None, "By what clients log in on listeners whose protocol is SASL_PLAINTEXT or SASL_SSL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. With credentials of nodes and of PLAIN in `listener.name.<listener>.<mechanism>.sasl.jaas.config`."),
    _static("sasl.mechanism.inter.broker.protocol", _S, None, "By what nodes log in at brokers and coordinators."),
    _static("sasl.mechanism.controller.protocol", _S, None, "By what nodes log in at controllers."),
    _static("plain.users.file", _S, None, "A file with users of PLAIN, name=password a line, which is read again when it changes. Millstream's own."),
    _static("connections.max.reauth.ms", _LONG, "0", "How long a login lasts before clients have to log in again on the same connection; 0: for good.", 0),
    _static("connection.failed.authentication.delay.ms", _INT, "100", "How long the answer to a failed login is held back.", 0),
    _static("sasl.server.max.receive.size", _INT, "524288", "The longest frame before the login, in bytes.", 1),
    _static("sasl.oauthbearer.jwks.endpoint.url", _S, None, "Where the public keys are that bearer tokens are signed with: file:/PATH or https://..."),
    _static("sasl.oauthbearer.jwks.endpoint.refresh.ms", _LONG, "3600000", "How often these keys are fetched again; a file is looked at every second.", 1),
    _static("sasl.oauthbearer.expected.audience", _LIST, None, "One of these has to be in a bearer token's `aud`; unset, anything goes."),
    _static("sasl.oauthbearer.expected.issuer", _S, None, "What a bearer token's `iss` has to be; unset, anything goes."),
    _static("sasl.oauthbearer.clock.skew.seconds", _INT, "30", "How far the issuer's clock may be from ours.", 0),
    _static("sasl.oauthbearer.scope.claim.name", _S, "scope", "The claim with a bearer token's scope."),
    _static("sasl.oauthbearer.sub.claim.name", _S, "sub", "The claim with the name of a bearer token's user."),
    _static("delegation.token.secret.key", _P, None, "What delegation tokens are made from, the same on every node; unset, there are none."),
    _static("delegation.token.max.lifetime.ms", _LONG, "604800000", "How long a delegation token can be renewed.", 1),
    _static("delegation.token.expiry.time.ms", _LONG, "86400000", "How long a delegation token holds unless it is renewed.", 1),
    _static("delegation.token.expiry.check.interval.ms", _LONG, "3600000", "How often delegation tokens that are over are removed.", 1),
)  # fmt: skip
