"""The gate before any lookup: what it refuses, by the vectors TS1-TS20 of the specification."""

import pickle
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors import RemoteUrlPolicyError
from actors.gate.addresses import Policy, refusal
from actors.gate.urls import admitted, next_hop

PRODUCTION = Policy()
RELAXED = Policy(allow_private=True)
PERSONAL = Policy(allow_private=True, is_strict=True)


def code_of(url: str, policy: Policy = PRODUCTION) -> str:
    """Return why the gate refuses `url`, "" where it lets it through."""
    try:
        admitted(url, policy)
    except RemoteUrlPolicyError as error:
        return error.failure_code
    return ""


VECTORS = [
    ("TS1", "https://169.254.169.254/", PRODUCTION, "metadata_address"),
    ("TS1", "https://169.254.169.254/", RELAXED, "metadata_address"),
    ("TS2", "https://100.100.100.200/", RELAXED, "metadata_address"),
    ("TS2", "https://100.100.100.100/", RELAXED, ""),
    ("TS2", "https://100.100.100.100/", PRODUCTION, "blocked_address"),
    ("TS3", "https://[fd00:ec2::254]/", RELAXED, "metadata_address"),
    ("TS3", "https://[fd20:ce::254]/", RELAXED, "metadata_address"),
    ("TS4", "https://192.168.1.50/", PRODUCTION, "blocked_address"),
    ("TS4", "https://192.168.1.50/", RELAXED, ""),
    ("TS5", "https://[::ffff:10.0.0.1]/", PRODUCTION, "blocked_address"),
    ("TS5", "https://[64:ff9b::7f00:1]/", PRODUCTION, "blocked_address"),
    ("TS5", "https://[2002:7f00:1::]/", PRODUCTION, "blocked_address"),
    ("TS5", "https://[::7f00:1]/", PRODUCTION, "blocked_address"),
    ("TS5", "https://[fec0::1]/", PRODUCTION, "blocked_address"),
    ("TS6", "https://127.1/", RELAXED, "bad_host"),
    ("TS6", "https://2130706433/", RELAXED, "bad_host"),
    ("TS6", "https://0x7f.1/", RELAXED, "bad_host"),
    ("TS6", "https://0177.0.0.1/", RELAXED, "bad_host"),
    ("TS6", "https://0x7f000001/", PRODUCTION, "bad_host"),
    ("TS7", "https://a:b@api.example/", PRODUCTION, "userinfo"),
    ("TS7", "https://@api.example/", PRODUCTION, "userinfo"),
    ("TS8", "https://ok.example\\@10.0.0.1/", PRODUCTION, "bad_url"),
    ("TS9", "https://[fe80::1%25eth0]/", RELAXED, "bad_host"),
    ("TS16", "https://db.example:5432/", PRODUCTION, "blocked_port"),
    ("TS17", "http://api.example/", PRODUCTION, "bad_scheme"),
    ("TS19", "https://127.0.0.1:8080/", PERSONAL, "blocked_address"),
    ("TS20", "https://localhost./", PRODUCTION, "blocked_host"),
    ("TS20", "https://foo.localhost/", PRODUCTION, "blocked_host"),
    ("G5", "https://[::ffff:169.254.169.254]/", RELAXED, "metadata_address"),
    ("G5", "https://[64:ff9b::a9fe:a9fe]/", RELAXED, "metadata_address"),
    ("G5", "https://[2002:a9fe:a9fe::1]/", RELAXED, "metadata_address"),
    ("G5", "https://[2001:0:a9fe:a9fe::1]/", RELAXED, "metadata_address"),
    ("G5", "https://[2001:0:808:808::5601:5601]/", RELAXED, "metadata_address"),
    ("G6", "https://exa mple.com/", PRODUCTION, "bad_url"),
    ("G6", "https://example.com/\n", PRODUCTION, "bad_url"),
    ("G6", "https:///path", PRODUCTION, "bad_url"),
    ("G6", "https://", PRODUCTION, "bad_url"),
    ("G6", "", PRODUCTION, "bad_url"),
    ("G6", "https://ex%61mple.com/", PRODUCTION, "bad_host"),
    ("G6", "https://example.com:0/", PRODUCTION, "bad_url"),
    ("G6", "https://example.com:99999/", PRODUCTION, "bad_url"),
    ("G6", "https://example.com:port/", PRODUCTION, "bad_url"),
    ("G6", "https://example.com/" + "a" * 2_029, PRODUCTION, "bad_url"),
    ("G6", "file:///etc/passwd", RELAXED, "bad_url"),
    ("G6", "ftp://example.com/", RELAXED, "bad_scheme"),
    ("G6", "//example.com/", PRODUCTION, "bad_scheme"),
    ("G7", "https://printer.local/", PRODUCTION, "blocked_host"),
    ("G7", "https://metadata.google.internal/", PRODUCTION, "blocked_host"),
    ("G7", "https://a.home.arpa/", PRODUCTION, "blocked_host"),
    ("G7", "http://localhost:8080/v1", RELAXED, ""),
    ("G7", "https://LOCALHOST/", PRODUCTION, "blocked_host"),
    ("G7", "https://notlocalhost/", PRODUCTION, ""),
    ("G7", "https://a..example/", PRODUCTION, "bad_host"),
    ("G7", "https://10\u30020\uff0e0\uff611/", PRODUCTION, "blocked_address"),
    ("G7", "https://\uff11\uff12\uff17.0.0.1/", PRODUCTION, "blocked_address"),
    ("G7", "https://\uff4cocalhost/", PRODUCTION, "blocked_host"),
    ("G8", "https://example.com:80/", PRODUCTION, "blocked_port"),
    ("G8", "https://example.com:22/", RELAXED, "blocked_port"),
    ("G8", "http://10.0.0.1/", RELAXED, ""),
    ("G8", "https://example.com:8443/", PRODUCTION, ""),
]


@pytest.mark.parametrize(
    ("url", "policy", "code"),
    [pytest.param(*case, id=f"{name}-{index}") for index, (name, *case) in enumerate(VECTORS)],
)
def test_the_gate_knows_each_trick(url: str, policy: Policy, code: str) -> None:
    """Whoever names an address must not reach inside by spelling it in another way."""
    assert code_of(url, policy) == code


def test_ts12_a_redirect_inside_is_refused() -> None:
    """A host outside could lead inside else."""
    start = admitted("https://api.example/a", PRODUCTION)

    with pytest.raises(RemoteUrlPolicyError) as caught:
        next_hop(start, "https://10.0.0.1/", PRODUCTION)

    assert (caught.value.hostname, caught.value.failure_code) == ("10.0.0.1", "blocked_address")


@pytest.mark.parametrize(
    ("location", "code"),
    [
        (None, "redirect_no_location"),
        ("", "redirect_no_location"),
        ("http://api.example/", "redirect_forbidden"),
        ("//localhost/", "blocked_host"),
        ("https://a\\b/", "bad_url"),
        ("https://[x/", "bad_url"),
    ],
)
def test_g13_a_hop_is_judged_anew(location: str | None, code: str) -> None:
    """Each is a request of its own; here the operator lets the start be http too."""
    policy = RELAXED if code == "redirect_forbidden" else PRODUCTION

    with pytest.raises(RemoteUrlPolicyError) as caught:
        next_hop(admitted("https://api.example/a/b?k=1", policy), location, policy)

    assert caught.value.failure_code == code


def test_g13_a_relative_hop_stays_on_its_host() -> None:
    """Most redirects name a path alone."""
    start = admitted("https://api.example/a/b?k=1", PRODUCTION)

    assert str(next_hop(start, "../c", PRODUCTION)) == "https://api.example/c"


def test_g7_the_host_that_is_asked_is_the_canonical_one() -> None:
    """Certificate, lookup and floors must speak of the same name."""
    url = admitted("HTTPS://BÜCHER.example.:8443/x?y#z", PRODUCTION)

    assert str(url) == "https://xn--bcher-kva.example:8443/x?y"


@pytest.mark.parametrize(
    "url", ["https://user:hunter2@host.example/secret?key=hunter2", "http://host.example/?hunter2"]
)
def test_g17_a_refusal_names_the_host_alone(url: str) -> None:
    """Addresses carry keys; a refusal is logged."""
    with pytest.raises(RemoteUrlPolicyError) as caught:
        admitted(url, PRODUCTION)

    assert caught.value.hostname == "host.example"
    assert "hunter2" not in f"{caught.value!r} {caught.value}"
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.args == caught.value.args


INSIDE = st.sampled_from(["127.0.0.0/8", "10.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"]).flatmap(
    lambda net: st.ip_addresses(network=net)
)


@given(address=INSIDE)
def test_g5_no_ipv6_dress_lets_an_inner_address_through(address: IPv4Address) -> None:
    """There are five ways to write an IPv4 address as an IPv6 one."""
    low = int(address)
    dresses = (
        low,
        0xFFFF << 32 | low,
        0x64FF9B << 96 | low,
        0x2002 << 112 | low << 80,
        0x20010000 << 96 | (low ^ 0xFFFFFFFF),
    )

    assert all(refusal(IPv6Address(dress), PRODUCTION) for dress in dresses)
    for dress in dresses:
        assert code_of(f"https://[{IPv6Address(dress)}]/") in {
            "blocked_address",
            "metadata_address",
        }


def dotted(address: IPv4Address, form: str) -> str:
    """Return the address with each byte in the given format."""
    return ".".join(format(part, form) for part in address.packed)


SPELLINGS: tuple[Callable[[IPv4Address], str], ...] = (
    lambda address: str(int(address)),
    lambda address: hex(int(address)),
    lambda address: dotted(address, "#x"),
    lambda address: dotted(address, "04o"),
    lambda address: str(address).replace(".", "\u3002"),
    lambda address: str(address).replace(".", "\uff0e"),
    lambda address: f"{address}.",
)
"""Ways of writing an address that some resolver understands."""


@given(address=INSIDE, spell=st.sampled_from(SPELLINGS))
def test_g7_no_spelling_of_an_inner_address_passes(
    address: IPv4Address, spell: Callable[[IPv4Address], str]
) -> None:
    """`getaddrinfo` understands them all."""
    assert code_of(f"https://{spell(address)}/") != ""


@given(text=st.text(max_size=40), prefix=st.sampled_from(["", "https://", "https://a@", "http://"]))
def test_any_text_is_judged_without_another_error(text: str, prefix: str) -> None:
    """A parser's own exception would quote the address in a log."""
    code = code_of(prefix + text)

    if not code:
        assert str(admitted(prefix + text, PRODUCTION)).startswith("https://")
