"""A cluster's authorities and its nodes' certificates, in Secrets; and the operator's own, which is kept nowhere."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.certificates.authority import Authority, BadAuthority, utc
from millstream_operator.kube.objects import Objects
from millstream_operator.kube.secrets import files_of, secret_manifest
from millstream_operator.plan.certificates import ROTATE, ROTATED, Lives, next_authority, node_files
from millstream_operator.plan.scope import Body
from millstream_operator.resources.external import address_files
from millstream_operator.resources.identity import ClusterIdentity
from millstream_operator.resources.listeners import node_certificate
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

BROUGHT_CERTIFICATE, BROUGHT_KEY = "tls.crt", "tls.key"
"""As kubernetes.io/tls names them, and cert-manager."""


@dataclass(frozen=True, slots=True)
class Authorities:
    nodes: Authority = field(repr=False)
    users: Authority = field(repr=False)


class Certificates:
    """Each look begins from the Secrets: whoever else wrote them meanwhile, what is right stays."""

    def __init__(self, world: World, objects: Objects) -> None:
        self._world = world
        self._objects = objects
        self.made = 0
        """How many authorities so far: whoever has one's trust has to look again."""

    async def reconcile(self, body: Body) -> Authorities:
        """Make or renew what is due. Raises BadAuthority, KubernetesError."""
        cluster, spec = ClusterIdentity.of(body), body["spec"]
        brought = await self._brought(cluster, spec)
        nodes = await self._authority(cluster, body, cluster.nodes_authority, brought)
        users = await self._authority(cluster, body, cluster.users_authority, None)
        for role in Role:
            await self._node(cluster, spec, role, Authorities(nodes, users))
        return Authorities(nodes, users)

    async def nodes_authority(self, cluster: ClusterIdentity) -> Authority:
        """As it is kept. Raises BadAuthority, KubernetesError."""
        found = _kept(
            await self._objects.get("v1", "Secret", cluster.namespace, cluster.nodes_authority), cluster.nodes_authority
        )
        if found is None:
            raise BadAuthority(f"the Secret {cluster.nodes_authority} is not there (yet)")
        return found

    async def users_authority(self, cluster: ClusterIdentity) -> Authority:
        found = _kept(
            await self._objects.get("v1", "Secret", cluster.namespace, cluster.users_authority), cluster.users_authority
        )
        if found is None:
            raise BadAuthority(f"the Secret {cluster.users_authority} is not there (yet)")
        return found

    async def _brought(self, cluster: ClusterIdentity, spec: Mapping[str, Any]) -> Authority | None:
        name = (spec["security"].get("authority") or {}).get("secretName")
        if not name:
            return None
        secret = await self._objects.get("v1", "Secret", cluster.namespace, name)
        files = files_of(secret or {})
        if BROUGHT_CERTIFICATE not in files or BROUGHT_KEY not in files:
            raise BadAuthority(f"the Secret {name} has no {BROUGHT_CERTIFICATE} and {BROUGHT_KEY} (yet)")
        try:
            return Authority.of_pem(files[BROUGHT_CERTIFICATE], files[BROUGHT_KEY])
        except BadAuthority as error:
            raise BadAuthority(f"the Secret {name}: {error}") from None

    async def _authority(self, cluster: ClusterIdentity, body: Body, name: str, brought: Authority | None) -> Authority:
        asked = (body["metadata"].get("annotations") or {}).get(ROTATE, "")
        found = await self._objects.get("v1", "Secret", cluster.namespace, name)
        kept = _kept(found, name)
        followed = "" if found is None else (found["metadata"].get("annotations") or {}).get(ROTATED, "")
        authority = next_authority(
            name,
            kept,
            brought=brought,
            is_asked_to_rotate=asked != followed,
            lives=Lives.of(body["spec"]),
            now=utc(self._world.now_ms()),
        )
        if kept is not None and authority.as_files() == kept.as_files() and asked == followed:
            return authority
        metadata = cluster.metadata(name) | {"annotations": {ROTATED: asked}}
        if found is None:
            # Not applied: of two operators that begin at once only one may have its way.
            await self._objects.create(secret_manifest(metadata, authority.as_files()))
        else:
            metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
            await self._objects.apply(secret_manifest(metadata, authority.as_files()))
        self.made += 1
        until = authority.certificate.not_valid_after_utc.date().isoformat()
        logger.info("authority made secret=%s/%s valid_until=%s", cluster.namespace, name, until)
        return authority

    async def _node(
        self, cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role, authorities: Authorities
    ) -> None:
        name = cluster.certificates(role)
        found = files_of(await self._objects.get("v1", "Secret", cluster.namespace, name) or {})
        wanted, now = node_certificate(cluster, spec, role), utc(self._world.now_ms())
        files = node_files(found, wanted, authorities.nodes, authorities.users, Lives.of(spec), now)
        files |= address_files(cluster, spec, role, found)
        if files != found:
            await self._objects.apply(secret_manifest(cluster.metadata(name, role), files))
            logger.info("certificates written secret=%s/%s", cluster.namespace, name)


def _kept(secret: Mapping[str, Any] | None, name: str) -> Authority | None:
    if secret is None:
        return None
    try:
        return Authority.of_files(files_of(secret))
    except BadAuthority as error:
        raise BadAuthority(f"the Secret {name}: {error}; delete it to have another one made") from None
