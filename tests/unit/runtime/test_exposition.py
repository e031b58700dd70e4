"""What /metrics shows, read by Prometheus' own parser."""

from prometheus_client.parser import text_string_to_metric_families

from millstream_runtime.exposition import Family, Kind, counter, gauge
from millstream_runtime.metrics import BUCKETS_MS, Metrics

ODD = 'a "quoted" \\ back\nslash'


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}


def test_gauges_and_counters_with_any_label() -> None:
    text = gauge("millstream_topics", "Topics\nin \\ all.", 3).text()
    text += counter("millstream_bytes", "Bytes.", 2**53, broker=ODD).text()
    families = list(text_string_to_metric_families(text))
    assert [(family.name, family.type) for family in families] == [
        ("millstream_topics", "gauge"),
        ("millstream_bytes", "counter"),
    ]
    assert families[0].documentation == "Topics\nin \\ all."
    assert parsed(text) == {
        ("millstream_topics", ()): 3.0,
        ("millstream_bytes_total", (("broker", ODD),)): float(2**53),
    }


def test_histograms_count_up() -> None:
    family = Family(Kind.HISTOGRAM, "seconds", "Time.")
    family.add_histogram([0.001, 0.5], [2, 0, 1], 7.25, api="Fetch")
    assert parsed(family.text()) == {
        ("seconds_bucket", (("api", "Fetch"), ("le", "0.001"))): 2.0,
        ("seconds_bucket", (("api", "Fetch"), ("le", "0.5"))): 2.0,
        ("seconds_bucket", (("api", "Fetch"), ("le", "+Inf"))): 3.0,
        ("seconds_count", (("api", "Fetch"),)): 3.0,
        ("seconds_sum", (("api", "Fetch"),)): 7.25,
    }


def test_a_process_shows_its_servers_and_whoever_registers() -> None:
    class Own:
        def collect(self) -> list[Family]:
            return [gauge("millstream_shards", "Shards.", 50)]

    metrics, own = Metrics(), Own()
    metrics.server("broker-1").latency("Produce").observe(BUCKETS_MS[0] / 2)
    metrics.server("broker-1").bytes_in += 10
    metrics.register(own)
    shown = parsed(metrics.text())
    assert shown["millstream_received_bytes_total", (("server", "broker-1"),)] == 10
    least = str(BUCKETS_MS[0] / 1000)
    assert shown["millstream_request_seconds_bucket", (("api", "Produce"), ("le", least), ("server", "broker-1"))] == 1
    assert shown["millstream_shards", ()] == 50
    metrics.unregister(own)
    assert ("millstream_shards", ()) not in parsed(metrics.text())
