"""/healthz, /readyz and /metrics of a process, for Kubernetes and Prometheus."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from millstream_runtime.service import Health, Service


@asynccontextmanager
async def serve_http(
    services: Sequence[Service], registry: CollectorRegistry, host: str, port: int
) -> AsyncIterator[tuple[str, int]]:
    """Serve while the context lasts; yields the address. Raises OSError (port in use)."""

    async def healthz(request: web.Request) -> web.Response:
        return _report(services, lambda health: health.healthy)

    async def readyz(request: web.Request) -> web.Response:
        return _report(services, lambda health: health.ready)

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield runner.addresses[0][:2]
    finally:
        await runner.cleanup()


def _report(services: Sequence[Service], well: Callable[[Health], bool]) -> web.Response:
    """One line per service; 503 unless all are well."""
    states = [(service.name, service.health()) for service in services]
    lines = [f"{name} {'ok' if well(health) else 'not ok'} {health.detail}".rstrip() for name, health in states]
    status = 200 if all(well(health) for _, health in states) else 503
    return web.Response(text="\n".join(lines) + "\n", status=status)
