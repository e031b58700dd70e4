"""SlotObjects of a real API server, by the kubernetes client's asyncio flavour, which is imported only when it is used."""

import asyncio
import os
from typing import Any

from millstream_controller.shell.slot_objects import (
    CLUSTER_LABEL,
    GROUP,
    PART_LABEL,
    PLURAL,
    VERSION,
    Conflict,
    Denied,
    Forbidden,
    NoAnswer,
    Object,
)

REQUEST_TIMEOUT_S = 10.0
_NOT_FOUND = 404
_CONFLICT = 409
_DENIED = (401, 403)
_TRY_AGAIN = (408, 429)


class KubernetesApi:
    """One connection pool; credentials from the pod's service account, or from KUBECONFIG outside a cluster."""

    def __init__(self, client: Any, api: Any, *, namespace: str, cluster: str) -> None:
        self._client = client
        self._api = api
        self._namespace = namespace
        self._cluster = cluster

    @classmethod
    async def connect(cls, *, namespace: str, cluster: str) -> "KubernetesApi":
        from kubernetes.aio import client, config  # takes seconds to import, and most controllers need none of it

        try:
            if "KUBERNETES_SERVICE_HOST" in os.environ:
                configuration = client.Configuration()  # it reads the pod's token anew as that is rotated
                config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
                api_client = client.ApiClient(configuration)
            else:
                api_client = await config.new_client_from_config()  # type: ignore[no-untyped-call]
        except config.ConfigException as error:
            raise Forbidden(f"no way to reach the API server is configured: {error}") from error
        return cls(api_client, client.CustomObjectsApi(api_client), namespace=namespace, cluster=cluster)

    async def list(self, part: str) -> list[Object]:
        # No resourceVersion: the API server answers with what etcd holds now, never from a cache that may be behind.
        answer = await self._call(
            "list_namespaced_custom_object", label_selector=f"{CLUSTER_LABEL}={self._cluster},{PART_LABEL}={part}"
        )
        return list(answer["items"])

    async def get(self, name: str) -> Object | None:
        return await self._call("get_namespaced_custom_object", name=name)  # type: ignore[no-any-return]

    async def create(self, body: Object) -> Object:
        return await self._call("create_namespaced_custom_object", body=body)  # type: ignore[no-any-return]

    async def replace(self, name: str, body: Object) -> Object:
        answer = await self._call("replace_namespaced_custom_object", name=name, body=body)
        if answer is None:
            raise Conflict(f"{name} does not exist any more")
        return answer  # type: ignore[no-any-return]

    async def delete(self, name: str) -> None:
        await self._call("delete_namespaced_custom_object", name=name)

    async def close(self) -> None:
        await self._client.close()

    async def _call(self, method: str, **arguments: Any) -> Any:
        """Make one call; None for an object that does not exist."""
        from aiohttp import ClientError
        from kubernetes.aio.client import ApiException

        call = getattr(self._api, method)
        place = {"group": GROUP, "version": VERSION, "namespace": self._namespace, "plural": PLURAL}
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                return await call(**place, **arguments)
        except ApiException as error:
            if error.status == _NOT_FOUND and "name" in arguments:
                return None
            raise refusal_of(error.status, str(error.reason)) from error
        except (ClientError, OSError, TimeoutError) as error:
            raise NoAnswer(str(error) or type(error).__name__) from error


def refusal_of(status: int | None, reason: str) -> Exception:
    """What an answer that is no success means for the metadata log; what does not exist is told before."""
    if status == _CONFLICT:
        return Conflict(reason)
    if status in _DENIED:
        return Denied(f"{status} {reason}")
    if status is not None and 400 <= status < 500 and status not in _TRY_AGAIN:
        return Forbidden(f"{status} {reason}")
    return NoAnswer(f"{status} {reason}")
