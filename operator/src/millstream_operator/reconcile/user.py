"""Users: a Secret with credentials, and in the cluster the credential, ACLs and quotas that the resource declares.

A password is in the Secret and, salted and hashed, in the cluster; it is in no status, log or message.
"""

import logging
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from millstream_operator.certificates.authority import BadAuthority, utc
from millstream_operator.certificates.issue import Issued, Wanted, is_due, issue
from millstream_operator.kafka import users
from millstream_operator.kube.secrets import files_of, secret_manifest
from millstream_operator.plan.certificates import Lives
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.scope import Body, cluster_key, elder
from millstream_operator.plan.user import (
    CredentialTaken,
    Login,
    WantedUser,
    again_ms,
    made_fields,
    made_of,
    plan_user,
    removal,
    wanted_user,
)
from millstream_operator.plan.user_secret import KEYSTORE, PASSWORD, scram_files, tls_files
from millstream_operator.reconcile.resource import (
    API_VERSION,
    EXPECTED,
    ClusterMissing,
    Conflict,
    NamespaceNotAllowed,
    SecurityDisabled,
    Surroundings,
    Turns,
    cluster_of,
    condition_of,
    kafka_of,
    note_status,
    write_status,
)
from millstream_operator.resources.identity import ClusterIdentity
from millstream_operator.resources.listeners import is_secured

logger = logging.getLogger(__name__)

PASSWORD_BYTES = 32
REMEMBERED_MAX = 10_000


class UserReconciler:
    kind = "User"

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._turns = Turns()
        self._as_declared: OrderedDict[str, tuple[str, int]] = OrderedDict()
        """Versions and time of the last look that found everything as it should be, by uid."""

    async def reconcile(self, body: Body, siblings: Sequence[Body]) -> Body | None:
        async with self._turns.of(body):
            versions = await self._versions(body)
            if versions == self._last_versions(body, len(siblings)):
                return body
            # What was made is in the status, so it has to be the status as it is now.
            current = await self._current(body)
            if current is None or current["metadata"].get("deletionTimestamp"):
                return current
            try:
                fields, condition = await self._look_and_act(current, siblings)
            except EXPECTED as error:
                fields, condition = {}, condition_of(error)
            written = await write_status(self._around, self.kind, current, fields, condition)
            if condition.status:
                self._remember(current, versions)
            return written

    async def _versions(self, body: Body) -> str:
        """Of the User, of its Cluster and of the authorities, before the look: a look that comes to nothing has nothing new to find while they stay."""
        namespace, name = cluster_key(body)
        cluster = await self._around.clusters.get(namespace, name) if namespace in self._around.namespaces else None
        theirs = cluster and cluster["metadata"]["resourceVersion"]
        return f"{body['metadata']['resourceVersion']} {theirs} {self._around.certificates.made}"

    def _last_versions(self, body: Body, users: int) -> str | None:
        versions, looked_ms = self._as_declared.get(body["metadata"]["uid"], ("", 0))
        return versions if self._around.world.monotonic_ms() - looked_ms < again_ms(users) else None

    def _remember(self, body: Body, versions: str) -> None:
        """`versions` as they were before the look: whatever changed meanwhile is looked at once more."""
        uid = body["metadata"]["uid"]
        self._as_declared[uid] = versions, self._around.world.monotonic_ms()
        self._as_declared.move_to_end(uid)
        if len(self._as_declared) > REMEMBERED_MAX:
            self._as_declared.popitem(last=False)

    async def delete(self, body: Body) -> None:
        """Take away what this resource made, and nothing else. Its Secret goes by itself."""
        async with self._turns.of(body):
            current = await self._current(body) or body
            wanted, made = _wanted(current), made_of(current.get("status") or {})
            try:
                kafka = await kafka_of(self._around, await cluster_of(self._around, current))
                for step in removal(await users.look_at(kafka, wanted), made):
                    await users.perform(kafka, wanted, step, "")
                logger.info("user removed user=%s acls=%d", wanted.name, len(made.acls))
            except (ClusterMissing, NamespaceNotAllowed) as error:
                logger.info("user let go user=%s reason=%s", wanted.name, error)

    async def _current(self, body: Body) -> Body | None:
        metadata = body["metadata"]
        found = await self._around.objects.get(API_VERSION, self.kind, metadata["namespace"], metadata["name"])
        return found if found is not None and found["metadata"]["uid"] == metadata["uid"] else None

    async def _look_and_act(self, body: Body, siblings: Sequence[Body]) -> tuple[dict[str, Any], Condition]:
        wanted = _wanted(body)
        cluster = await self._cluster_of(body, siblings, wanted)
        kafka = await kafka_of(self._around, cluster)
        seen = await users.look_at(kafka, wanted)
        made = made_of(body.get("status") or {})
        secret, version = await self._secret(body, cluster, wanted)
        try:
            plan = plan_user(
                wanted,
                seen,
                made,
                password_changed=(body.get("status") or {}).get("secretVersion") != version,
                iterations=users.ITERATIONS,
            )
        except CredentialTaken as error:
            raise Conflict(str(error)) from None
        if plan.noted != made:
            body = await note_status(self._around, self.kind, body, {"made": made_fields(plan.noted)})
        password = secret.get(PASSWORD, b"").decode()
        for step in plan.steps:
            await users.perform(kafka, wanted, step, password)
            logger.info("user step user=%s step=%s", wanted.name, type(step).__name__)
        fields = {
            "principal": f"User:{wanted.principal_name}",
            "secret": _secret_name(body),
            "secretVersion": version,
            "made": made_fields(plan.made),
        }
        return fields, Condition("Ready", True, "AsDeclared", f"credentials are in the Secret {_secret_name(body)}")

    async def _cluster_of(self, body: Body, siblings: Sequence[Body], wanted: WantedUser) -> Body:
        cluster = await cluster_of(self._around, body)
        first = elder(body, siblings, cluster, user_name_of)
        if first is not None:
            raise Conflict(f"the older resource {first} declares the user {wanted.name} too")
        if not is_secured(cluster["spec"]):
            raise SecurityDisabled(f"the Cluster {cluster['metadata']['name']} asks nobody for credentials")
        named = cluster["spec"]["security"].get("superUsers") or ()
        if wanted.principal_name in named and cluster["metadata"]["namespace"] != body["metadata"]["namespace"]:
            raise NamespaceNotAllowed(
                f"{wanted.principal_name} is a super user, whom only the Cluster's own namespace may declare"
            )
        return cluster

    async def _secret(self, body: Body, cluster: Body, wanted: WantedUser) -> tuple[dict[str, bytes], str]:
        """The files of the user's Secret, made or renewed where that is due, and its version."""
        objects, namespace, name = self._around.objects, body["metadata"]["namespace"], _secret_name(body)
        found = await objects.get("v1", "Secret", namespace, name)
        if found is not None and not _is_owned(found, body):
            raise Conflict(f"there is a Secret {name} that is not of this resource")
        before = files_of(found or {})
        files = await self._files(cluster, wanted, before)
        if found is not None and files == before:
            return files, found["metadata"]["resourceVersion"]
        manifest = secret_manifest(_metadata(body, name), files)
        if found is None:
            await objects.create(manifest)
        else:
            await objects.apply(manifest)
        written = await objects.get("v1", "Secret", namespace, name)
        return files, "" if written is None else written["metadata"]["resourceVersion"]

    async def _files(self, cluster: Body, wanted: WantedUser, before: Mapping[str, bytes]) -> dict[str, bytes]:
        identity, certificates = ClusterIdentity.of(cluster), self._around.certificates
        trust = (await certificates.nodes_authority(identity)).trust
        if wanted.login is Login.SCRAM:
            password = before.get(PASSWORD, b"").decode(errors="replace") or secrets.token_urlsafe(PASSWORD_BYTES)
            return scram_files(identity, trust, wanted.name, password)
        authority = await certificates.users_authority(identity)
        lives, now = Lives.of(cluster["spec"]), utc(self._around.world.now_ms())
        asked = Wanted(wanted.name)
        try:
            issued: Issued | None = Issued.of_keystore(before.get(KEYSTORE, b""))
        except BadAuthority:
            issued = None
        if issued is None or is_due(issued, authority, asked, now, lives.renew_before):
            issued = issue(authority, asked, now, lives.certificate)
        return tls_files(identity, trust, issued)


def user_name_of(body: Body) -> str:
    return _wanted(body).name


def _wanted(body: Body) -> WantedUser:
    return wanted_user(body["metadata"]["name"], body["spec"])


def _secret_name(body: Body) -> str:
    return str(body["spec"].get("secretName") or body["metadata"]["name"])


def _is_owned(secret: Mapping[str, Any], body: Body) -> bool:
    owners = secret["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == body["metadata"]["uid"] for owner in owners)


def _metadata(body: Body, name: str) -> dict[str, Any]:
    metadata = body["metadata"]
    owner = {"apiVersion": API_VERSION, "kind": "User", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "name": name,
        "namespace": metadata["namespace"],
        "labels": {"app.kubernetes.io/part-of": "millstream", "millstream.dev/user": metadata["name"]},
        "ownerReferences": [owner | {"controller": True}],
    }
