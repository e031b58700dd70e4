"""Changes as they happen. kopf keeps the watches and, for resources that have to delete something, the finalizers.

Event handlers rather than change handlers or timers: those would put a finalizer on every resource, and a finalizer
outlives an operator that is gone. None is put on a resource in another namespace than its Cluster's: when that namespace
goes, the operator's rights there may go first, and nobody could take the finalizer off. Its data is deleted when it is seen to go.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import kopf

from millstream_operator.plan.scope import Body, cluster_key
from millstream_operator.reconcile.resync import Reconcilers
from millstream_operator.resources.identity import CLUSTER_LABEL

GROUP, VERSION = "millstream.dev", "v1alpha1"
RETRY_DELAY_S = 10
TRIES_MAX = 30

Delete = Callable[[Body], Awaitable[None]]

logger = logging.getLogger(__name__)


def register(registry: kopf.OperatorRegistry, reconcilers: Reconcilers) -> None:
    """Hang the handlers on a registry of this process; nothing registers at import."""

    async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        # A watch that went silent is dropped and begun again; the regular look at everything covers the gap.
        settings.watching.server_timeout = 300
        settings.watching.client_timeout = 330
        settings.posting.level = 30
        # The namespaces are told, and the definitions are there before the operator: nothing cluster-wide has to be read.
        settings.scanning.disabled = True
        settings.persistence.finalizer = f"{GROUP}/data"
        settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)

    async def log_in(**kwargs: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)

    kopf.on.startup(registry=registry)(configure)
    kopf.on.login(registry=registry)(log_in)
    deletes: dict[str, Delete] = {
        "topics": reconcilers.topics.delete,
        "consumergroups": reconcilers.groups.delete,
        "users": reconcilers.users.delete,
    }
    for plural, reconciler in reconcilers.by_plural.items():
        _watch(registry, plural, reconcilers, reconciler.kind)
    _watch_pods(registry, reconcilers)
    for plural, delete in deletes.items():
        _delete(registry, plural, delete)
        _delete_without_finalizer(registry, plural, delete)


def _watch(registry: kopf.OperatorRegistry, plural: str, reconcilers: Reconcilers, kind: str) -> None:
    async def changed(body: kopf.Body, type: str | None, **_: Any) -> None:
        status = body.get("status") or {}
        if type != "DELETED" and status.get("observedGeneration") != body["metadata"].get("generation"):
            await reconcilers.look_at(kind, dict(body))

    kopf.on.event(GROUP, VERSION, plural, registry=registry, id=f"{plural}-changed")(changed)


def _watch_pods(registry: kopf.OperatorRegistry, reconcilers: Reconcilers) -> None:
    """A pod that came or went may let the next one be exchanged, and decides who may be evicted."""

    async def changed(body: kopf.Body, **_: Any) -> None:
        metadata = body["metadata"]
        await reconcilers.look_at_cluster(metadata["namespace"], metadata["labels"][CLUSTER_LABEL])

    selector = {CLUSTER_LABEL: kopf.PRESENT}
    kopf.on.event("", "v1", "pods", registry=registry, id="pods-changed", labels=selector)(changed)


def at_home(body: Body) -> bool:
    """Whether a resource is in the namespace of its Cluster."""
    return bool(cluster_key(body)[0] == body["metadata"]["namespace"])


def leaves_something(plural: str, body: Body) -> bool:
    """Whether something has to be deleted with a resource; with a User always, with a group also the configs that it set."""
    policy = body["spec"].get("deletionPolicy")
    match plural:
        case "topics":
            return bool(policy == "Delete")
        case "consumergroups":
            return policy == "DeleteIfEmpty" or bool((body.get("status") or {}).get("configs"))
        case _:
            return True


def _delete(registry: kopf.OperatorRegistry, plural: str, delete: Delete) -> None:
    def has_data_to_delete(body: kopf.Body, **_: Any) -> bool:
        return leaves_something(plural, body) and at_home(body)

    async def deleted(body: kopf.Body, **_: Any) -> None:
        try:
            await delete(dict(body))
        except Exception as error:
            raise kopf.TemporaryError(f"not deleted yet: {error}", delay=RETRY_DELAY_S) from error

    kopf.on.delete(GROUP, VERSION, plural, registry=registry, when=has_data_to_delete)(deleted)


def _delete_without_finalizer(registry: kopf.OperatorRegistry, plural: str, delete: Delete) -> None:
    async def gone(body: kopf.Body, type: str | None, **_: Any) -> None:
        if type != "DELETED" or not leaves_something(plural, body) or at_home(body):
            return
        for left in reversed(range(TRIES_MAX)):
            try:
                await delete(dict(body))
            except Exception as error:
                logger.warning(
                    "not deleted yet kind=%s name=%s tries_left=%d error=%s",
                    plural,
                    body["metadata"]["name"],
                    left,
                    error,
                )
                await asyncio.sleep(RETRY_DELAY_S)
            else:
                return

    kopf.on.event(GROUP, VERSION, plural, registry=registry, id=f"{plural}-gone")(gone)
