"""The operator's connections to clusters, open from one look to the next: a handshake for each resource and look would be most of the work.

Where a cluster asks for credentials the operator shows a certificate that it issues to itself and keeps in memory only.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from millstream_operator.certificates.authority import Authority, utc
from millstream_operator.certificates.issue import issue
from millstream_operator.kafka.cluster import Address, KafkaCluster
from millstream_operator.plan.certificates import Lives
from millstream_operator.plan.scope import Body
from millstream_operator.reconcile.certificates import Certificates
from millstream_operator.resources.identity import ClusterIdentity
from millstream_operator.resources.listeners import INTERNAL_PORT, is_secured, operator_certificate
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_runtime.world import World
from millstream_security.protocol import ListenerProperties, SecurityProtocol

CLUSTERS_MAX = 100
LOOK_AGAIN_MS = 30_000
"""How old what is known of a cluster's authority may be."""
RENEWED_MS_MAX = 12 * 3_600_000
CONNECTIONS_MAX = 64


@dataclass(slots=True)
class _Open:
    nodes: Nodes
    kafka: KafkaCluster
    address: Address
    looked_at_ms: int
    renew_at_ms: int
    trust: bytes = field(repr=False)


class Connections:
    def __init__(self, world: World, certificates: Certificates) -> None:
        self._world = world
        self._certificates = certificates
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._turn = asyncio.Lock()

    async def to(self, cluster: Body, bootstrap: Address) -> KafkaCluster:
        """`bootstrap`: where clients begin. Raises BadAuthority, KubernetesError; whether anybody answers shows at the first request."""
        identity = ClusterIdentity.of(cluster)
        async with self._turn:
            now_ms = self._world.monotonic_ms()
            found = self._open.get(identity.uid)
            if found is None or now_ms - found.looked_at_ms > LOOK_AGAIN_MS:
                found = await self._renewed(identity, cluster, bootstrap, found, now_ms)
            self._open.move_to_end(identity.uid)
            if len(self._open) > CLUSTERS_MAX:
                _, oldest = self._open.popitem(last=False)
                await oldest.nodes.close()
            return found.kafka

    async def close(self) -> None:
        for each in self._open.values():
            await each.nodes.close()
        self._open.clear()

    async def _renewed(
        self, identity: ClusterIdentity, cluster: Body, bootstrap: Address, found: _Open | None, now_ms: int
    ) -> _Open:
        authority = None
        if is_secured(cluster["spec"]):
            authority = await self._certificates.nodes_authority(identity)
            bootstrap = f"{identity.bootstrap_service}.{identity.namespace}.svc", INTERNAL_PORT
        trust = b"" if authority is None else authority.trust
        if found is not None and (found.trust, found.address) == (trust, bootstrap) and now_ms < found.renew_at_ms:
            found.looked_at_ms = now_ms
            return found
        nodes = Nodes(
            self._world,
            client_id="millstream-operator",
            connections_max=CONNECTIONS_MAX,
            credentials=PLAIN if authority is None else self._credentials(identity, cluster, authority),
        )
        made = _Open(nodes, KafkaCluster(nodes, bootstrap), bootstrap, now_ms, now_ms + RENEWED_MS_MAX, trust)
        self._open[identity.uid] = made
        if found is not None:
            await found.nodes.close()
        return made

    def _credentials(self, identity: ClusterIdentity, cluster: Body, authority: Authority) -> Credentials:
        from millstream_security.tls.contexts import ClientTls
        from millstream_security.tls.settings import TlsSettings

        now = utc(self._world.now_ms())
        issued = issue(authority, operator_certificate(identity), now, Lives.of(cluster["spec"]).certificate)
        settings = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": issued.key_text.decode(),
            "ssl.keystore.certificate.chain": issued.certificates.decode(),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": authority.trust.decode(),
        }
        tls = ClientTls(identity.name, TlsSettings.of(ListenerProperties("OPERATOR", settings.get)))
        return Credentials(SecurityProtocol.SSL, tls)
