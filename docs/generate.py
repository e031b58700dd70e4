"""Writes the documents that are made from the code: `make docs`. A test fails when they no longer say what the code does."""

import sys
from collections.abc import Iterable
from pathlib import Path

from millstream.commands.tree import Command, command_tree
from millstream.main import command_parser
from millstream_broker.api import HANDLERS as BROKER
from millstream_cluster.configs import BROKER_CONFIGS, CLIENT_METRICS_CONFIGS, GROUP_CONFIGS, TOPIC_CONFIGS, ConfigKey
from millstream_cluster.configs.key import UpdateMode
from millstream_cluster.records import ResourceType
from millstream_controller.api import HANDLERS as CONTROLLER
from millstream_controller.api import UNADVERTISED as BETWEEN_CONTROLLERS
from millstream_coordinator.api import HANDLERS as COORDINATOR
from millstream_coordinator.api import UNADVERTISED as TO_COORDINATORS
from millstream_wire.api import ApiKey
from millstream_wire.table import render

HERE = Path(__file__).parent
GENERATED = "Made from the code by `make docs`; do not edit.\n"


def compatibility() -> str:
    served = {
        "Broker": set(BROKER) | {ApiKey.API_VERSIONS},
        "Coordinator": set(COORDINATOR) | {ApiKey.API_VERSIONS},
        "Controller": set(CONTROLLER) | {ApiKey.API_VERSIONS},
    }
    between_nodes = {*BETWEEN_CONTROLLERS, *TO_COORDINATORS}
    internal = ", ".join(sorted(key.name for key in between_nodes))
    return (
        f"# Compatibility\n\n{GENERATED}\n"
        "Which of Kafka's APIs each kind of node answers, and in which versions. What a node does not answer it does not advertise.\n"
        "A broker answers what belongs to groups and transactions with NOT_COORDINATOR: some clients take one node's list for all.\n"
        "A coordinator answers Produce with NOT_LEADER_OR_FOLLOWER: old producers stop at a node that does not offer it.\n"
        f"Only nodes of the cluster send to each other: {internal}.\n\n{render(served)}"
    )


def configuration() -> str:
    return (
        f"# Configuration\n\n{GENERATED}\n"
        "Topic configs are set with the topic, by Kafka's tools or in a Topic resource; broker configs with `--set`, in a properties\n"
        "file, or in the Cluster resource; group configs by `kafka-configs --entity-type groups` or in a ConsumerGroup resource, for groups\n"
        "that need not be there yet. Broker configs that are not read at the start only may be changed while brokers run, with\n"
        "`kafka-configs --entity-type brokers`. Where Kafka has a name for something, it is Kafka's.\n\n"
        f"## Topics\n\n{_table(TOPIC_CONFIGS.values())}\n## Groups\n\n{_table(GROUP_CONFIGS.values())}\n"
        f"## Client metrics\n\n{_table(CLIENT_METRICS_CONFIGS.values())}\n## Brokers\n\n{_table(BROKER_CONFIGS.values())}"
    )


def _table(keys: Iterable[ConfigKey]) -> str:
    rows = ["| name | type | default | meaning |\n", "| --- | --- | --- | --- |\n"]
    for key in sorted(keys, key=lambda key: key.name):
        default = "" if key.default is None else f"`{key.default}`" if key.default else "empty"
        when = " Read at the start." if _is_read_once(key) else ""
        rows.append(f"| `{key.name}` | {key.type.name.lower()} | {default} | {key.doc}{when} |\n")
    return "".join(rows)


def _is_read_once(key: ConfigKey) -> bool:
    return key.resource_type is ResourceType.BROKER and key.update_mode is UpdateMode.READ_ONLY


def commands() -> str:
    shown = [
        each
        for each in command_tree(command_parser()).walk()
        if each.path and not (each.actions and not each.arguments)
    ]
    return (
        f"# Commands\n\n{GENERATED}\n"
        "What each command of `millstream` takes; [command-line.md](command-line.md) shows them at work. Exit codes: 0 done, 1 refused or not\n"
        "there, 2 not understood, 3 nobody answers, 4 the answer is not what one would like (`health`, `check`, `lag --max`), 130 interrupted.\n\n"
        + "\n".join(map(_command, shown))
    )


def _command(command: Command) -> str:
    places = [each.names[0] for each in command.arguments if not each.is_option]
    rows = [
        f"| `{', '.join(each.names)}{f' {each.value}' if each.value else ''}` | {each.help.replace('|', chr(92) + '|')} |\n"
        for each in command.arguments
        if each.help or each.is_option
    ]
    table = "\n| | |\n| --- | --- |\n" + "".join(rows) if rows else ""
    return f"## millstream {' '.join([*command.path, *places])}\n\n{command.help}\n{table}"


DOCUMENTS = {"commands.md": commands, "compatibility.md": compatibility, "configuration.md": configuration}


def main() -> int:
    for name, make in DOCUMENTS.items():
        (HERE / name).write_text(make())
        print(f"docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
