"""One process with any of the roles: `millstream node`."""

import socket
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from millstream.builders import Build, builder_of
from millstream.late_console import LateConsole, WayIn
from millstream.late_service import LateService
from millstream.ports import check_free, free_ports, listen
from millstream.roles import CONSOLE_OFFSET, HTTP_OFFSET, PORTS, Place, Role, properties_of, roles_of
from millstream_cluster.configs import BROKER_CONFIGS
from millstream_cluster.records import MetadataRecord
from millstream_runtime.process import configure_logging, run_services
from millstream_runtime.properties import Properties, PropertyError, parse_file
from millstream_runtime.service import Service
from millstream_runtime.serving.door import Door
from millstream_runtime.world import World

EXIT_FAILED = 1
EXIT_USAGE = 2
DEFAULT_PORT = 9092
NODE_KEYS = ("process.roles", "http.port", "console.port")


def run_node(options: Namespace) -> int:
    configure_logging(options.log_level)
    try:
        settings = [*options.set, *([f"process.roles={options.roles}"] if options.roles else [])]
        given = Properties.read(options.config, settings)
        place = Place(options.host, _ports(options), options.data)
        roles = roles_of(given)
        told = {role: properties_of(role, roles, given, place) for role in roles}
        first_logins = _first_logins(options.add_scram)
        builders = _builders(told, given, first_logins)
        http_address = (options.host, given.integer("http.port", place.ports[HTTP_OFFSET], least=0, most=65535))
        check_free([*sorted({each.addresses("listeners")[0] for each in told.values()}), http_address])
        way_in = WayIn.of(told[Role.BROKER], options.host) if options.console and set(Role) <= told.keys() else None
        looked_at = _listen_for_console(options, given, place) if way_in is not None else None
    except PropertyError as error:
        print(f"millstream: {error}", file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f"millstream: {error.strerror or error}", file=sys.stderr)
        return EXIT_FAILED
    services: list[Service] = []

    def build(world: World) -> Sequence[Service]:
        for role, builder in builders.items():
            services.append(_built(role, builder, world, services))
        if way_in is not None and looked_at is not None:
            broker = next(each for each in services if each.name.startswith(Role.BROKER))
            services.append(LateConsole(looked_at, way_in, broker, world))
        return services

    def greet() -> None:
        print(_ready_line(services, given, options), flush=True)

    return run_services(build, http_address=http_address, on_ready=greet)


def _first_logins(arguments: Sequence[str]) -> Sequence[MetadataRecord]:
    if not arguments:
        return ()
    from millstream.first_logins import first_logins_of  # what few starts need

    return first_logins_of(arguments)


def _listen_for_console(options: Namespace, given: Properties, place: Place) -> socket.socket:
    """Now, since nobody else may take the port meanwhile."""
    port = given.integer("console.port", place.ports[CONSOLE_OFFSET], least=0, most=65535)
    try:
        return listen(options.host, port)
    except OSError as error:
        raise OSError(
            error.errno, f"{error.strerror} for the console: --set console.port=... or --no-console"
        ) from None


def _ports(options: Namespace) -> tuple[int, ...]:
    if options.port == 0:
        return tuple(free_ports(options.host, PORTS))
    base = options.port if options.port is not None else DEFAULT_PORT
    if not 0 < base <= 65535 - CONSOLE_OFFSET:
        raise PropertyError(f"--port must be between 0 and {65535 - CONSOLE_OFFSET}, not {base}")
    return tuple(range(base, base + PORTS))


def _built(role: Role, build: Build, world: World, others: Sequence[Service]) -> Service:
    """A broker beside it is ready before a coordinator is so much as imported: most clients want the broker first."""
    broker = next((each for each in others if each.name.startswith(Role.BROKER)), None)
    if role is not Role.COORDINATOR or broker is None:
        return build(world)
    return LateService(str(role), "millstream_coordinator.app", lambda: build(world), after=broker.ready)


def _builders(
    told: Mapping[Role, Properties], given: Properties, first_logins: Sequence[MetadataRecord]
) -> dict[Role, Build]:
    door = Door() if {Role.BROKER, Role.COORDINATOR} <= told.keys() else None
    builders = {role: builder_of(role, properties, door, first_logins) for role, properties in told.items()}
    known = {key for properties in told.values() for key in properties.known}
    given.refuse_unknown({*NODE_KEYS, *BROKER_CONFIGS, *known})
    return builders


def _ready_line(services: Sequence[Service], given: Properties, options: Namespace) -> str:
    """Where clients connect: the broker if this process is one, else whatever it is."""
    names = {service.name.partition("-")[0]: service for service in services}
    main = names.get(Role.BROKER, services[-1])
    host, port = next(iter(main.listeners.values()))
    about = [f"node {given.text('node.id', '0')}", f"data {options.data}"]
    console = names.get(LateConsole.name)
    if console is not None:
        about.append("console http://{}:{}".format(*console.listeners["HTTP"]))
    if main.name.startswith(Role.BROKER):
        directories = given.text("log.dirs", given.text("log.dir", str(options.data / "broker")))
        metas = [Path(path.strip()) / "meta.properties" for path in directories.split(",")]
        meta = next(path for path in metas if path.is_file())  # one of several may be missing
        about.append(f"cluster {parse_file(meta).get('cluster.id')}")
    return f"millstream ready on {host}:{port} ({', '.join(about)})"
