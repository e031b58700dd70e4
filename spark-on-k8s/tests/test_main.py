"""What a job that cannot begin says: one line, and the documented status."""

import pytest

from millstream_spark.main import JOBS, main

ASKED = {
    "aggregate": [],
    "archive": ["--output=/none/lake", "--checkpoint=/none/checkpoint"],
    "audit": ["--lake=/none/lake"],
    "backfill": ["--output=/none/lake"],
    "mirror": ["--to-bootstrap-servers={servers}", "--to-topic=copy", "--name=copy"],
    "replay": ["--to-topic=copy", "--name=copy"],
}
CONFIG = """
name = "totals"
bootstrap_servers = "{servers}"
checkpoint = "/none/checkpoint"
source = {{topic = "nothing", schema = "customer STRING"}}
window = {{time = "timestamp", length = "1 hour", watermark = "1 hour"}}
result = {{topic = "totals"}}
dead_letters = {{topic = "dead"}}
"""


def ended(caplog: pytest.LogCaptureFixture, *words: str) -> tuple[int, str]:
    """Run a job to its end; return its status and the only line that it said."""
    caplog.clear()
    status = main(list(words))
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"{words[0]}.refused reason=")
    return status, line


def asked(job: str, servers: str, directory: "pytest.TempPathFactory") -> list[str]:
    """Return the arguments of a job over a topic that is not there."""
    if job == "aggregate":
        path = directory.mktemp("aggregate") / "totals.toml"
        path.write_text(CONFIG.format(servers=servers))
        return [job, str(path)]
    return [job, f"--bootstrap-servers={servers}", "--topic=nothing", *(w.format(servers=servers) for w in ASKED[job])]


@pytest.mark.parametrize("job", sorted(JOBS))
def test_an_option_that_is_none_is_named(job: str, caplog: pytest.LogCaptureFixture) -> None:
    status, line = ended(caplog, job, "here", "--nonsense")
    assert status == 2
    assert "--" in line


@pytest.mark.parametrize("job", sorted(JOBS))
def test_a_topic_that_is_not_there_is_named(
    job: str, bootstrap_servers: str, tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
) -> None:
    status, line = ended(caplog, *asked(job, bootstrap_servers, tmp_path_factory))
    assert status == 3
    assert "topic nothing does not exist" in line


@pytest.mark.by_hand  # each waits half a minute for an answer
@pytest.mark.parametrize("job", sorted(JOBS))
def test_nobody_who_answers_is_named(
    job: str,
    tmp_path_factory: pytest.TempPathFactory,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    status, line = ended(caplog, *asked(job, "127.0.0.1:1", tmp_path_factory))
    assert status == 3
    assert "127.0.0.1:1" in line
    assert "Connection refused" in line
    assert len(capfd.readouterr().err.splitlines()) <= 5
