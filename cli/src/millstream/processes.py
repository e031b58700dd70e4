"""A cluster's processes on this machine: what each is called, is told and listens on. Decides; starts nothing."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from millstream.roles import ON_ONE_MACHINE, Role, listener_name
from millstream_wire.late_dataclass import dataclass

LOOPBACK = "127.0.0.1"
CONFIG_FILE = "node.properties"
FIRST_LOGINS_FILE = "first-logins"


@dataclass(frozen=True, slots=True)
class PlannedProcess:
    name: str
    role: Role
    directory: Path
    host: str
    port: int
    properties: Mapping[str, str] = field(repr=False)
    first_logins: Path | None = None
    """A file with the credentials that a new cluster begins with, which controllers are told."""

    @property
    def config(self) -> Path:
        return self.directory / CONFIG_FILE

    @property
    def command(self) -> list[str]:
        """Starts it again, from anywhere."""
        return [
            sys.executable,
            "-m",
            "millstream.main",
            "node",
            "--config",
            str(self.config),
            "--data",
            str(self.directory),
            *(["--add-scram", f"@{self.first_logins}"] if self.first_logins is not None else []),
        ]

    def config_text(self) -> str:
        return "".join(f"{key}={value}\n" for key, value in self.properties.items())


def plan_processes(
    counts: Mapping[Role, int],
    ports: Sequence[int],
    data_dir: Path,
    settings: Mapping[str, str],
    host_of: Callable[[str], str] = lambda name: LOOPBACK,
    racks: Sequence[str] = (),
    has_first_logins: bool = False,
) -> list[PlannedProcess]:
    """`ports`: two per process, its listener's and HTTP's; brokers come first so that they get the lowest.

    `racks` are given to brokers in turn.
    """
    roles = (Role.BROKER, Role.CONTROLLER, Role.COORDINATOR)
    order = [(role, number) for role in roles for number in range(1, counts[role] + 1)]
    listeners, https = ports[: len(order)], ports[len(order) :]
    placed = [
        (f"{role}-{number}", role, number, port, http_port)
        for (role, number), port, http_port in zip(order, listeners, https, strict=True)
    ]
    controllers = ",".join(f"{host_of(name)}:{port}" for name, role, _, port, _ in placed if role is Role.CONTROLLER)
    planned = []
    for name, role, number, port, http_port in placed:
        own = {
            "process.roles": str(role),
            "node.id": str(number),
            "listeners": f"{listener_name(role, settings)}://{host_of(name)}:{port}",
            "http.port": str(http_port),
            "controller.bootstrap.servers": controllers,
        }
        if role is Role.CONTROLLER:
            own["controller.store"] = f"file:{data_dir / 'controller-store'}"
        if role is Role.BROKER:
            own["log.dirs"] = str(data_dir / name / "logs")
            if racks:
                own["broker.rack"] = racks[(number - 1) % len(racks)]
        properties = {**ON_ONE_MACHINE, **own, **settings}
        logins = data_dir / name / FIRST_LOGINS_FILE if has_first_logins and role is Role.CONTROLLER else None
        planned.append(PlannedProcess(name, role, data_dir / name, host_of(name), port, properties, logins))
    return planned
