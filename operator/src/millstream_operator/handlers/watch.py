"""Changes as they happen. kopf keeps the watches.

Event handlers rather than change handlers or timers: those would put a finalizer on every resource, and a finalizer
outlives an operator that is gone. What a deleted resource leaves behind is taken away when it is seen to go, or found to be gone.
"""

import itertools
from typing import Any

import kopf

from millstream_operator.reconcile.resync import Reconcilers
from millstream_operator.resources.identity import CLUSTER_LABEL

GROUP, VERSION = "millstream.dev", "v1alpha1"
ASK_AGAIN_S = 2


def register(registry: kopf.OperatorRegistry, reconcilers: Reconcilers) -> None:
    """Hang the handlers on a registry of this process; nothing registers at import."""

    async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        # A watch that went silent is dropped and begun again; the regular look at everything covers the gap.
        settings.watching.server_timeout = 300
        settings.watching.client_timeout = 330
        # By default it asks an API server that is away ever more seldom, and gives up at last.
        settings.networking.error_backoffs = itertools.repeat(ASK_AGAIN_S)
        settings.posting.level = 30
        # The namespaces are told, and the definitions are there before the operator: nothing cluster-wide has to be read.
        settings.scanning.disabled = True

    async def log_in(**kwargs: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)

    kopf.on.startup(registry=registry)(configure)
    kopf.on.login(registry=registry)(log_in)
    for plural, reconciler in reconcilers.by_plural.items():
        _watch(registry, plural, reconcilers, reconciler.kind)
    _watch_pods(registry, reconcilers)


def _watch(registry: kopf.OperatorRegistry, plural: str, reconcilers: Reconcilers, kind: str) -> None:
    async def changed(body: kopf.Body, type: str | None, **_: Any) -> None:
        reconcilers.heard_of(kind, dict(body))
        status = body.get("status") or {}
        if type == "DELETED":
            await reconcilers.left(kind, dict(body))
        elif status.get("observedGeneration") != body["metadata"].get("generation"):
            await reconcilers.look_at(kind, dict(body))

    kopf.on.event(GROUP, VERSION, plural, registry=registry, id=f"{plural}-changed")(changed)


def _watch_pods(registry: kopf.OperatorRegistry, reconcilers: Reconcilers) -> None:
    """A pod that came or went may let the next one be exchanged, and decides who may be evicted."""

    async def changed(body: kopf.Body, **_: Any) -> None:
        metadata = body["metadata"]
        await reconcilers.look_at_cluster(metadata["namespace"], metadata["labels"][CLUSTER_LABEL])

    selector = {CLUSTER_LABEL: kopf.PRESENT}
    kopf.on.event("", "v1", "pods", registry=registry, id="pods-changed", labels=selector)(changed)
