"""Broker configuration keys of listeners' protocols and of TLS; each ssl.* key also as `listener.name.<listener>.ssl.*`."""

from millstream_cluster.configs.key import ConfigKey, ConfigType, UpdateMode, one_of
from millstream_cluster.records import ResourceType

_S, _LIST, _P = ConfigType.STRING, ConfigType.LIST, ConfigType.PASSWORD


def _static(name: str, kind: ConfigType, default: str | None, doc: str) -> ConfigKey:
    return ConfigKey(name, kind, default, doc, update_mode=UpdateMode.READ_ONLY, resource_type=ResourceType.BROKER)


TLS_CONFIGS = (
    _static("listener.security.protocol.map", _S, None, "What each listener speaks: NAME:PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. Unset, a listener's name is its protocol; CONTROLLER is plain unless it is named here."),
    _static("controller.listener.names", _LIST, "CONTROLLER", "Controllers' listeners: by the first one nodes connect to controllers."),
    _static("security.inter.broker.protocol", _S, None, "The protocol of the listener where other nodes come in, in place of inter.broker.listener.name."),
    _static("ssl.keystore.location", _S, None, "A file with the private key and its certificates, the own one first: PEM or PKCS12. It is read again when it changes."),
    _static("ssl.keystore.type", _S, None, "PEM or PKCS12; unset, whatever the file is."),
    _static("ssl.keystore.password", _P, None, "Of a PKCS12 file."),
    _static("ssl.keystore.key", _P, None, "The private key itself, PEM, in place of a file."),
    _static("ssl.keystore.certificate.chain", _P, None, "The certificates that belong to it, PEM."),
    _static("ssl.key.password", _P, None, "Of an encrypted private key."),
    _static("ssl.truststore.location", _S, None, "A file with the authorities whose certificates are believed: PEM or PKCS12. It is read again when it changes."),
    _static("ssl.truststore.type", _S, None, "PEM or PKCS12; unset, whatever the file is."),
    _static("ssl.truststore.password", _P, None, "Of a PKCS12 file."),
    _static("ssl.truststore.certificates", _P, None, "The authorities themselves, PEM, in place of a file."),
    ConfigKey("ssl.client.auth", _S, "none", "Whether clients have to show a certificate: none, requested or required.", one_of("none", "requested", "required"), update_mode=UpdateMode.READ_ONLY, resource_type=ResourceType.BROKER),
    _static("ssl.enabled.protocols", _LIST, "TLSv1.2,TLSv1.3", "TLSv1.2, TLSv1.3 or both."),
    _static("ssl.cipher.suites", _LIST, "", "The cipher suites to choose from, by the standard's names or OpenSSL's; unset, as OpenSSL sees fit. Of TLS 1.3 all three or none."),
    _static("ssl.endpoint.identification.algorithm", _S, "https", "Whether a node's certificate has to name the host that another node connects to: https, or empty for no."),
    _static("super.users", _S, "", "Who may do everything, and may be a node of the cluster: User:name;User:name."),
    _static("ssl.principal.mapping.rules", _S, "DEFAULT", "From a certificate's subject to a user's name: RULE:pattern/replacement/[LU], or DEFAULT for the subject itself."),
)  # fmt: skip
