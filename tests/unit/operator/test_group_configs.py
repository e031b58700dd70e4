"""The GROUP configs that a ConsumerGroup resource leads to."""

from millstream_cluster.configs import GROUP_CONFIGS
from millstream_operator.plan.group_configs import ConfigPlan, plan_configs, wanted_configs


def test_every_field_is_a_config_that_the_coordinators_know() -> None:
    spec = {
        "topics": ["orders", "returns"],
        "paused": True,
        "admission": "DeclaredTopics",
        "members": {"max": 3, "sessionTimeoutMs": 20_000, "heartbeatIntervalMs": 2_000},
        "config": {"share.isolation.level": "read_committed", "share.delivery.count.limit": None},
        "offsets": {"initial": "Earliest", "retentionMinutes": 60},
    }
    wanted = wanted_configs(spec, drains=True)
    assert wanted == {
        "paused": "true",
        "admission": "declared",
        "admission.topics": "orders,returns",
        "max.size": "3",
        "consumer.session.timeout.ms": "20000",
        "consumer.heartbeat.interval.ms": "2000",
        "share.isolation.level": "read_committed",
        "offsets.initial": "earliest",
        "offsets.retention.minutes": "60",
        "drain": "true",
    }
    for key, value in wanted.items():
        GROUP_CONFIGS[key].parse(value)


def test_a_resource_that_names_nothing_changes_nothing() -> None:
    assert plan_configs(wanted_configs({}, drains=False), {"paused": "true"}, ()) == ConfigPlan({}, (), ())


def test_drift_is_corrected_and_what_is_not_named_any_more_goes_if_it_was_the_resources() -> None:
    seen = {"paused": "false", "max.size": "3", "share.isolation.level": "read_committed"}
    plan = plan_configs({"paused": "true"}, seen, ["max.size", "paused", "drain"])
    assert plan == ConfigPlan({"paused": "true", "max.size": None}, ("drain", "max.size", "paused"), ("paused",))


def test_what_is_as_wanted_leads_to_no_change() -> None:
    assert plan_configs({"paused": "true"}, {"paused": "true"}, ["paused"]).changes == {}
