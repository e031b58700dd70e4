"""Runs in the Job's pod: submits the job once, watches its driver and ends as the driver ends."""

import logging
import os
import subprocess
import sys
import time
import urllib.error
from typing import assert_never

from millstream_spark.submission.pods import Pods
from millstream_spark.submission.request import Request, parse_request, spark_submit_command
from millstream_spark.submission.step import Step, exit_status, next_step

POLL_S = 2
LINES_SHOWN = 60

logger = logging.getLogger(__name__)


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    request = parse_request(sys.argv[1:])
    pods = Pods.in_cluster()
    job_name, job_uid = os.environ["JOB_NAME"], os.environ["JOB_UID"]
    status = ensure_driver(pods, request, job_uid)
    if status == 0:
        status = watch(pods, request.driver, job_name, job_uid)
    return status


def ensure_driver(pods: Pods, request: Request, job_uid: str) -> int:
    """Return 0 once this Job has its one driver pod, or spark-submit's status if it could not make it."""
    while True:
        pod = pods.get(request.driver)
        step = next_step(pod, job_uid)
        logger.info("submission.step step=%s driver=%s", step.value, request.driver)
        match step:
            case Step.ATTACH:
                return 0
            case Step.SUBMIT:
                # Not looked at again: a driver that fails at once is the Job's to retry, with its back-off.
                return submit(pods, request, job_uid)
            case Step.REPLACE:
                assert pod is not None
                pods.delete(pod)
                time.sleep(POLL_S)
            case Step.WAIT_GONE:
                time.sleep(POLL_S)
            case _:
                assert_never(step)


def submit(pods: Pods, request: Request, job_uid: str) -> int:
    command = spark_submit_command(request, api_server=pods.api_server, namespace=pods.namespace, job_uid=job_uid)
    settings = {
        "SPARK_CONF_DIR": "/opt/millstream/conf",
        # A short-lived JVM beside this process: keep it small.
        "SPARK_SUBMIT_OPTS": "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }
    status = subprocess.run(command, env=os.environ | settings, check=False).returncode
    logger.info("submission.submitted driver=%s status=%d", request.driver, status)
    return status


def watch(pods: Pods, driver: str, job_name: str, job_uid: str) -> int:
    """Return the driver's exit status. Forgives an API server that is away; the Job's deadline bounds the wait."""
    shown = ""
    owned = False
    while True:
        try:
            pod = pods.get(driver)
            if pod is not None and not owned:
                pods.set_owner(driver, job_name, job_uid)
                owned = True
            if pod is not None and pod["status"].get("phase", "") != shown:
                shown = pod["status"].get("phase", "")
                logger.info("submission.driver driver=%s phase=%s", driver, shown)
            status = exit_status(pod)
            if status is not None:
                if pod is not None:
                    sys.stderr.write(pods.last_lines(driver, LINES_SHOWN))
                logger.info("submission.ended driver=%s status=%d", driver, status)
                return status
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError) and error.code in (401, 403):
                raise
            logger.warning("submission.api_unavailable error=%s", error)
        time.sleep(POLL_S)


if __name__ == "__main__":
    sys.exit(main())
