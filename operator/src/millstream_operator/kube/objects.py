"""Objects of the Kubernetes API by plain REST: server-side apply, get, list, delete, patch.

One field manager applies, so that a hand's edit of our fields is put back. No discovery: the few kinds are a table.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientError
from kubernetes.aio import client as api
from kubernetes.aio import config

FIELD_MANAGER = "millstream-operator"
REQUEST_TIMEOUT_S = 20
PLURALS = {
    "Cluster": "clusters",
    "ConsumerGroup": "consumergroups",
    "Deployment": "deployments",
    "Event": "events",
    "MetadataSlot": "metadataslots",
    "NetworkPolicy": "networkpolicies",
    "Pod": "pods",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Remains": "remains",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "StatefulSet": "statefulsets",
    "TLSRoute": "tlsroutes",
    "Topic": "topics",
    "User": "users",
}


class KubernetesError(Exception):
    """The API server refused; carries the HTTP status, its message, and its reason where it gave one."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.reason = reason

    @property
    def not_found(self) -> bool:
        return self.status == 404

    @property
    def conflict(self) -> bool:
        return self.status == 409


@asynccontextmanager
async def connect() -> AsyncIterator["Objects"]:
    """In a pod by its service account, elsewhere by KUBECONFIG."""
    try:
        config.load_incluster_config()  # type: ignore[no-untyped-call]
    except config.ConfigException:
        await config.load_kube_config()  # type: ignore[no-untyped-call]
    async with api.ApiClient() as client:
        yield Objects(client)


class Objects:
    def __init__(self, client: api.ApiClient) -> None:
        self._client = client

    async def apply(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """The object as it is then."""
        metadata = manifest["metadata"]
        path = _path(manifest["apiVersion"], manifest["kind"], metadata["namespace"], metadata["name"])
        query = [("fieldManager", FIELD_MANAGER), ("force", "true")]
        return await self.call("PATCH", path, query, manifest, content_type="application/apply-patch+yaml")

    async def create(self, manifest: Mapping[str, Any]) -> None:
        """Raises KubernetesError where there is one of that name already."""
        path = _path(manifest["apiVersion"], manifest["kind"], manifest["metadata"]["namespace"])
        await self.call("POST", path, [("fieldManager", FIELD_MANAGER)], manifest)

    async def get(self, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        try:
            return await self.call("GET", _path(api_version, kind, namespace, name))
        except KubernetesError as error:
            if error.not_found:
                return None
            raise

    async def is_gone(self, api_version: str, kind: str, namespace: str, name: str, uid: str) -> bool:
        """Whether this very object is not there (any more). Raises KubernetesError, also where there is no such kind (any more)."""
        try:
            found = await self.call("GET", _path(api_version, kind, namespace, name))
        except KubernetesError as error:
            # Of a kind that it does not know the API server says only that there is no such page.
            if error.not_found and error.reason == "NotFound":
                return True
            raise
        return bool(found["metadata"]["uid"] != uid)

    async def list(self, api_version: str, kind: str, namespace: str, labels: str = "") -> list[dict[str, Any]]:
        """All of a kind; an empty namespace means every namespace. A kind that is not installed has none."""
        query = [("labelSelector", labels)] if labels else []
        try:
            found = await self.call("GET", _path(api_version, kind, namespace), query)
        except KubernetesError as error:
            if error.not_found:
                return []
            raise
        items: list[dict[str, Any]] = found["items"]
        return items

    async def delete(
        self, api_version: str, kind: str, namespace: str, name: str, propagation: str, *, uid: str = ""
    ) -> bool:
        """Whether it was there. With a uid only that very object: one of the same name made since stays."""
        body = {"preconditions": {"uid": uid}} if uid else None
        try:
            query = [("propagationPolicy", propagation)]
            await self.call("DELETE", _path(api_version, kind, namespace, name), query, body)
        except KubernetesError as error:
            if error.not_found or (uid and error.conflict):
                return False
            raise
        return True

    async def merge_patch(
        self, api_version: str, kind: str, namespace: str, name: str, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        """The object as it is then."""
        path = _path(api_version, kind, namespace, name) + (f"/{subresource}" if subresource else "")
        return await self.call("PATCH", path, [], patch, content_type="application/merge-patch+json")

    async def call(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """One request. Raises KubernetesError; OSError or TimeoutError where nobody answers to the end."""
        request = await self._client.param_serialize(
            method,
            path,
            query_params=list(query),
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            response = await self._client.call_api(*request, _request_timeout=REQUEST_TIMEOUT_S)
            content = await response.read()  # type: ignore[no-untyped-call]
        except ClientError as error:
            # A connection that breaks before or in the middle of an answer is no OSError of aiohttp's.
            raise ConnectionError(f"the API server does not answer: {error or type(error).__name__}") from error
        if not 200 <= response.status <= 299:
            raise _error(response.status, content)
        answer: dict[str, Any] = json.loads(content)
        return answer


def _path(api_version: str, kind: str, namespace: str, name: str = "") -> str:
    root = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{scope}/{PLURALS[kind]}" + (f"/{name}" if name else "")


def _error(status: int, content: bytes) -> KubernetesError:
    try:
        told = json.loads(content)
    except ValueError:
        return KubernetesError(status, content[:200].decode("utf-8", "replace"))
    return KubernetesError(status, str(told.get("message", "")), str(told.get("reason", "")))
