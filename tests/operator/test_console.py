"""The console as a value of the chart: a pod that needs nothing of Kubernetes, and lets in whom the cluster lets in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from console_page import ConsolePage
from kubectl import ROOT
from kubelet import RELEASE
from scene import Scene

CHART = str(ROOT / "charts/millstream")
SERVICE = f"{RELEASE}-console"


@pytest.fixture
def page(scene: Scene) -> Iterator[ConsolePage]:
    _upgrade(scene, enabled=True)
    service = scene.cluster.get("service", SERVICE)
    assert service is not None
    selector = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
    [pod] = scene.wait_until("the console is ready", lambda: scene.cluster.ready_pods(selector) or None, timeout_s=60)
    [port] = service["spec"]["ports"]
    yield ConsolePage(f"http://{scene.nodes.running(pod['metadata']['name']).address}:{port['port']}")
    _upgrade(scene, enabled=False)
    scene.wait_until("the console is gone", lambda: not scene.cluster.list("pods", selector), timeout_s=60)


def _upgrade(scene: Scene, *, enabled: bool) -> None:
    value = f"console.enabled={str(enabled).lower()},console.readOnly=true"
    scene.cluster.helm("upgrade", RELEASE, CHART, "--reuse-values", "--set", value, "--timeout", "200s")


def test_a_user_of_the_cluster_logs_in_and_sees_what_its_acls_let_it_see(scene: Scene, page: ConsolePage) -> None:
    user, password = (scene.librdkafka[f"sasl.{key}"] for key in ("username", "password"))
    assert page.ask("/api/topics").code == "NOT_LOGGED_IN"
    assert page.send("login", user=user, password="wrong").code == "SASL_AUTHENTICATION_FAILED"
    page.token = page.post("login", user=user, password=password)["token"]
    session = page.get("session")
    assert (session["user"], session["read_only"], session["mechanisms"]) == (user, True, ["SCRAM-SHA-512"])
    brokers = [each["node_id"] for each in page.get("brokers")["rows"]]
    assert len(brokers) == len(scene.uids("broker"))
    assert page.send("messages/send", topic="orders", value=None).code == "READ_ONLY"
    assert page.ask("/api/users").code == "CLUSTER_AUTHORIZATION_FAILED"
