"""Opens the store that a configuration names; what a store needs beyond that is imported only here."""

from collections.abc import Awaitable, Callable

from millstream_controller.config import InDirectory, InKubernetes, StorePlace
from millstream_controller.shell.file_store import FileStore
from millstream_controller.shell.store import Store, StoreBroken
from millstream_log.disk import DISK, Disk
from millstream_runtime.world import World

OpenStore = Callable[[StorePlace, World, str], Awaitable[Store]]
"""`open_store`, or the simulation's, whose API server is in memory."""


async def open_store(place: StorePlace, world: World, writer: str, disk: Disk = DISK) -> Store:
    """A store that nothing has been read from yet; `writer` names this process among all that ever were."""
    match place:
        case InDirectory():
            return FileStore(place.path, world, disk=disk)
        case InKubernetes():
            from millstream_controller.shell.kubernetes_api import KubernetesApi
            from millstream_controller.shell.kubernetes_store import KubernetesStore
            from millstream_controller.shell.slot_objects import Forbidden

            try:
                api = await KubernetesApi.connect(namespace=place.namespace, cluster=place.name)
            except Forbidden as error:
                raise StoreBroken(str(error)) from error
            except ModuleNotFoundError as error:
                raise StoreBroken(
                    f"{error.name} is not installed, which a store in Kubernetes needs: pip install 'millstream[kubernetes]'"
                ) from error
            return KubernetesStore(api, world, namespace=place.namespace, cluster=place.name, writer=writer)
