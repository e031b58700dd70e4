"""Nodes without containers: each pod is a process of this machine, with the pod's own command, service account and volume.

Everything above it is Kubernetes itself: API server, admission, StatefulSets, Jobs, garbage collection, budgets, rights. So the operator
and the cluster that it makes are the real ones, and only what a container would keep apart is missing. Pods get loopback addresses
of their own and find each other by /etc/hosts (`hosts`), which `run` puts in place for this test alone.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kubernetes import client

NAMESPACE = "operator-test"
RELEASE = "millstream"
ROLES = ("broker", "controller", "coordinator")
PODS_MAX = 6
DATA = "/var/lib/millstream"
ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"
LOOK_S = 0.2
LEASE_S = 10.0
API_SERVER = "127.20.8.1"
"""Where `kubernetes.default.svc` is."""
NODES = "127.20.7.1"
"""Where the nodes take what comes from outside (`node_ports`)."""


def address_of(pod: str) -> str:
    """Of a pod of the cluster, by its name."""
    role, ordinal = pod.removeprefix(f"{RELEASE}-").rsplit("-", 1)
    return f"127.20.{ROLES.index(role)}.{10 + int(ordinal)}"


def hosts() -> str:
    """What the cluster's DNS would say; the bootstrap Service's name means every broker."""
    lines = ["127.0.0.1 localhost", f"{API_SERVER} kubernetes.default.svc"]
    for role in ROLES:
        for ordinal in range(PODS_MAX):
            pod = f"{RELEASE}-{role}-{ordinal}"
            names = [f"{pod}.{RELEASE}-{role}.{NAMESPACE}.svc"]
            names += [f"{RELEASE}-bootstrap.{NAMESPACE}.svc"] if role == "broker" else []
            lines.append(f"{address_of(pod)} {' '.join(names)}")
    return "\n".join(lines) + "\n"


@dataclass
class Running:
    process: subprocess.Popen[bytes]
    address: str
    node: str
    asked_to_stop: bool = False
    told: dict[str, Any] = field(default_factory=dict)


class Nodes:
    """Some nodes, one zone each. A context manager: what it started ends with it."""

    def __init__(self, core: client.CoreV1Api, directory: Path, images: set[str], count: int = 3) -> None:
        self.images = images
        """Those that can be pulled."""
        self._core = core
        self._directory = directory
        self._names = [f"node-{number}" for number in range(1, count + 1)]
        self._lost: set[str] = set()
        self._running: dict[str, Running] = {}
        """By the pod's uid."""
        self._home: dict[str, str] = {}
        """The node of a claim: a local volume binds its pod to it."""
        self._placed: dict[str, tuple[str, str]] = {}
        """Node and kind of each pod, by its uid."""
        self._next_address = 10
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.trouble: BaseException | None = None

    @contextlib.contextmanager
    def started(self) -> Iterator[Nodes]:
        for name in self._names:
            self._register(name)
        door = f"TCP-LISTEN:443,bind={API_SERVER},fork,reuseaddr"
        service = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "socat", door, f"TCP:{':'.join(self._api_server().values())}"]
        )
        self._thread.start()
        try:
            yield self
        finally:
            service.kill()
            service.wait()
            self._stop.set()
            self._thread.join()
            for each in self._running.values():
                each.process.kill()
                each.process.wait()

    @contextlib.contextmanager
    def node_ports(self) -> Iterator[None]:
        """Passes on what comes to the ports of Services at `NODES`, as kube-proxy does; to the first broker, where any would do."""
        with contextlib.ExitStack() as stack:
            for service in self._core.list_namespaced_service(NAMESPACE).items:
                for port in service.spec.ports:
                    if port.node_port:
                        selector = service.spec.selector
                        pod = selector.get("statefulset.kubernetes.io/pod-name", f"{RELEASE}-broker-0")
                        door = f"TCP-LISTEN:{port.node_port},bind={NODES},fork,reuseaddr"
                        process = subprocess.Popen(["socat", door, f"TCP:{address_of(pod)}:{port.port}"])
                        stack.callback(process.wait)
                        stack.callback(process.kill)
            yield

    def logs_like(self, name: str) -> list[str]:
        """Of every process whose pod's name has that in it."""
        return [path.read_text() for path in sorted(self._directory.glob(f"*{name}*.log"))]

    def running(self, name: str) -> Running:
        """The process of the pod with that in its name."""
        [pod] = [each for each in self._core.list_namespaced_pod(NAMESPACE).items if name in each.metadata.name]
        return self._running[pod.metadata.uid]

    def metrics_of(self, name: str) -> str:
        """What that pod tells Prometheus."""
        with urllib.request.urlopen(f"http://{self.running(name).address}:9095/metrics", timeout=5) as answer:
            return str(answer.read().decode())

    def processor_s(self, name: str) -> float:
        """What the process of that pod has used so far."""
        # Behind the name in brackets: user and system time are the 14th and 15th field.
        words = Path(f"/proc/{self.running(name).process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def send(self, pod: str, number: signal.Signals) -> None:
        with self._lock:
            found = self._core.read_namespaced_pod(pod, NAMESPACE)
            self._running[found.metadata.uid].process.send_signal(number)

    def wipe(self, *pods: str) -> None:
        """Their disks are empty before any of them begins again."""
        with self._lock:
            found = [self._core.read_namespaced_pod(pod, NAMESPACE) for pod in pods]
            running = [self._running[pod.metadata.uid].process for pod in found]
            for process in running:
                process.kill()
            for process in running:
                process.wait()
            for pod in found:
                for each in self._claim_directory(self._claim(pod)).iterdir():
                    shutil.rmtree(each) if each.is_dir() else each.unlink()

    def lose(self, node: str) -> None:
        """Without a word, as by a loss of power."""
        with self._lock:
            self._lost.add(node)
            for uid in [uid for uid, each in self._running.items() if each.node == node]:
                gone = self._running.pop(uid)
                gone.process.kill()
                gone.process.wait()

    def find(self, node: str) -> None:
        with self._lock:
            self._lost.discard(node)

    def node_of(self, pod: str) -> str:
        return str(self._core.read_namespaced_pod(pod, NAMESPACE).spec.node_name)

    def _register(self, name: str) -> None:
        zone = {"topology.kubernetes.io/zone": name.replace("node", "zone"), "kubernetes.io/hostname": name}
        self._core.create_node({"metadata": {"name": name, "labels": zone}})
        now = _now()
        condition = {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now}
        self._core.patch_node_status(name, {"status": {"conditions": [condition | {"lastTransitionTime": now}]}})

    def _run(self) -> None:
        leased_s = 0.0
        try:
            while not self._stop.wait(LOOK_S):
                if time.monotonic() - leased_s > LEASE_S:
                    leased_s = time.monotonic()
                    self._renew()
                pods = self._core.list_namespaced_pod(NAMESPACE).items
                with self._lock:
                    for pod in pods:
                        self._look_at(pod)
                    self._end_orphans({pod.metadata.uid for pod in pods})
        except BaseException as error:
            self.trouble = error
            raise

    def _renew(self) -> None:
        leases = client.CoordinationV1Api(self._core.api_client)
        spec = {
            "holderIdentity": "test",
            "leaseDurationSeconds": 40,
            "renewTime": datetime.now(UTC).replace(microsecond=1),
        }
        for name in set(self._names) - self._lost:
            body = {"metadata": {"name": name}, "spec": spec}
            try:
                leases.patch_namespaced_lease(name, "kube-node-lease", body)
            except client.ApiException as error:
                if error.status != 404:
                    raise
                leases.create_namespaced_lease("kube-node-lease", body)

    def _look_at(self, pod: Any) -> None:
        uid, node = pod.metadata.uid, pod.spec.node_name
        if node in self._lost or pod.status.phase in ("Succeeded", "Failed"):
            return
        running = self._running.get(uid)
        if pod.metadata.deletion_timestamp:
            self._end(pod, running)
        elif not node:
            self._bind(pod)
        elif pod.spec.containers[0].image not in self.images:
            self._tell(pod, "Pending", ready=False, state={"waiting": {"reason": "ImagePullBackOff"}})
        elif running is None:
            self._begin(pod)
        elif running.process.poll() is None:
            ready = _is_ready(pod.spec.containers[0], running.address)
            self._tell(pod, "Running", ready=ready, state={"running": {"startedAt": _now()}})
        elif pod.spec.restart_policy == "Never":
            done = running.process.returncode == 0
            self._tell(pod, "Succeeded" if done else "Failed", ready=False, state=_ended(running.process.returncode))
        else:
            self._tell(pod, "Running", ready=False, state={"waiting": {"reason": "CrashLoopBackOff"}})
            self._begin(pod)

    def _end(self, pod: Any, running: Running | None) -> None:
        uid = pod.metadata.uid
        if running is not None and running.process.poll() is None:
            if not running.asked_to_stop:
                running.process.send_signal(signal.SIGTERM)
                running.asked_to_stop = True
            return
        self._running.pop(uid, None)
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        with contextlib.suppress(client.ApiException):
            self._core.delete_namespaced_pod(pod.metadata.name, NAMESPACE, body=body)

    def _end_orphans(self, there: set[str]) -> None:
        self._placed = {uid: placed for uid, placed in self._placed.items() if uid in there}
        for uid in self._running.keys() - there:
            gone = self._running.pop(uid)
            gone.process.kill()
            gone.process.wait()

    def _bind(self, pod: Any) -> None:
        """Where the pod's volume is, else to the node with the fewest pods of its kind."""
        claim, labels = self._claim(pod), pod.metadata.labels or {}
        kind = labels.get("millstream.dev/role", "")
        node = self._home.get(claim)
        if node is None:
            placed = Counter(home for home, its_kind in self._placed.values() if its_kind == kind)
            node = min((name for name in self._names if name not in self._lost), key=lambda name: (placed[name], name))
        if node in self._lost:
            return
        if claim:
            self._home[claim] = node
        self._placed[pod.metadata.uid] = node, kind
        binding = client.V1Binding(
            metadata=client.V1ObjectMeta(name=pod.metadata.name),
            target=client.V1ObjectReference(kind="Node", name=node),
        )
        with contextlib.suppress(client.ApiException):
            self._core.create_namespaced_pod_binding(pod.metadata.name, NAMESPACE, binding, _preload_content=False)

    def _claim(self, pod: Any) -> str:
        """The uid of the pod's claim, empty where it has none."""
        for volume in pod.spec.volumes or ():
            if volume.persistent_volume_claim:
                name = volume.persistent_volume_claim.claim_name
                return str(self._core.read_namespaced_persistent_volume_claim(name, NAMESPACE).metadata.uid)
        return ""

    def _claim_directory(self, claim: str) -> Path:
        return self._directory / "claims" / claim

    def _begin(self, pod: Any) -> None:
        """As soon as there is what it mounts."""
        try:
            self._running[pod.metadata.uid] = self._start(pod, self._secrets(pod))
        except client.ApiException as error:
            if error.status != 404:
                raise

    def _secrets(self, pod: Any) -> dict[str, str]:
        """Directories with the files of Secrets, by where the pod looks for them."""
        mounts = {each.name: each.mount_path for each in pod.spec.containers[0].volume_mounts or ()}
        found = {}
        for volume in pod.spec.volumes or ():
            if volume.secret:
                secret = self._core.read_namespaced_secret(volume.secret.secret_name, NAMESPACE)
                directory = self._directory / "secrets" / pod.metadata.uid
                directory.mkdir(parents=True, exist_ok=True)
                wanted = {each.key: each.path for each in volume.secret.items or ()} or {
                    key: key for key in secret.data
                }
                for key, name in wanted.items():
                    (directory / name).write_bytes(base64.b64decode(secret.data[key]))
                found[mounts[volume.name]] = str(directory)
        return found

    def _start(self, pod: Any, replaced: dict[str, str]) -> Running:
        [container] = pod.spec.containers
        name = pod.metadata.name
        address = self._address(name)
        labels = pod.metadata.labels or {}
        known = {"POD_NAME": name, "NODE_ID": labels.get("apps.kubernetes.io/pod-index", "")}
        words = [sys.executable, *container.command[1:], *(container.args or ())]
        if "millstream_operator.main" in words:
            words.append(f"--set=http.host={address}")
        claim = self._claim(pod)
        if claim:
            directory = self._claim_directory(claim)
            directory.mkdir(parents=True, exist_ok=True)
            replaced = replaced | {DATA: str(directory)}
        replaced = replaced | {"0.0.0.0": address} | {f"$({key})": value for key, value in known.items()}
        for old, new in replaced.items():
            words = [word.replace(old, new) for word in words]
        log = self._directory / f"{name}.{int(time.time() * 1000)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    # With the test ends whatever it started.
                    *("setpriv", "--pdeathsig", "KILL"),
                    "unshare",
                    "--mount",
                    "sh",
                    "-c",
                    f'mount --bind "$0" {ACCOUNT} && exec "$@"',
                    self._account(pod),
                    *words,
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | known | self._api_server(),
                start_new_session=True,
            )
        return Running(process, address, pod.spec.node_name)

    def _address(self, name: str) -> str:
        try:
            return address_of(name)
        except ValueError:
            self._next_address += 1
            return f"127.20.9.{self._next_address}"

    def _account(self, pod: Any) -> str:
        """A directory with what the kubelet mounts into a pod that may have it."""
        directory = self._directory / "accounts" / pod.metadata.uid
        directory.mkdir(parents=True, exist_ok=True)
        if pod.spec.automount_service_account_token is not False:
            asked = {"spec": {"expirationSeconds": 3600, "audiences": []}}
            name = pod.spec.service_account_name or "default"
            token = self._core.create_namespaced_service_account_token(name, NAMESPACE, asked)
            (directory / "token").write_text(token.status.token)
            shutil.copy(self._core.api_client.configuration.ssl_ca_cert, directory / "ca.crt")
            (directory / "namespace").write_text(NAMESPACE)
        return str(directory)

    def _api_server(self) -> dict[str, str]:
        host, _, port = self._core.api_client.configuration.host.removeprefix("https://").partition(":")
        return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    def _tell(self, pod: Any, phase: str, *, ready: bool, state: dict[str, Any]) -> None:
        """Write the pod's status where it says something new."""
        before = {each.type: each.status for each in pod.status.conditions or ()}
        [was] = pod.status.container_statuses or [None]
        told = "" if was is None else next((key for key in state if getattr(was.state, key) is not None), "")
        status = "True" if ready else "False"
        if told and pod.status.phase == phase and before.get("Ready") == status:
            return
        [container] = pod.spec.containers
        container_status = {
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "ready": ready,
            "restartCount": 0,
            "state": state,
        }
        conditions = [
            {"type": type_, "status": status, "lastTransitionTime": _now()} for type_ in ("Ready", "ContainersReady")
        ]
        patch = {"status": {"phase": phase, "conditions": conditions, "containerStatuses": [container_status]}}
        with contextlib.suppress(client.ApiException):
            self._core.patch_namespaced_pod_status(pod.metadata.name, NAMESPACE, patch)


def _is_ready(container: Any, address: str) -> bool:
    """As its readiness probe finds out; who has none is ready."""
    if container.readiness_probe is None:
        return True
    asked = container.readiness_probe.http_get
    [port] = [each.container_port for each in container.ports if asked.port in (each.name, each.container_port)]
    try:
        with urllib.request.urlopen(f"http://{address}:{port}{asked.path}", timeout=1) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _ended(code: int) -> dict[str, Any]:
    return {"terminated": {"exitCode": max(code, 0), "reason": "Completed" if code == 0 else "Error"}}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
