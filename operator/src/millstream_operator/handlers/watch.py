"""Changes as they happen. kopf keeps the watches and, for resources that have to delete something, the finalizers.

Event handlers rather than change handlers or timers: those would put a finalizer on every resource, and a finalizer
outlives an operator that is gone.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import kopf

from millstream_operator.reconcile.resource import Body
from millstream_operator.reconcile.resync import Reconcilers

GROUP, VERSION = "millstream.dev", "v1alpha1"
RETRY_DELAY_S = 10


def register(registry: kopf.OperatorRegistry, reconcilers: Reconcilers) -> None:
    """Hang the handlers on a registry of this process; nothing registers at import."""

    async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        # A watch that went silent is dropped and begun again; the regular look at everything covers the gap.
        settings.watching.server_timeout = 300
        settings.watching.client_timeout = 330
        settings.posting.level = 30
        settings.persistence.finalizer = f"{GROUP}/data"
        settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)

    async def log_in(**kwargs: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)

    kopf.on.startup(registry=registry)(configure)
    kopf.on.login(registry=registry)(log_in)
    for plural, reconciler in reconcilers.by_plural.items():
        _watch(registry, plural, reconcilers, reconciler.kind)
    _delete(registry, "topics", "Delete", reconcilers.topics.delete)
    _delete(registry, "consumergroups", "DeleteIfEmpty", reconcilers.groups.delete)


def _watch(registry: kopf.OperatorRegistry, plural: str, reconcilers: Reconcilers, kind: str) -> None:
    async def changed(body: kopf.Body, **_: Any) -> None:
        status = body.get("status") or {}
        if status.get("observedGeneration") != body["metadata"].get("generation"):
            await reconcilers.look_at(kind, dict(body))

    kopf.on.event(GROUP, VERSION, plural, registry=registry, id=f"{plural}-changed")(changed)


def _delete(
    registry: kopf.OperatorRegistry, plural: str, policy: str, delete: Callable[[Body], Awaitable[None]]
) -> None:
    def has_data_to_delete(spec: Mapping[str, Any], **_: Any) -> bool:
        return bool(spec.get("deletionPolicy") == policy)

    async def deleted(body: kopf.Body, **_: Any) -> None:
        try:
            await delete(dict(body))
        except Exception as error:
            raise kopf.TemporaryError(f"not deleted yet: {error}", delay=RETRY_DELAY_S) from error

    kopf.on.delete(GROUP, VERSION, plural, registry=registry, when=has_data_to_delete)(deleted)
