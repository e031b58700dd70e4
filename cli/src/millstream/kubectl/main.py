"""`kubectl millstream COMMAND ...`, by being on the PATH: any command that asks a cluster, of the current context and namespace.

Inside of Kubernetes brokers are reached by their names; elsewhere through `kubectl port-forward`, a process for each pod.
"""

import argparse
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from millstream.commands.command import EXIT_FAILED, run_command
from millstream.commands.connection import Found
from millstream.commands.profiles import BOOTSTRAP
from millstream.kubectl.asking import Kubectl
from millstream.kubectl.target import Target, doors_of, properties_in, target_of
from millstream.main import command_parser
from millstream_client.addresses import parse_bootstrap
from millstream_client.errors import InvalidData, KafkaError

_NAMED = ("bootstrap", "command_config", "profile")


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    options = command_parser().parse_args(asked.command)
    try:
        if not hasattr(options, "found"):
            raise InvalidData(f"{options.command} asks no cluster: use millstream {options.command}")
        if any(getattr(options, each, None) is not None for each in _NAMED):
            raise InvalidData("Kubernetes says where the cluster is: for another address use millstream")
        with _found(asked) as options.found:
            return run_command(options)
    except KafkaError as error:
        print(f"kubectl millstream: {error}", file=sys.stderr)
        return EXIT_FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kubectl millstream", description="millstream COMMAND, for a cluster that Kubernetes knows."
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="of the Cluster, or of the User; default: the context's"
    )
    parser.add_argument("--context", metavar="NAME", help="as kubectl takes it")
    parser.add_argument("--kubeconfig", metavar="FILE", help="as kubectl takes it")
    parser.add_argument("--cluster", metavar="NAME", help="default: the only one in the namespace")
    parser.add_argument("--user", metavar="NAME", help="the User to log in as; default: the only one in the namespace")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ...", help="as millstream takes it")
    return parser


@contextmanager
def _found(asked: argparse.Namespace) -> Iterator[Found]:
    flags = [f"--{each}={value}" for each in ("context", "kubeconfig") if (value := getattr(asked, each)) is not None]
    kubectl = Kubectl(flags)
    namespace = asked.namespace
    target = target_of(
        namespace,
        kubectl.items("clusters.millstream.dev", namespace),
        kubectl.items("users.millstream.dev", namespace),
        cluster=asked.cluster,
        user=asked.user,
    )
    properties = _properties(kubectl, target, namespace)
    [first, *_] = parse_bootstrap(properties[BOOTSTRAP])
    if _is_known(first[0]):
        yield Found(properties, {})
        return
    selector = f"millstream.dev/cluster={target.cluster},millstream.dev/role in (broker,coordinator)"
    doors = doors_of(kubectl.items("pods", target.namespace, selector), properties[BOOTSTRAP])
    if not doors:
        raise InvalidData(f"no pod of Cluster {target.cluster} is ready")
    with kubectl.forwarded(doors, target.namespace) as reached_at:
        [any_broker, *_] = (at for (_, port), at in reached_at.items() if port == first[1])
        yield Found(properties, {first: any_broker, **reached_at})


def _properties(kubectl: Kubectl, target: Target, namespace: str | None) -> dict[str, str]:
    if target.secret is not None:
        return properties_in(kubectl.one("secret", target.secret, namespace))
    return {BOOTSTRAP: target.bootstrap or ""}


def _is_known(host: str) -> bool:
    """Whether a name means something here, as the cluster's names do inside of Kubernetes."""
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
