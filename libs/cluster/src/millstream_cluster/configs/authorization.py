"""Broker configuration keys of what clients may do."""

from millstream_cluster.configs.key import ConfigKey, ConfigType, UpdateMode
from millstream_cluster.records import ResourceType


def _static(name: str, kind: ConfigType, default: str, doc: str) -> ConfigKey:
    return ConfigKey(name, kind, default, doc, update_mode=UpdateMode.READ_ONLY, resource_type=ResourceType.BROKER)


AUTHORIZATION_CONFIGS = (
    _static("authorizer.class.name", ConfigType.STRING, "", "org.apache.kafka.metadata.authorizer.StandardAuthorizer: ACLs say what clients may do; empty: everybody may do everything. Unset, there is an authorizer where a listener asks for credentials."),
    _static("allow.everyone.if.no.acl.found", ConfigType.BOOLEAN, "false", "Whether everybody may do everything with resources that no ACL applies to."),
    _static("millstream.audit.topic", ConfigType.STRING, "", "The topic that gets what the audit log says, as JSON; empty: none does. It is made with the defaults of new topics where it does not exist, and only nodes write to it. Millstream's own."),
)  # fmt: skip
