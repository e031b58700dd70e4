"""What a console is told: which cluster, as whom, on behalf of whom, and where it listens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millstream_client import InvalidData
from millstream_client.credentials import PROTOCOL
from millstream_security.protocol import SecurityProtocol
from millstream_security.sasl.login import JAAS, MECHANISM
from millstream_security.sasl.plain import PLAIN
from millstream_security.sasl.scram_mechanism import SCRAM_NAMES

MECHANISMS = (*SCRAM_NAMES, PLAIN)
"""By which a person can log in with a name and a password."""


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    bootstrap: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """As Kafka's clients take them; security.protocol with SASL and without a login of its own makes the page ask for one."""
    mechanisms: Sequence[str] = MECHANISMS
    """By which the cluster lets people in, the preferred one first."""
    read_only: bool = False
    hosts: frozenset[str] = frozenset()
    """Names under which the page is reached, beside addresses and localhost."""
    reached_at: Mapping[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    """Where nodes are found whose advertised address is of no use here, by that address."""

    def __post_init__(self) -> None:
        unknown = [each for each in self.mechanisms if each not in MECHANISMS]
        if unknown or (self.asks_for_login and not self.mechanisms):
            raise InvalidData(f"mechanisms must be some of {', '.join(MECHANISMS)}, not {', '.join(unknown) or 'none'}")

    @property
    def protocol(self) -> SecurityProtocol:
        text = self.properties.get(PROTOCOL, SecurityProtocol.PLAINTEXT.name)
        found = SecurityProtocol.named(text)
        if found is None:
            raise InvalidData(f"{PROTOCOL} must not be {text!r}")
        return found

    @property
    def asks_for_login(self) -> bool:
        """Whether each person shows credentials of their own; otherwise whoever reaches the page does what the service may."""
        return self.protocol.uses_sasl and JAAS not in self.properties and MECHANISM not in self.properties
