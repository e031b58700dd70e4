"""No right too many and none too few: each is taken from somebody who has all the others, and the call that needs it has to be refused.

The rules are those of the Roles as they are installed; the calls are the operator's and the controllers' own, in a namespace that nobody looks after.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from gateway import define_routes
from kubectl import Cluster, make_namespace
from kubelet import NAMESPACE as INSTALLED
from kubelet import RELEASE
from kubernetes.aio import client as api
from kubernetes.aio import config
from product import CHART
from scene import Scene

from millstream_cluster.ids import Role
from millstream_controller.shell.kubernetes_api import KubernetesApi
from millstream_controller.shell.slot_objects import Conflict, Denied, Forbidden
from millstream_operator.kube import claims, events, scales
from millstream_operator.kube.events import Event
from millstream_operator.kube.finalizer import let_go
from millstream_operator.kube.objects import PLURALS, KubernetesError, Objects
from millstream_operator.kube.secrets import secret_manifest
from millstream_operator.plan.claims import Claim
from millstream_operator.plan.cluster import plan_cluster
from millstream_operator.plan.remains import manifest_of, remains_of
from millstream_operator.plan.workload import Workload
from millstream_operator.reconcile.cluster import OWNED, PRUNED
from millstream_operator.reconcile.resource import API_VERSION
from millstream_operator.resources.identity import ClusterIdentity

NAMESPACE = "rights"
ALL = "has-all"
KNOWN_S_MAX = 60

Right = tuple[str, str]
"""A resource with its group behind it, and a verb."""
Call = Callable[[api.ApiClient], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Use:
    needs: tuple[Right, ...]
    call: Call


def rights_of(rules: Iterable[Mapping[str, Any]]) -> tuple[Right, ...]:
    found = {
        (f"{resource}.{group}" if group else resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    return tuple(sorted(found))


def rule_of(right: Right) -> dict[str, list[str]]:
    resource, _, group = right[0].partition(".")
    return {"apiGroups": [group], "resources": [resource], "verbs": [right[1]]}


def of(resource: str, *verbs: str) -> tuple[Right, ...]:
    return tuple((resource, verb) for verb in verbs)


def of_objects(needs: Sequence[Right], call: Callable[[Objects], Awaitable[object]]) -> Use:
    return Use(tuple(needs), lambda client: call(Objects(client)))


def of_slots(verb: str, call: Callable[[KubernetesApi], Awaitable[object]]) -> Use:
    def through(client: api.ApiClient) -> Awaitable[object]:
        return call(KubernetesApi(client, api.CustomObjectsApi(client), namespace=NAMESPACE, cluster="c"))

    return Use(of("metadataslots.millstream.dev", verb), through)


# ---- who calls what ----


def path(resource: str) -> str:
    name, _, group = resource.partition(".")
    return (
        f"/apis/{group}/v1alpha1/namespaces/{NAMESPACE}/{name}" if group else f"/api/v1/namespaces/{NAMESPACE}/{name}"
    )


async def watch(objects: Objects, resource: str) -> None:
    """As kopf does it, but from a version that does not exist: so it ends at once."""
    await objects.call("GET", path(resource), [("watch", "true"), ("resourceVersion", "none")])


def looked_after(kind: str) -> Iterator[Use]:
    """A kind of ours: watched, listed, and told how it is."""
    resource = f"{PLURALS[kind]}.millstream.dev"
    status = f"{PLURALS[kind]}/status.millstream.dev"
    named = API_VERSION, kind, NAMESPACE, "nobody"
    yield of_objects(of(resource, "watch"), lambda objects: watch(objects, resource))
    yield of_objects(of(resource, "list"), lambda objects: objects.list(API_VERSION, kind, NAMESPACE))
    yield of_objects(of(resource, "get"), lambda objects: objects.get(*named))
    yield of_objects(
        of(status, "patch"), lambda objects: objects.merge_patch(*named, {"status": {}}, subresource="status")
    )


def held(kind: str) -> Use:
    """By a finalizer of 0.1.0."""
    body = {"metadata": {"namespace": NAMESPACE, "name": "nobody", "finalizers": []}}
    return of_objects(
        of(f"{PLURALS[kind]}.millstream.dev", "patch"), lambda objects: let_go(objects, API_VERSION, kind, body)
    )


def resource_of(api_version: str, kind: str) -> str:
    group = api_version.rpartition("/")[0]
    return f"{PLURALS[kind]}.{group}" if group else PLURALS[kind]


def applied(manifest: Mapping[str, Any], *more: Right) -> Use:
    """Owned by the Cluster, whose deletion waits for it."""
    resource = resource_of(manifest["apiVersion"], manifest["kind"])
    needs = (*of(resource, "create", "patch"), ("clusters/finalizers.millstream.dev", "update"), *more)
    return of_objects(needs, lambda objects: objects.apply(manifest))


def listed(api_version: str, kind: str) -> Use:
    resource = resource_of(api_version, kind)
    return of_objects(of(resource, "list"), lambda objects: objects.list(api_version, kind, NAMESPACE))


def deleted(api_version: str, kind: str) -> Use:
    named = api_version, kind, NAMESPACE, "nobody", "Background"
    return of_objects(of(resource_of(api_version, kind), "delete"), lambda objects: objects.delete(*named))


def scaled(kind: str) -> Iterator[Use]:
    resource = f"{PLURALS[kind]}/scale.apps"
    yield of_objects(of(resource, "get"), lambda objects: scales.scale_of(objects, kind, NAMESPACE, "nobody"))
    yield of_objects(of(resource, "patch"), lambda objects: scales.scale(objects, kind, NAMESPACE, "nobody", 1))


SLOTS = of("metadataslots.millstream.dev", "get", "list", "create", "update", "delete")


def of_the_operator(cluster: ClusterIdentity, spec: Mapping[str, Any]) -> Iterator[Use]:
    for kind in ("Cluster", "Topic", "ConsumerGroup", "User"):
        yield from looked_after(kind)
    for kind in ("Topic", "ConsumerGroup", "User"):
        yield held(kind)
    outside = {"type": "TLSRoute", "domain": "example.com", "port": 443, "gateway": {"name": "edge"}}
    workloads = dict.fromkeys(Role, Workload())
    wanted = {**spec, "externalListener": outside}
    manifests = plan_cluster(cluster, wanted, workloads, None, brokers=1, operator_namespace=INSTALLED)
    for kind in dict.fromkeys(each["kind"] for each in manifests):
        first = next(each for each in manifests if each["kind"] == kind)
        # Nobody may grant what he has not got.
        yield applied(first, *(SLOTS if kind in ("Role", "RoleBinding") else ()))
    yield from (listed(*each) for each in OWNED)
    yield from (deleted(*each) for each in PRUNED)
    yield deleted("apps/v1", "StatefulSet")
    metadata = {"name": "t", "namespace": NAMESPACE, "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    topic = {"metadata": metadata, "spec": {"deletionPolicy": "Delete"}}
    yield applied(manifest_of(remains_of("Topic", topic, cluster), cluster))
    yield listed(API_VERSION, "Remains")
    yield deleted(API_VERSION, "Remains")
    event = {"metadata": {"name": "c", "namespace": NAMESPACE, "uid": "u"}}
    yield of_objects(
        of("events", "create"), lambda objects: events.tell(objects, "Cluster", event, Event("Tried", "it is"), 0)
    )
    secret = secret_manifest({"name": "s", "namespace": NAMESPACE}, {})
    yield of_objects(of("secrets", "create"), lambda objects: objects.create(secret))
    yield of_objects(of("secrets", "patch"), lambda objects: objects.apply(secret))
    yield of_objects(of("secrets", "get"), lambda objects: objects.get("v1", "Secret", NAMESPACE, "s"))
    claim = Claim(0, "nobody", "u", "1Gi")
    resource = "persistentvolumeclaims"
    yield of_objects(of(resource, "list"), lambda objects: claims.list_claims(objects, NAMESPACE, "a=b"))
    yield of_objects(of(resource, "patch"), lambda objects: claims.grow(objects, NAMESPACE, claim, "2Gi"))
    yield of_objects(of(resource, "delete"), lambda objects: claims.release(objects, NAMESPACE, claim))
    yield listed("v1", "Pod")
    yield deleted("v1", "Pod")
    yield of_objects(of("pods", "watch"), lambda objects: watch(objects, "pods"))
    yield from scaled("Deployment")
    yield from scaled("StatefulSet")


def of_the_controllers() -> Iterator[Use]:
    body = {
        "apiVersion": API_VERSION,
        "kind": "MetadataSlot",
        "metadata": {"name": "c-slot-00", "namespace": NAMESPACE, "resourceVersion": "1"},
    }
    yield of_slots("list", lambda slots: slots.list("slot"))
    yield of_slots("get", lambda slots: slots.get("c-slot-00"))
    yield of_slots("create", lambda slots: slots.create(body))
    yield of_slots("update", lambda slots: slots.replace("c-slot-00", body))
    yield of_slots("delete", lambda slots: slots.delete("c-slot-00"))


def of_the_uninstall() -> Iterator[Use]:
    yield deleted("apps/v1", "Deployment")
    yield listed("v1", "Pod")
    for kind in ("Topic", "ConsumerGroup", "User"):
        yield listed(API_VERSION, kind)
        yield held(kind)
    yield of_objects(
        of("clusters.millstream.dev", "get"), lambda objects: objects.get(API_VERSION, "Cluster", NAMESPACE, "nobody")
    )
    yield deleted(API_VERSION, "Cluster")
    yield listed(API_VERSION, "MetadataSlot")
    yield deleted(API_VERSION, "MetadataSlot")


# ---- who is refused what ----


class Users:
    """One who has all of these rights, and for each right one who lacks just that."""

    def __init__(self, place: Cluster, role: str, rights: Sequence[Right]) -> None:
        self._place = place
        self._role = role
        self._rights = rights
        self.all = f"{role}-{ALL}"

    def lacking(self, right: Right) -> str:
        return f"{self._role}-lacks-{self._rights.index(right)}"

    def make(self) -> None:
        items = [each for right in self._rights for each in self._user(self.lacking(right), right)]
        items += self._user(self.all, None)
        self._place.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def _user(self, name: str, lacked: Right | None) -> list[dict[str, Any]]:
        api_group = "rbac.authorization.k8s.io"
        rules = [rule_of(right) for right in self._rights if right != lacked]
        return [
            {"apiVersion": f"{api_group}/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules},
            {
                "apiVersion": f"{api_group}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": api_group, "kind": "Role", "name": name},
                "subjects": [{"apiGroup": api_group, "kind": "User", "name": name}],
            },
        ]


async def is_refused(client: api.ApiClient, user: str, call: Call) -> bool:
    client.set_default_header("Impersonate-User", user)  # type: ignore[no-untyped-call]
    try:
        await call(client)
    except KubernetesError as error:
        return error.status == 403
    except Denied:
        return True
    except (Conflict, Forbidden):
        return False
    return False


async def judged(users: Users, uses: Sequence[Use]) -> list[str]:
    """What is not as it should be."""
    await config.load_kube_config()  # type: ignore[no-untyped-call]
    wrong = []
    async with api.ApiClient() as client:
        deadline = time.monotonic() + KNOWN_S_MAX
        # The last that was made: the API server hears of Roles and bindings a moment later, in order.
        while await is_refused(client, users.all, next(use.call for use in uses if len(use.needs) == 1)):
            assert time.monotonic() < deadline, "the API server does not know the rights"
            await asyncio.sleep(0.05)
        for use in uses:
            for right in use.needs:
                if not await is_refused(client, users.lacking(right), use.call):
                    wrong.append(f"goes without: {right}")
            if await is_refused(client, users.all, use.call):
                wrong.append(f"is refused to who has all: {use.needs}")
    return wrong


@pytest.fixture(scope="module")
def place(scene: Scene) -> Iterator[Cluster]:
    place = Cluster(NAMESPACE)
    make_namespace(place, NAMESPACE)
    define_routes(place)
    manifest = {"apiVersion": API_VERSION, "kind": "Cluster", "metadata": {"name": "c"}, "spec": scene.resource["spec"]}
    place.apply(manifest)
    yield place
    place.run("kubectl", "delete", "namespace", NAMESPACE, "--wait=false")


def check(place: Cluster, role: str, rules: Iterable[Mapping[str, Any]], uses: Sequence[Use]) -> None:
    rights = rights_of(rules)
    assert {right for use in uses for right in use.needs} == set(rights), "what is granted is what is called"
    users = Users(place, role, rights)
    users.make()
    assert asyncio.run(judged(users, uses)) == []


def test_the_operators_rights(scene: Scene, place: Cluster) -> None:
    role, cluster = scene.cluster.get("role", f"{INSTALLED}-{RELEASE}-operator"), place.get("cluster", "c")
    assert role is not None
    assert cluster is not None
    check(place, "operator", role["rules"], [*of_the_operator(ClusterIdentity.of(cluster), cluster["spec"])])


def test_the_controllers_rights(scene: Scene, place: Cluster) -> None:
    role = scene.cluster.get("role", f"{RELEASE}-controller")
    assert role is not None
    check(place, "controller", role["rules"], [*of_the_controllers()])


def test_the_rights_of_an_uninstall(scene: Scene, place: Cluster) -> None:
    words = ("template", RELEASE, CHART, "--kube-version=1.33.0", "--show-only=templates/uninstall.yaml")
    [role] = [each for each in yaml.safe_load_all(scene.cluster.helm(*words)) if each["kind"] == "Role"]
    check(place, "uninstall", role["rules"], [*of_the_uninstall()])
