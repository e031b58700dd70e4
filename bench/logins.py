"""Our node with logins and ACLs: its client is a user with ACLs of its own, whose requests are looked up like anyone's."""

from pathlib import Path

from cases import Client
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from servers import Millstream

_ADMIN, _USER, _PASSWORD = "admin", "bench", "of-the-bench"  # a password that protects nothing
_GRANTS = (
    (ResourceType.TOPIC, "bench-", ResourcePatternType.PREFIXED, AclOperation.ALL),
    (ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL, AclOperation.IDEMPOTENT_WRITE),
)
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


class LoggedIn(Millstream):
    def __init__(self, directory: Path) -> None:
        users = " ".join(f'user_{name}="{_PASSWORD}"' for name in (_ADMIN, _USER))
        settings = {
            "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.plaintext.plain.sasl.jaas.config": (
                f'{_PLAIN_MODULE} required username="{_ADMIN}" password="{_PASSWORD}" {users};'
            ),
            "super.users": f"User:{_ADMIN}",
        }
        super().__init__(directory, settings, client=_login(_USER), name="millstream, logged in")

    def start(self) -> None:
        super().start()
        admin = AdminClient({**self.client, **_login(_ADMIN), "log_level": 0})
        allow = AclPermissionType.ALLOW
        bindings = [AclBinding(kind, name, how, f"User:{_USER}", "*", what, allow) for kind, name, how, what in _GRANTS]
        for made in admin.create_acls(bindings).values():
            made.result(10)


def _login(user: str) -> Client:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": _PASSWORD,
    }
