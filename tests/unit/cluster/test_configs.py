import pytest

from millstream_cluster.configs import (
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    ConfigError,
    validate,
)
from millstream_cluster.configs.effective import ConfigSource, EffectiveConfigs
from millstream_cluster.image import Image
from millstream_cluster.records import ConfigChanged, ResourceType

T = ResourceType.TOPIC


ALL = (*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values(), *GROUP_CONFIGS.values(), *CLIENT_METRICS_CONFIGS.values())


@pytest.mark.parametrize("key", ALL)
def test_every_default_passes_its_own_check_and_every_key_is_described(key: object) -> None:
    from millstream_cluster.configs import ConfigKey

    assert isinstance(key, ConfigKey)
    key.parse(key.default)
    assert key.doc.endswith(".")


def test_a_topic_key_and_its_broker_synonym_default_to_the_same() -> None:
    for entry in EffectiveConfigs(Image(), {}).topic("t").values():
        defaults = [BROKER_CONFIGS[synonym.name].default for synonym in entry.key.synonyms]
        translated = [
            synonym.translate(default)
            for synonym, default in zip(entry.key.synonyms, defaults, strict=True)
            if default is not None
        ]
        assert translated[:1] in ([], [entry.key.default])


def test_the_default_of_the_first_synonym_is_told_and_of_no_other() -> None:
    """As Kafka does: log.retention.ms has no default, and log.retention.hours, which has, is not the first."""
    entries = EffectiveConfigs(Image(), {}).topic("t")
    assert entries["segment.bytes"].synonyms == (("log.segment.bytes", "1073741824", ConfigSource.DEFAULT_CONFIG),)
    assert entries["retention.ms"].synonyms == ()
    assert entries["deletion.protection"].synonyms == ()


def test_what_is_from_another_than_the_first_synonym_is_told_to_be_a_default() -> None:
    """As Kafka does, whose tools leave such values out; CreateTopics is told the truth, there as here."""
    entry = EffectiveConfigs(Image(), {"log.retention.hours": "24"}).topic("t")["retention.ms"]
    assert (entry.text, entry.source) == ("86400000", ConfigSource.STATIC_BROKER_CONFIG)
    assert (entry.synonyms, entry.described_source) == ((), ConfigSource.DEFAULT_CONFIG)


def test_behind_the_first_synonym_the_others_are_told_by_where_they_are_from() -> None:
    static = {"log.retention.hours": "24", "log.retention.ms": "5"}
    entry = EffectiveConfigs(Image(), static).topic("t")["retention.ms"]
    assert entry.synonyms == (
        ("log.retention.ms", "5", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.retention.hours", "24", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.ms", "-2"),
        ("retention.ms", "1.5"),
        ("retention.ms", "9223372036854775808"),
        ("retention.ms", "9" * 5000),
        ("retention.ms", "١٢"),
        ("cleanup.policy", "shred"),
        ("segment.bytes", "2147483648"),
        ("preallocate", "yes"),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("message.timestamp.type", "createtime"),
        ("remote.storage.enable", "true"),
        ("no.such.key", "1"),
    ],
)
def test_bad_values_are_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}|Tiered Storage"):
        validate(T, name, text)


def test_values_are_read() -> None:
    assert validate(T, "retention.ms", " -1 ") == -1
    assert validate(T, "cleanup.policy", "compact, delete") == ("compact", "delete")
    assert validate(T, "cleanup.policy", "") == ()
    assert validate(T, "deletion.protection", "TRUE") is True
    assert validate(T, "min.cleanable.dirty.ratio", "0.25") == 0.25


def source_of(image: Image, static: dict[str, str]) -> tuple[str | None, ConfigSource]:
    entry = EffectiveConfigs(image, static, broker_id=1).topic("t")["retention.ms"]
    return entry.text, entry.source


def test_the_nearer_setting_wins() -> None:
    image = Image()
    assert source_of(image, {}) == ("604800000", ConfigSource.DEFAULT_CONFIG)
    assert source_of(image, {"log.retention.hours": "2"}) == ("7200000", ConfigSource.STATIC_BROKER_CONFIG)
    both = {"log.retention.hours": "2", "log.retention.minutes": "3"}
    assert source_of(image, both) == ("180000", ConfigSource.STATIC_BROKER_CONFIG)
    assert source_of(image, {"log.retention.hours": "-1"}) == ("-1", ConfigSource.STATIC_BROKER_CONFIG)
    image.apply(ConfigChanged(ResourceType.BROKER, "", "log.retention.ms", "4"), 0)
    assert source_of(image, both) == ("4", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    image.apply(ConfigChanged(ResourceType.BROKER, "1", "log.retention.ms", "5"), 1)
    assert source_of(image, both) == ("5", ConfigSource.DYNAMIC_BROKER_CONFIG)
    image.apply(ConfigChanged(T, "t", "retention.ms", "6"), 2)
    assert source_of(image, both) == ("6", ConfigSource.DYNAMIC_TOPIC_CONFIG)


def test_synonyms_tell_everything_that_was_considered() -> None:
    image = Image()
    image.apply(ConfigChanged(T, "t", "min.insync.replicas", "2"), 0)
    entry = EffectiveConfigs(image, {"min.insync.replicas": "3"}).topic("t")["min.insync.replicas"]
    assert entry.value == 2
    assert entry.synonyms == (
        ("min.insync.replicas", "2", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("min.insync.replicas", "3", ConfigSource.STATIC_BROKER_CONFIG),
        ("min.insync.replicas", "1", ConfigSource.DEFAULT_CONFIG),
    )


def test_broker_keys_know_whether_they_may_change() -> None:
    entries = EffectiveConfigs(Image(), {"num.partitions": "4"}, broker_id=1).broker()
    assert entries["num.partitions"].value == 4
    assert entries["num.partitions"].read_only
    assert not entries["message.max.bytes"].read_only
