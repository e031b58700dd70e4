"""What to submit: the options of `submit`, and the spark-submit command that they come to. No I/O."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

JOB_UID_LABEL = "millstream.dev/job-uid"
HOME = "/opt/millstream"


@dataclass(frozen=True, slots=True)
class Volume:
    claim: str
    path: str


@dataclass(frozen=True, slots=True)
class MountedSecret:
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Request:
    name: str
    image: str
    service_account: str
    volumes: tuple[Volume, ...]
    secrets: tuple[MountedSecret, ...]
    driver_memory: str
    executor_memory: str
    executors: int
    settings: tuple[tuple[str, str], ...]
    """Spark's own, given last: they win over ours."""
    job: tuple[str, ...]
    """The job and its arguments: `archive --topic ...`."""

    @property
    def driver(self) -> str:
        """The driver pod's name: fixed, so that the API server itself refuses a second one."""
        return f"{self.name}-driver"


def parse_request(arguments: Sequence[str]) -> Request:
    parser = argparse.ArgumentParser(
        prog="submit", description="Run a job in cluster mode: a driver pod and executors."
    )
    parser.add_argument("--name", required=True, help="of the application; its driver pod is NAME-driver")
    parser.add_argument("--image", required=True, help="of the driver and the executors")
    parser.add_argument("--service-account", required=True, help="the driver's, to start executors with")
    parser.add_argument(
        "--volume", action="append", default=[], type=_volume, help="CLAIM:PATH, in driver and executors"
    )
    parser.add_argument(
        "--secret", action="append", default=[], type=_secret, help="NAME:PATH, its files in driver and executors"
    )
    parser.add_argument("--driver-memory", default="512m", help="the driver's heap")
    parser.add_argument("--executor-memory", default="512m", help="an executor's heap")
    parser.add_argument("--executors", default=1, type=int)
    parser.add_argument("--conf", action="append", default=[], type=_setting, help="NAME=VALUE, any setting of Spark's")
    parser.add_argument("job", nargs="+", help="-- archive ... : the job and its arguments")
    words = parser.parse_args(arguments)
    return Request(
        name=words.name,
        image=words.image,
        service_account=words.service_account,
        volumes=tuple(words.volume),
        secrets=tuple(words.secret),
        driver_memory=words.driver_memory,
        executor_memory=words.executor_memory,
        executors=words.executors,
        settings=tuple(words.conf),
        job=tuple(words.job),
    )


def spark_submit_command(request: Request, *, api_server: str, namespace: str, job_uid: str) -> list[str]:
    command = ["/opt/spark/bin/spark-submit", "--master", f"k8s://{api_server}", "--deploy-mode", "cluster"]
    command += ["--name", request.name]
    for name, value in (*_settings(request, namespace, job_uid), *request.settings):
        command += ["--conf", f"{name}={value}"]
    return [*command, f"local://{HOME}/job.py", *request.job]


def _settings(request: Request, namespace: str, job_uid: str) -> list[tuple[str, str]]:
    settings = [
        ("spark.kubernetes.namespace", namespace),
        ("spark.kubernetes.container.image", request.image),
        ("spark.kubernetes.container.image.pullPolicy", "IfNotPresent"),
        ("spark.kubernetes.authenticate.driver.serviceAccountName", request.service_account),
        ("spark.kubernetes.driver.pod.name", request.driver),
        (f"spark.kubernetes.driver.label.{JOB_UID_LABEL}", job_uid),
        ("spark.kubernetes.driver.podTemplateFile", f"{HOME}/templates/driver.yaml"),
        ("spark.kubernetes.executor.podTemplateFile", f"{HOME}/templates/executor.yaml"),
        # The submitter itself waits, without a JVM.
        ("spark.kubernetes.submission.waitAppCompletion", "false"),
        # The claims are the lake's, not the application's to delete.
        ("spark.kubernetes.driver.ownPersistentVolumeClaim", "false"),
        ("spark.kubernetes.driver.reusePersistentVolumeClaim", "false"),
        ("spark.driver.memory", request.driver_memory),
        ("spark.executor.memory", request.executor_memory),
        ("spark.executor.instances", str(request.executors)),
        ("spark.executor.cores", "1"),
        ("spark.kubernetes.driver.request.cores", "100m"),
        ("spark.kubernetes.executor.request.cores", "100m"),
        ("spark.driver.defaultJavaOptions", "-XX:+UseSerialGC"),
        ("spark.executor.defaultJavaOptions", "-XX:+UseSerialGC"),
        ("spark.ui.showConsoleProgress", "false"),
    ]
    for number, volume in enumerate(request.volumes):
        for role in ("driver", "executor"):
            prefix = f"spark.kubernetes.{role}.volumes.persistentVolumeClaim.volume-{number}"
            settings += [(f"{prefix}.options.claimName", volume.claim), (f"{prefix}.mount.path", volume.path)]
    for secret in request.secrets:
        for role in ("driver", "executor"):
            settings.append((f"spark.kubernetes.{role}.secrets.{secret.name}", secret.path))
    return settings


def _secret(text: str) -> MountedSecret:
    name, colon, path = text.partition(":")
    if not (name and colon and path.startswith("/")):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME:PATH")
    return MountedSecret(name, path)


def _volume(text: str) -> Volume:
    claim, colon, path = text.partition(":")
    if not (claim and colon and path.startswith("/")):
        raise argparse.ArgumentTypeError(f"{text!r} is not CLAIM:PATH")
    return Volume(claim, path)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name.startswith("spark.") and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not spark.NAME=VALUE")
    return name, value
