"""Decides what to do about a driver pod, so that a Job may be retried at any moment and two drivers never run. No I/O."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from millstream_spark.submission.request import JOB_UID_LABEL


class Step(Enum):
    SUBMIT = "submit"
    """There is no driver: make one."""
    REPLACE = "replace"
    """An earlier attempt's driver failed, or the pod is another Job's: it goes first."""
    WAIT_GONE = "wait-gone"
    """It is being deleted."""
    ATTACH = "attach"
    """This Job's driver is on its way, runs or has succeeded: watch it."""


def next_step(pod: Mapping[str, Any] | None, job_uid: str) -> Step:
    if pod is None:
        return Step.SUBMIT
    if "deletionTimestamp" in pod["metadata"]:
        return Step.WAIT_GONE
    ours = pod["metadata"].get("labels", {}).get(JOB_UID_LABEL) == job_uid
    if ours and pod["status"].get("phase") != "Failed":
        return Step.ATTACH
    return Step.REPLACE


def exit_status(pod: Mapping[str, Any] | None) -> int | None:
    """Return the driver's own exit status once it has ended, 1 if it vanished, None while it lives."""
    if pod is None:
        return 1
    match pod["status"].get("phase"):
        case "Succeeded":
            return 0
        case "Failed":
            ended = [
                container["state"]["terminated"]["exitCode"]
                for container in pod["status"].get("containerStatuses", [])
                if "terminated" in container.get("state", {})
            ]
            return next((int(code) for code in ended if code != 0), 1)
        case _:
            return None
