"""The options of `submit`, and what Spark is told."""

import pytest

from millstream_spark.submission.request import JOB_UID_LABEL, Volume, parse_request, spark_submit_command

REQUIRED = ["--name=archive-orders", "--image=millstream-spark:1", "--service-account=spark-driver"]


def command(*more: str) -> list[str]:
    request = parse_request([*REQUIRED, *more, "--", "archive", "--topic=orders"])
    return spark_submit_command(request, api_server="https://api:443", namespace="data", job_uid="u-1")


def test_the_jobs_own_options_are_not_ours() -> None:
    request = parse_request([*REQUIRED, "--volume=lake:/lake", "--", "archive", "--name=x", "--topic=orders"])
    assert request.job == ("archive", "--name=x", "--topic=orders")
    assert request.name == "archive-orders"
    assert request.driver == "archive-orders-driver"
    assert request.volumes == (Volume("lake", "/lake"),)


def test_spark_is_told_to_run_in_cluster_mode_as_this_jobs_one_driver() -> None:
    words = command()
    assert words[:5] == ["/opt/spark/bin/spark-submit", "--master", "k8s://https://api:443", "--deploy-mode", "cluster"]
    assert words[-3:] == ["local:///opt/millstream/job.py", "archive", "--topic=orders"]
    assert "spark.kubernetes.driver.pod.name=archive-orders-driver" in words
    assert f"spark.kubernetes.driver.label.{JOB_UID_LABEL}=u-1" in words
    assert "spark.kubernetes.namespace=data" in words


def test_a_volume_is_mounted_where_the_data_is_planned_and_where_it_is_written() -> None:
    words = command("--volume=lake:/lake")
    for role in ("driver", "executor"):
        prefix = f"spark.kubernetes.{role}.volumes.persistentVolumeClaim.volume-0"
        assert f"{prefix}.options.claimName=lake" in words
        assert f"{prefix}.mount.path=/lake" in words


def test_a_secret_is_mounted_for_whoever_talks_to_the_brokers() -> None:
    words = command("--secret=archiver:/user")
    assert "spark.kubernetes.driver.secrets.archiver=/user" in words
    assert "spark.kubernetes.executor.secrets.archiver=/user" in words


def test_a_setting_of_the_users_comes_after_ours() -> None:
    words = command("--conf=spark.executor.cores=2")
    assert words.index("spark.executor.cores=2") > words.index("spark.executor.cores=1")


@pytest.mark.parametrize(
    "word", ["--secret=archiver", "--volume=lake", "--volume=lake:lake", "--conf=executor.cores=2", "--conf=spark.x"]
)
def test_what_makes_no_sense_ends_with_status_2(word: str) -> None:
    with pytest.raises(SystemExit) as ended:
        command(word)
    assert ended.value.code == 2
