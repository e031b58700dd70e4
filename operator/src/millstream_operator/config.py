"""What the operator is told about itself; what it does about clusters is in their resources."""

from dataclasses import dataclass

from millstream_runtime.properties import Properties


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    http_host: str
    """Where /healthz, /readyz and /metrics are."""
    http_port: int

    @classmethod
    def from_properties(cls, properties: Properties) -> "OperatorConfig":
        return cls(
            http_host=properties.text("http.host", "0.0.0.0"),
            http_port=properties.integer("http.port", 9095, least=0, most=65535),
        )
