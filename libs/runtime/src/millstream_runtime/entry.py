"""The command line of a container: `python -m millstream_broker.main --config FILE --set key=value`, one for all services."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from millstream_cluster.configs import BROKER_CONFIGS
from millstream_runtime.process import configure_logging, run_services
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.service import Service
from millstream_runtime.world import World

EXIT_USAGE = 2
ANY_ADDRESS = "0.0.0.0"
HTTP_PORT = 9095

Build = Callable[[World], Service]


def run_service(program: str, prepare: Callable[[Properties], Build], arguments: Sequence[str] | None = None) -> int:
    """Read the properties, let `prepare` check them into a config, run the service it builds; the exit code.

    http.host and http.port say where /healthz, /readyz and /metrics are served.
    """
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--config", type=Path, metavar="FILE", help="a file of properties")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one property; repeatable")
    parser.add_argument("--log-level", default="INFO", metavar="LEVEL")
    options = parser.parse_args(arguments)
    configure_logging(options.log_level)
    try:
        properties = Properties.read(options.config, options.set)
        build = prepare(properties)
        host = properties.text("http.host", ANY_ADDRESS)
        port = properties.integer("http.port", HTTP_PORT, least=0, most=65535)
        properties.refuse_unknown(BROKER_CONFIGS)
    except PropertyError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return EXIT_USAGE
    services: list[Service] = []

    def build_all(world: World) -> Sequence[Service]:
        services.append(build(world))
        return services

    def announce() -> None:
        places = ",".join(f"{host}:{port}" for host, port in services[0].listeners.values())
        print(f"{services[0].name} ready on {places}", flush=True)

    return run_services(build_all, http_address=(host, port), on_ready=announce)
