"""The chart's alerts and dashboards ask for metrics that somebody exports, and each alert has its runbook."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from millstream_operator.metrics import GroupShown, OperatorMetrics, Resource

ROOT = Path(__file__).parents[3]
FILES = ROOT / "charts/millstream/files"
ALERTS = [rule for group in yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
DASHBOARDS = sorted((FILES / "dashboards").glob("*.json"))
SUFFIXES = {"COUNTER": ("_total",), "GAUGE": ("",), "HISTOGRAM": ("_bucket", "_count", "_sum")}


def exported() -> set[str]:
    """Names of series, as the sources make them."""
    found = set()
    for part in ("libs", "services"):
        for path in (ROOT / part).glob("**/src/**/*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    found |= set(_named(node.func.id, node.args))
    metrics = OperatorMetrics(lambda: 0)
    metrics.saw_group(Resource("ConsumerGroup", "n", "g"), GroupShown("c", "g", 1, 1, 1, 1))
    text = "".join(family.text() for family in metrics.collect())
    return found | set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))


def _named(function: str, arguments: list[ast.expr]) -> Iterator[str]:
    if function == "Family" and len(arguments) > 1 and isinstance(arguments[0], ast.Attribute):
        kind, name = arguments[0].attr, arguments[1]
    elif function in ("gauge", "counter") and arguments:
        kind, name = function.upper(), arguments[0]
    else:
        return
    if isinstance(name, ast.Constant):
        yield from (f"{name.value}{suffix}" for suffix in SUFFIXES[kind])


def expressions() -> Iterator[tuple[str, str]]:
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]
    for path in DASHBOARDS:
        board = json.loads(path.read_text())
        for panel in board["panels"]:
            yield from ((f"{path.stem}: {panel['title']}", target["expr"]) for target in panel["targets"])
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                yield f"{path.stem}: ${variable['name']}", variable["query"]


def test_every_expression_is_of_metrics_that_are_exported() -> None:
    known = exported()
    assert {"millstream_request_seconds_bucket", "millstream_isr_shrinks_total", "millstream_cluster_ready"} <= known
    assert len(DASHBOARDS) == 2
    for where, expression in expressions():
        named = set(re.findall(r"\bmillstream_\w+", expression))
        assert named, where
        assert named <= known, where


@pytest.mark.parametrize("rule", ALERTS, ids=[rule["alert"] for rule in ALERTS])
def test_each_alert_has_a_runbook_and_a_test_in_which_it_fires(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^## (\w+)$", (ROOT / page).read_text(), re.MULTILINE)
    assert anchor == rule["alert"].lower()
    assert rule["alert"] in headings
    tests = yaml.safe_load((ROOT / "tests/alerts/alerts.yaml").read_text())["tests"]
    [of_it] = [each["alert_rule_test"] for each in tests if each["name"] == rule["alert"]]
    assert [bool(each["exp_alerts"]) for each in of_it] == [False, True]
