"""Who may ask: hosts, tokens, methods, sizes; and the headers of every answer."""

import pytest
from starlette.testclient import TestClient

from clipstore.serve import Guarding, application


def asked(live, guarding, base):
    """Return a client that calls the server by a name."""
    return TestClient(application(live, guarding), base_url=base, follow_redirects=False)


def test_every_answer_has_the_policy(client):
    """Pages, images, refusals."""
    for path in ("/", "/static/style.css", "/nope"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_pages_need_nothing_that_the_policy_forbids(client):
    """No style attribute, no script in a page, no handler."""
    import re

    for path in ("/", "/images", "/plots", "/pair/blip/hostile"):
        text = client.get(path).text
        assert not re.search(r"<[^>]*\sstyle=", text)
        assert not re.search(r"<[^>]*\son[a-z]+=", text)
        assert not re.search(r"<script(?![^>]*src=)", text)


def test_only_reading(client):
    """No other method does anything."""
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, "/").status_code == 405
    assert client.head("/").status_code == 200


def test_a_rebound_name_is_refused(live):
    """The loopback's names are answered, a name that somebody points here is not."""
    for base, status in (
        ("http://localhost:8000", 200),
        ("http://127.0.0.1", 200),
        ("http://[::1]:8000", 200),
        ("http://evil.example", 421),
        ("http://127.0.0.1.evil.example:8000", 421),
        ("http://192.168.0.7:8000", 421),
    ):
        assert asked(live, None, base).get("/about").status_code == status, base


def test_other_hosts_by_address_or_by_name(live):
    """Where it listens to others, addresses will do, and names that were allowed."""
    guarding = Guarding(frozenset({"box.lab"}), addresses=True)
    assert asked(live, guarding, "http://192.168.0.7:8000").get("/about").status_code == 200
    assert asked(live, guarding, "http://box.lab:8000").get("/about").status_code == 200
    assert asked(live, guarding, "http://evil.example").get("/about").status_code == 421


@pytest.mark.parametrize("allowed", ["Box.lab:8000", "box.lab", "fe80::1", "[fe80::1]:8000"])
def test_a_name_may_be_allowed_with_its_port(allowed):
    """What is named, with or without a port, in brackets or not, is what requests may call it by."""
    guarding = Guarding(frozenset({allowed}))
    own, other = ("[fe80::1]", "box.lab") if "fe80" in allowed else ("box.lab", "[fe80::1]")
    assert all(guarding.knows(f"{own}{port}") for port in ("", ":8000", ":9"))
    assert not guarding.knows(other)


def test_the_token(live):
    """Without it nothing; with it once, a cookie, and an address without it."""
    client = asked(live, Guarding(token="secret"), "http://127.0.0.1:8000")
    assert client.get("/").status_code == 403
    assert client.get("/static/style.css").status_code == 403
    assert client.get("/?token=wrong").status_code == 403
    answer = client.get("/images?sort=hard&token=secret")
    assert (answer.status_code, answer.headers["location"]) == (303, "/images?sort=hard")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=lax" in answer.headers["set-cookie"].lower()
    assert client.get("/").status_code == 200
    other = asked(live, Guarding(token="another"), "http://127.0.0.1:8001")
    other.cookies = client.cookies
    assert other.get("/").status_code == 403
    assert other.get("/?token=another").status_code == 303
    assert client.get("/").status_code == 200  # two servers of one host do not shut each other out


def test_the_redirect_stays_here(live):
    """An address with two slashes leads to no other host."""
    client = asked(live, Guarding(token="secret"), "http://127.0.0.1:8000")
    answer = client.get("http://127.0.0.1:8000//evil.example/?token=secret")
    assert not answer.headers.get("location", "/").startswith("//")


def test_long_addresses_are_refused(client):
    """4,000 bytes are enough for any state."""
    assert client.get("/images", params={"q": "x" * 5000}).status_code == 414


@pytest.mark.parametrize("host", ["", "evil", "[::1", "127.0.0.1:80:80", "[::1]evil", "localhost:80x", "::1]"])
def test_odd_hosts(host):
    """A header that is no host is not known."""
    assert not Guarding().knows(host)
