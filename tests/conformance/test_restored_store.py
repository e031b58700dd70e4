"""A metadata store that an operator put back from a copy: the node stops and says so, and goes on only when told to."""

import shutil
import uuid
from pathlib import Path

import pytest
import servers
from ask import ask

from millstream_wire import messages as m
from millstream_wire.messages.create_topics import CreatableTopic


def create(bootstrap: str, name: str) -> None:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    (answer,) = ask(bootstrap, m.CreateTopicsRequest(topics=[topic]))
    assert answer.topics[0].error_code == 0


def test_a_store_put_back_from_a_copy_is_not_believed(fresh: Path) -> None:
    store, disk = fresh / "data" / "controller", fresh / "data" / "broker"
    newer = f"newer-{uuid.uuid4().hex[:8]}"
    with servers.node(fresh) as node:
        create(node.bootstrap, "older")
        assert node.stop() == 0
    shutil.copytree(store, fresh / "copy")
    with servers.node(fresh) as node:
        create(node.bootstrap, newer)
        servers.eventually(lambda: _is_dir(disk / f"{newer}-0"))
        assert node.stop() == 0
    shutil.rmtree(store)
    shutil.copytree(fresh / "copy", store)
    with (
        pytest.raises(AssertionError, match=r"(the metadata log went back|was put back to an older state)"),
        servers.node(fresh),
    ):
        pass
    assert (disk / f"{newer}-0").is_dir()
    (disk / "metadata.applied").unlink()
    with servers.node(fresh) as node:
        (answer,) = ask(node.bootstrap, m.MetadataRequest(topics=None))
        assert [topic.name for topic in answer.topics] == ["older"]
        assert [found.name for found in disk.glob(f"{newer}-0.*-stray")]


def _is_dir(path: Path) -> None:
    assert path.is_dir()
