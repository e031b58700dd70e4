"""`kubectl millstream`: which cluster, as whom and by which doors, out of what Kubernetes says."""

import base64
from typing import Any

import pytest

from millstream.kubectl.target import Door, Target, doors_of, properties_in, target_of
from millstream_client.errors import InvalidData

BOOTSTRAP = "shop-bootstrap.team.svc:9092"


def cluster(name: str, *, secured: bool = True, bootstrap: str | None = BOOTSTRAP) -> dict[str, Any]:
    status = {} if bootstrap is None else {"bootstrap": bootstrap}
    return {"metadata": {"name": name}, "spec": {"security": {"enabled": secured}}, "status": status}


def user(name: str, cluster: str, **reference: str) -> dict[str, Any]:
    spec = {"clusterRef": {"name": cluster, **reference}}
    return {"metadata": {"name": name}, "spec": spec, "status": {"secret": f"{name}-secret"}}


def pod(name: str, advertised: str, *, ready: bool = True) -> dict[str, Any]:
    args = ["--set", "node.id=$(NODE_ID)", "--set", f"advertised.listeners={advertised}"]
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"args": args}]},
        "status": {"conditions": conditions},
    }


def secret(**files: str) -> dict[str, Any]:
    data = {name.replace("__", "."): base64.b64encode(text.encode()).decode() for name, text in files.items()}
    return {"metadata": {"name": "alice"}, "data": data}


@pytest.mark.parametrize(
    ("clusters", "users", "named", "expected"),
    [
        ([cluster("shop", secured=False)], [], {}, Target("shop", "team", BOOTSTRAP, None)),
        ([cluster("shop")], [user("alice", "shop")], {}, Target("shop", "team", None, "alice-secret")),
        (
            [cluster("shop"), cluster("lake")],
            [user("alice", "shop"), user("bob", "lake")],
            {"cluster": "lake"},
            Target("lake", "team", None, "bob-secret"),
        ),
        (
            [cluster("shop"), cluster("lake")],
            [user("alice", "shop"), user("bob", "lake")],
            {"user": "alice"},
            Target("shop", "team", None, "alice-secret"),
        ),
        # A tenant, whose cluster is in another namespace.
        ([], [user("alice", "shop", namespace="kafka")], {}, Target("shop", "kafka", None, "alice-secret")),
    ],
)
def test_what_there_is_one_of_need_not_be_named(
    clusters: list[Any], users: list[Any], named: dict[str, str], expected: Target
) -> None:
    asked = {"cluster": None, "user": None, **named}
    assert target_of("team", clusters, users, **asked) == expected


@pytest.mark.parametrize(
    ("clusters", "users", "named", "message"),
    [
        ([], [], {}, "which user"),
        ([], [], {"cluster": "shop"}, "there is no cluster shop .* none"),
        ([cluster("shop"), cluster("lake")], [], {}, "which cluster.*lake, shop"),
        ([cluster("shop")], [user("alice", "shop"), user("bob", "shop")], {}, "which user.*alice, bob"),
        ([cluster("shop")], [user("alice", "shop")], {"user": "eve"}, "there is no user eve .* alice"),
        ([cluster("shop", secured=False, bootstrap=None)], [], {}, "not started yet"),
        ([cluster("shop")], [{**user("alice", "shop"), "status": {}}], {}, "not ready yet"),
    ],
)
def test_what_there_is_none_or_more_of_is_asked_for(
    clusters: list[Any], users: list[Any], named: dict[str, str], message: str
) -> None:
    asked = {"cluster": None, "user": None, **named}
    with pytest.raises(InvalidData, match=message):
        target_of("team", clusters, users, **asked)


def test_doors_are_those_of_the_users_listener_on_pods_that_are_ready() -> None:
    own = "CLIENTS://$(POD_NAME).shop-{0}.team.svc:{1},INTERNAL://$(POD_NAME).shop-{0}.team.svc:9096,MTLS://$(POD_NAME).shop-{0}.team.svc:9098"
    pods = [
        pod("shop-broker-0", own.format("broker", 9092)),
        pod("shop-broker-1", own.format("broker", 9092), ready=False),
        pod("shop-coordinator-0", own.format("coordinator", 9094)),
        {**pod("other", ""), "spec": {"containers": [{}]}},
    ]
    assert doors_of(pods, BOOTSTRAP) == [
        Door("shop-broker-0", ("shop-broker-0.shop-broker.team.svc", 9092)),
        Door("shop-coordinator-0", ("shop-coordinator-0.shop-coordinator.team.svc", 9094)),
    ]
    assert [each.advertised[1] for each in doors_of(pods, "shop-bootstrap.team.svc:9098")] == [9098, 9098]


def test_credentials_are_those_of_the_secret() -> None:
    common = {"bootstrap__servers": BOOTSTRAP, "security__protocol": "SASL_SSL", "ca__crt": "CA"}
    scram = secret(**common, sasl__mechanism="SCRAM-SHA-512", sasl__jaas__config="login;", password="p")
    assert properties_in(scram) == {
        "bootstrap.servers": BOOTSTRAP,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "login;",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "CA",
    }
    mutual = properties_in(secret(**common, user__key="KEY", user__crt="CERTIFICATE"))
    assert (mutual["ssl.keystore.key"], mutual["ssl.keystore.certificate.chain"]) == ("KEY", "CERTIFICATE")
    with pytest.raises(InvalidData, match=r"the Secret alice has no .*ca\.crt"):
        properties_in(secret(security__protocol="SSL"))
