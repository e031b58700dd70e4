"""The example notebook as it stands, and what the notebook's functions refuse."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from broker import Topics
from cells import run_cells
from pyspark.sql import SparkSession

from millstream_spark import read_topic, session, write_topic
from millstream_spark.errors import BadCredentials, BadQuery

NOTEBOOK = Path(__file__).parents[2] / "examples" / "spark_notebook.ipynb"
AMOUNTS = [number % 900 / 4 for number in range(10_000)]


@pytest.fixture(autouse=True)
def no_session() -> Iterator[None]:
    yield
    if (spark := SparkSession.getActiveSession()) is not None:
        spark.stop()


def test_the_example_notebook_does_what_it_says(
    topics: Topics, bootstrap_servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA", bootstrap_servers)
    names, shown = run_cells(NOTEBOOK)
    written = [json.loads(value) for value in topics.values(names["totals"], 3)]
    assert sorted(each["id"] for each in written) == [number for number, amount in enumerate(AMOUNTS) if amount > 100]
    assert len(names["query"].recentProgress) >= 10
    svg = shown[4][1]._repr_svg_()  # type: ignore[attr-defined]
    assert "lag, records; 10 batches" in svg
    assert "records a second" in svg
    assert str(len(written)) in shown[5][0]


def test_a_session_takes_the_profile_in_use_and_nothing_of_it_for_another_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles = tmp_path / "millstream" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "production.properties").write_text("bootstrap.servers=b:9092\nsecurity.protocol=PLAINTEXT\n")
    (profiles / "in-use").write_text("production\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("MILLSTREAM_PROFILE", raising=False)
    spark = session()
    assert spark.conf.get("spark.millstream.bootstrapServers") == "b:9092"
    assert spark.conf.get("spark.millstream.credentials") == str(profiles / "production.properties")
    # The same session goes elsewhere, without the password.
    spark = session(bootstrap_servers="other:9092")
    assert spark.conf.get("spark.millstream.bootstrapServers") == "other:9092"
    assert spark.conf.get("spark.millstream.credentials") == ""
    with pytest.raises(BadCredentials, match="no profile staging"):
        session(profile="staging")


def test_what_makes_no_sense_is_said_before_anything_runs(bootstrap_servers: str, topic: str) -> None:
    with pytest.raises(BadQuery, match="call session"):
        read_topic(topic)
    session(bootstrap_servers=bootstrap_servers)
    with pytest.raises(BadQuery, match="undecodable"):
        read_topic(topic, undecodable="skip")
    with pytest.raises(BadQuery, match="checkpoint"):
        write_topic(read_topic(topic, stream=True).select("value"), topic, name="copy")
