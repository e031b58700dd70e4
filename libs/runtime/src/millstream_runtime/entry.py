"""The command line of a container: `python -m millstream_broker.main --config FILE --set key=value`, the same for every service."""

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


def run_service(
    program: str, prepare: Callable[[Properties], Callable[[World], Service]], arguments: Sequence[str]
) -> int:
    """Read the properties, let `prepare` check them into a config, run the service it builds; the exit code.

    def prepare(properties: Properties) -> Callable[[World], BrokerApp]:
        config = BrokerConfig.from_properties(properties)
        return lambda world: BrokerApp(config, world)
    """
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--config", type=Path, metavar="FILE", help="Kafka-style properties")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one property; wins over the file"
    )
    parser.add_argument("--log-level", default="INFO", metavar="LEVEL")
    options = parser.parse_args(arguments)
    configure_logging(options.log_level)
    try:
        properties = Properties.read(options.config, options.set)
        build = prepare(properties)
        http_address = http_address_of(properties)
        properties.refuse_unknown(BROKER_CONFIGS)
    except PropertyError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return EXIT_USAGE
    built: list[Service] = []

    def build_all(world: World) -> Sequence[Service]:
        built.append(build(world))
        return built

    return run_services(build_all, http_address=http_address, on_ready=lambda: _announce(built[0]))


def http_address_of(properties: Properties) -> tuple[str, int] | None:
    """http.port: where /healthz, /readyz and /metrics are served; nowhere if it is not set."""
    port = properties.optional("http.port")
    return None if port is None else (ANY_ADDRESS, properties.integer("http.port", least=0, most=65535))


def _announce(service: Service) -> None:
    places = ",".join(f"{host}:{port}" for host, port in service.listeners.values())
    print(f"{service.name} ready on {places}", flush=True)
