"""One operating-system process: its log, its signals, its services until somebody says stop."""

from collections.abc import Callable, Sequence

from millstream_runtime.service import Service


def configure_logging(level: str = "INFO") -> None:
    """Log one line per event to stderr: `time level logger event key=value`."""


def run_services(
    services: Sequence[Service],
    *,
    http_address: tuple[str, int] | None,
    shutdown_timeout_ms: int = 30_000,
    on_ready: Callable[[], None] | None = None,
) -> int:
    """Run until SIGTERM or SIGINT, shut down cleanly within the timeout (a second signal: at once); the exit code.

    A service that ends or raises ends the process: ServiceFailed and OSError are one line and exit code 1.
    """
    raise NotImplementedError
