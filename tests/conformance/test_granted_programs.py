"""Programs of users who may do just what Kafka's documentation says they need; and each grant that is missing is missed as with Apache Kafka.

One user for each program and one more for each of its grants, who has all the others; all of them work at once.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from ask import ask
from authorization_scene import made
from kafka_programs import programs_libs, write_properties
from kafka_tools import HERE, LOGGING, KafkaUnavailable
from sasl_scene import JAAS, Place, kafkas_place, our_place
from servers import eventually
from share_member import configure
from wire_client import WireClient

from millstream_cluster.acls import AclOperation, AclPattern, AclPermission, AclResource
from millstream_wire import messages as m
from millstream_wire.records import Record, encode_batch

pytestmark = pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java compiler")

T, G, X = AclResource.TOPIC, AclResource.GROUP, AclResource.TRANSACTIONAL_ID
READ, WRITE, CREATE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE
NEEDED: Mapping[str, tuple[tuple[AclResource, str, AclOperation], ...]] = {
    "transaction": ((T, "in", READ), (T, "out", WRITE), (G, "NAME", READ), (X, "NAME", WRITE)),
    "share": ((T, "in", READ), (G, "NAME", READ)),
    "streams": (
        *((T, "in", READ), (T, "out", WRITE), (G, "NAME", READ), (X, "NAME-*", WRITE)),
        *((T, "NAME-*", CREATE), (T, "NAME-*", READ), (T, "NAME-*", WRITE)),
    ),
    "connect": (
        *((G, "NAME", READ), (T, "NAME-*", CREATE), (X, "NAME-source-0", WRITE)),
        *((T, "copied-NAME", WRITE), (T, "copied-NAME", READ), (G, "connect-sink-NAME", READ)),
    ),
}
"""`NAME`: the user's own name, which is also that of the group, the application or the cluster; `*` at the end: whatever begins so."""
ALWAYS = {"connect": ((T, "NAME-*", READ), (T, "NAME-*", WRITE), (X, "connect-cluster-NAME", WRITE))}
"""What no case is without: a worker that is refused these asks for ever, here as with Kafka."""
PASSWORD = "everybody's"
ROOT = "root"
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Case:
    program: str
    without: int | None
    """Which of the grants it has not."""

    @property
    def name(self) -> str:
        return self.program if self.without is None else f"{self.program}{self.without}"

    def acls(self) -> list[dict[str, object]]:
        own = [grant for at, grant in enumerate(NEEDED[self.program]) if at != self.without]
        return [self._acl(*grant) for grant in (*own, *ALWAYS.get(self.program, ()))]

    def _acl(self, resource: AclResource, name: str, operation: AclOperation) -> dict[str, object]:
        is_prefix = name.endswith("*")
        return {
            "resource_type": resource,
            "resource_name": name.rstrip("*").replace("NAME", self.name),
            "resource_pattern_type": AclPattern.PREFIXED if is_prefix else AclPattern.LITERAL,
            "principal": f"User:{self.name}",
            "host": "*",
            "operation": operation,
            "permission_type": AclPermission.ALLOW,
        }


CASES = [Case(program, without) for program, needed in NEEDED.items() for without in (None, *range(len(needed)))]
USERS = {ROOT: PASSWORD, **{case.name: PASSWORD for case in CASES}}


def furnish(place: Place) -> None:
    """Topics, a record to read, ACLs; and groups of share consumers that begin at the beginning."""
    names = ["in", "out", *(f"copied-{case.name}" for case in CASES if case.program == "connect")]
    topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
    acls = [acl for case in CASES for acl in case.acls()]
    requests = [
        made(m.CreateTopicsRequest, topics=topics, timeout_ms=10_000),
        made(m.CreateAclsRequest, creations=acls),
    ]
    created, granted = ask(place.plain, *requests)
    assert not any(each.error_code for each in (*created.topics, *granted.results))
    for case in CASES:
        if case.program == "share":
            configure(place.plain, case.name, share_auto_offset_reset="earliest")

    def written() -> None:
        with WireClient(place.plain) as client:
            assert client.produce("in", encode_batch([Record(0, 1, None, b"word")])).error_code == 0

    eventually(written)


def run(place: Place, directory: Path) -> dict[str, str]:
    """What became of each case; Connect's workers, which take most, after all others."""
    furnish(place)
    lighter = [case for case in CASES if case.program != "connect"]
    return _run(place, directory, lighter) | _run(place, directory, [case for case in CASES if case not in lighter])


def _run(place: Place, directory: Path, cases: list[Case]) -> dict[str, str]:
    def properties(user: str) -> str:
        module = f'{JAAS}.plain.PlainLoginModule required username="{user}" password="{PASSWORD}";'
        told = {"bootstrap.servers": place.sasl, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        told |= {"sasl.jaas.config": module, "directory": str(directory)}
        return write_properties(directory / f"{user}.properties", told)

    lines = "".join(f"{case.program} {case.name} {properties(case.name)}\n" for case in cases)
    command = ["java", "-Xmx1G", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", LOGGING, "-cp", f"{programs_libs()}/*"]
    command += [str(HERE / "kafka" / "GrantedPrograms.java"), properties(ROOT)]
    with (directory / f"{cases[0].program}.log").open("w") as log:
        done = subprocess.run(
            command, input=lines, stdout=subprocess.PIPE, stderr=log, text=True, timeout=TIMEOUT_S, check=True
        )
    return {case.name: told for case, told in zip(cases, done.stdout.splitlines(), strict=True)}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, str]]]:
    try:
        programs_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    settings = {
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super_users": f"User:ANONYMOUS;User:{ROOT}",
    }
    directories = [tmp_path_factory.mktemp(name) for name in ("ours", "kafkas")]
    with (
        our_place(directories[0], plain_users=USERS, **settings) as ours,
        kafkas_place(directories[1], plain_users=USERS, **settings) as kafkas,
    ):
        yield [run(place, directory) for place, directory in zip((ours, kafkas), directories, strict=True)]


@pytest.mark.parametrize("program", NEEDED)
def test_all_grants_are_enough_and_each_one_is_missed_as_with_kafka(
    outcomes: list[dict[str, str]], program: str
) -> None:
    ours, kafkas = ({case.name: told[case.name] for case in CASES if case.program == program} for told in outcomes)
    assert ours == kafkas
    assert [name for name, told in ours.items() if told == "done"] == [program]
