"""What the operator is told about itself; what it does about clusters is in their resources."""

from dataclasses import dataclass

from millstream_runtime.properties import Properties, PropertyError


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    http_host: str
    """Where /healthz, /readyz and /metrics are."""
    http_port: int
    watch_namespaces: tuple[str, ...]
    """Where Clusters and their resources are looked after. The operator needs no rights elsewhere."""
    namespace: str
    """Where the operator itself runs: network policies let it in from there."""

    @classmethod
    def from_properties(cls, properties: Properties) -> "OperatorConfig":
        namespaces = properties.texts("watch.namespaces")
        if not namespaces:
            raise PropertyError("watch.namespaces must name a namespace")
        return cls(
            http_host=properties.text("http.host", "0.0.0.0"),
            http_port=properties.integer("http.port", 9095, least=0, most=65535),
            watch_namespaces=tuple(dict.fromkeys(namespaces)),
            namespace=properties.text("operator.namespace", namespaces[0]),
        )
