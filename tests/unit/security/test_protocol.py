from millstream_security.protocol import ListenerProperties, ListenerSecurity, SecurityProtocol


def test_protocols_have_kafkas_numbers() -> None:
    assert [(each.name, int(each)) for each in SecurityProtocol] == [
        ("PLAINTEXT", 0),
        ("SSL", 1),
        ("SASL_PLAINTEXT", 2),
        ("SASL_SSL", 3),
    ]


def test_what_a_protocol_uses() -> None:
    assert [each.name for each in SecurityProtocol if each.uses_tls] == ["SSL", "SASL_SSL"]
    assert [each.name for each in SecurityProtocol if each.uses_sasl] == ["SASL_PLAINTEXT", "SASL_SSL"]


def test_protocols_are_named_in_any_case() -> None:
    assert SecurityProtocol.named("sasl_ssl") is SecurityProtocol.SASL_SSL
    assert SecurityProtocol.named("TLS") is None


def test_a_listeners_own_setting_comes_before_the_common_one() -> None:
    values = {"ssl.client.auth": "none", "listener.name.inside.ssl.client.auth": "required"}
    inside, outside = (ListenerProperties(name, values.get) for name in ("INSIDE", "OUTSIDE"))
    assert (inside.get("ssl.client.auth"), outside.get("ssl.client.auth")) == ("required", "none")
    assert inside.key_of("ssl.client.auth") == "listener.name.inside.ssl.client.auth"
    assert outside.key_of("ssl.client.auth") == "ssl.client.auth"
    assert outside.own("ssl.client.auth") is None


def test_both_forms_of_a_key_are_asked_for() -> None:
    asked: list[str] = []

    def ask(key: str) -> str | None:
        asked.append(key)
        return None

    ListenerProperties("CLIENTS", ask).get("ssl.keystore.location")
    assert asked == ["listener.name.clients.ssl.keystore.location", "ssl.keystore.location"]


def test_settings_are_not_shown() -> None:
    security = ListenerSecurity("A", SecurityProtocol.SSL, ListenerProperties("A", {"ssl.key.password": "hush"}.get))
    assert "hush" not in repr(security)
