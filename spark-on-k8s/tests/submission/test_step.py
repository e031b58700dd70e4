"""A Job may be retried at any moment: what it does about the driver pod that it finds."""

from typing import Any

import pytest

from millstream_spark.submission.request import JOB_UID_LABEL
from millstream_spark.submission.step import Step, exit_status, next_step


def pod(phase: str, *, job_uid: str = "this", deleted: bool = False, exit_code: int | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "archive-driver", "labels": {JOB_UID_LABEL: job_uid}}
    if deleted:
        metadata["deletionTimestamp"] = "2026-11-18T12:00:00Z"
    status: dict[str, Any] = {"phase": phase}
    if exit_code is not None:
        status["containerStatuses"] = [{"state": {"terminated": {"exitCode": exit_code}}}]
    return {"metadata": metadata, "status": status}


@pytest.mark.parametrize(
    ("found", "step"),
    [
        (None, Step.SUBMIT),
        (pod("Pending"), Step.ATTACH),
        (pod("Running"), Step.ATTACH),
        (pod("Succeeded"), Step.ATTACH),
        (pod("Failed"), Step.REPLACE),
        (pod("Running", job_uid="another"), Step.REPLACE),
        (pod("Succeeded", job_uid="another"), Step.REPLACE),
        (pod("Running", deleted=True), Step.WAIT_GONE),
        (pod("Failed", deleted=True), Step.WAIT_GONE),
    ],
)
def test_there_is_one_driver_at_most_and_it_is_this_jobs(found: dict[str, Any] | None, step: Step) -> None:
    assert next_step(found, "this") is step


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (pod("Pending"), None),
        (pod("Running"), None),
        (pod("Unknown"), None),
        (pod("Succeeded", exit_code=0), 0),
        (pod("Failed", exit_code=4), 4),
        # Evicted: it failed, and no container tells why.
        (pod("Failed"), 1),
        (None, 1),
    ],
)
def test_the_job_ends_as_its_driver_ends(found: dict[str, Any] | None, status: int | None) -> None:
    assert exit_status(found) == status
