"""kcat, as people type it."""

import json
import shutil
import subprocess

import pytest
from servers import Cluster, ServerProcess

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")

KCAT_TIMEOUT_S = 60


def kcat(bootstrap: str, *arguments: str, stdin: str = "") -> str:
    command = ["kcat", "-b", bootstrap, *arguments]
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=KCAT_TIMEOUT_S, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_list_shows_what_has_a_port_of_its_own_for_clients(node: ServerProcess, cluster: Cluster) -> None:
    def ids(bootstrap: str) -> list[int]:
        return sorted(broker["id"] for broker in json.loads(kcat(bootstrap, "-L", "-J"))["brokers"])

    assert ids(node.bootstrap) == [0], "a node's coordinator is behind its broker"
    assert ids(cluster.bootstrap) == [1, 2, 3, 10_001, 10_002], "controllers are nobody's business"


def test_what_is_produced_is_consumed(bootstrap: str, topic: str) -> None:
    lines = "".join(f"key{n}:value {n}\n" for n in range(500))
    kcat(bootstrap, "-P", "-t", topic, "-K:", "-X", "topic.partitioner=consistent", stdin=lines)
    consumed = kcat(bootstrap, "-C", "-t", topic, "-e", "-q", "-K:", "-o", "beginning")
    assert sorted(consumed.splitlines()) == sorted(lines.splitlines())


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec(bootstrap: str, topic: str, codec: str) -> None:
    lines = "".join(f"the same words again and again {n}\n" for n in range(300))
    kcat(bootstrap, "-P", "-t", topic, "-z", codec, "-p", "0", stdin=lines)
    assert kcat(bootstrap, "-C", "-t", topic, "-e", "-q", "-p", "0", "-o", "beginning") == lines


def test_a_group_goes_on_where_it_was(bootstrap: str, topic: str) -> None:
    kcat(bootstrap, "-P", "-t", topic, stdin="one\ntwo\n")
    options = ["-X", "auto.offset.reset=earliest", "-q", "-e", "-G", f"group-{topic}", topic]
    assert sorted(kcat(bootstrap, *options).splitlines()) == ["one", "two"]
    kcat(bootstrap, "-P", "-t", topic, stdin="three\n")
    assert kcat(bootstrap, *options) == "three\n"


def test_offsets_by_timestamp(bootstrap: str, topic: str) -> None:
    kcat(bootstrap, "-P", "-t", topic, "-p", "0", stdin="one\ntwo\n")
    found = kcat(bootstrap, "-Q", "-t", f"{topic}:0:1")
    assert "offset 0" in found
