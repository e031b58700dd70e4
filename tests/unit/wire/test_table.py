"""The compatibility table."""

from millstream_wire.api import API, ApiKey
from millstream_wire.table import render


def test_the_table_says_who_serves_what() -> None:
    lines = render({"broker": {ApiKey.PRODUCE, ApiKey.API_VERSIONS}, "coordinator": {ApiKey.API_VERSIONS}}).splitlines()
    assert lines[0] == "| Key | API | Versions | broker | coordinator |"
    assert "| 0 | Produce | 0-13 | yes | - |" in lines
    assert "| 18 | ApiVersions | 0-5 | yes | yes |" in lines
    assert "| 46 | ListPartitionReassignments | 0 | - | - |" in lines
    assert len(lines) == 2 + len(API)
