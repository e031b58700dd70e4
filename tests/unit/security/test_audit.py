"""What is said of denials: one line each, a bounded number of them, and nothing that somebody else put there."""

import logging

import pytest

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.image.acls import AclsImage
from millstream_cluster.principal import USER, Principal
from millstream_runtime.serving.bounded_log import LINES_MAX, BoundedLog
from millstream_runtime.serving.context import Connection, RequestContext
from millstream_runtime.serving.peer import ClientPeer, NodePeer, Peer
from millstream_runtime.serving.refusals import refuse_all, refuse_some
from millstream_security.authorization.authorizer import Authorizer, AuthorizerConfig
from millstream_wire.api import ApiKey
from millstream_wire.messages import DeleteGroupsRequest, DescribeAclsRequest

LOGGER = logging.getLogger("millstream.audit.test")
ALICE = ClientPeer(Principal(USER, "alice"))


class Said:
    def __init__(self, caplog: pytest.LogCaptureFixture, peer: Peer = ALICE) -> None:
        caplog.set_level(logging.INFO, LOGGER.name)
        self._caplog = caplog
        self.now_s = 0.0
        denials = BoundedLog(LOGGER, lambda: self.now_s)
        authorizer = Authorizer(AuthorizerConfig(), AclsImage)
        connection = Connection(1, "10.0.0.7:5", "SASL", peer=peer, authorizer=authorizer, denials=denials)
        self.context = RequestContext(ApiKey.DELETE_GROUPS, 2, 1, "c", b"", connection, 0)

    @property
    def lines(self) -> list[str]:
        return [record.getMessage() for record in self._caplog.records]


def test_a_denial_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    said = Said(caplog)
    assert refuse_all(DescribeAclsRequest(), said.context, AclOperation.DESCRIBE) is not None
    expected = "principal=User:alice host=10.0.0.7 api=DELETE_GROUPS operation=DESCRIBE resource=CLUSTER:kafka-cluster"
    assert said.lines == [f"authorization denied {expected}"]


def test_each_item_that_is_refused_is_said_and_nobody_writes_lines_of_his_own(caplog: pytest.LogCaptureFixture) -> None:
    said = Said(caplog)
    request = DeleteGroupsRequest(groups_names=["a", "b\nauthorization denied principal=User:bob"])
    refuse_some(request, said.context, "groups_names", AclOperation.DELETE, AclResource.GROUP)
    assert [line.partition("resource=")[2] for line in said.lines] == [
        "GROUP:a",
        "GROUP:'b\\nauthorization denied principal=User:bob'",
    ]


def test_no_more_lines_than_somebody_reads(caplog: pytest.LogCaptureFixture) -> None:
    said = Said(caplog)
    for _ in range(1_000):
        said.context.denied(AclOperation.READ, AclResource.TOPIC, "t")
    assert len(said.lines) == LINES_MAX
    said.now_s = 1.0
    said.context.denied(AclOperation.READ, AclResource.TOPIC, "t")
    assert said.lines[-1].endswith(f"left_out={1_000 - LINES_MAX}")


def test_nothing_is_said_of_nodes(caplog: pytest.LogCaptureFixture) -> None:
    said = Said(caplog, NodePeer.of(1))  # type: ignore[arg-type]
    assert refuse_all(DescribeAclsRequest(), said.context, AclOperation.DESCRIBE) is None
    assert said.lines == []
