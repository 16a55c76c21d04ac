"""The shape of the project: what may import what, how large a room may be, its names."""

import ast
import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).parent.parent
PACKAGES = ("events", "projections", "actors", "bot")
ALLOWED_TOP = {
    *PACKAGES,
    "tests",
    "pyproject.toml",
    "ray_cluster.yaml",
    "README.md",
    "LICENSE",
    "requirements.txt",
}
HOMES = {
    "ray": ("actors/cluster/",),
    "hikari": (
        "actors/delivery/past.py",
        "actors/delivery/rest_client.py",
        "actors/delivery/single_attempt.py",
        "actors/delivery/webhook_calls.py",
        "bot/",
    ),
    "duckdb": ("events/", "actors/read_models/"),
    "aiohttp": (
        "actors/transport.py",
        "actors/gate/pinned.py",
        "actors/gate/fetching.py",
        "actors/delivery/wire.py",
        "bot/",
    ),
}
"""The only rooms that may import a technology."""


def sources() -> Iterator[Path]:
    """Yield the modules of the four packages."""
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def names_of(path: Path) -> Iterator[str]:
    """Yield the top-level names that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_the_top_level_is_fixed() -> None:
    """Outside programs rely on the layout."""
    git = shutil.which("git")
    assert git is not None
    listed = subprocess.run(  # noqa: S603 - git, with fixed arguments
        [git, "ls-files"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    top = {line.partition("/")[0] for line in listed.stdout.splitlines()}

    assert {name for name in top if not name.startswith(".")} <= ALLOWED_TOP


@pytest.mark.parametrize("technology", HOMES)
def test_a_technology_is_a_detail_of_few_rooms(technology: str) -> None:
    """Everything else can be tested, and replaced, without it."""
    for path in sources():
        where = path.relative_to(ROOT).as_posix()
        if not where.startswith(HOMES[technology]):
            assert technology not in set(names_of(path)), where


def test_rooms_are_small() -> None:
    """A module of more than 400 lines holds two subjects."""
    long = {path.name: len(path.read_text().splitlines()) for path in sources()}

    assert {name: lines for name, lines in long.items() if lines > 400} == {}


def test_every_room_says_what_it_is_for() -> None:
    """The repository is read alone."""
    assert [
        str(path) for path in sources() if not ast.get_docstring(ast.parse(path.read_text()))
    ] == []


def test_no_room_is_a_grab_bag() -> None:
    """A function without a home names a missing module."""
    banned = {"utils", "helpers", "common", "misc", "manager"}

    assert [str(path) for path in sources() if path.stem in banned] == []


def test_a_turn_actor_imports_neither_hikari_nor_duckdb() -> None:
    """They would cost it a second and 70 MB."""
    check = (
        "import sys, actors.cluster.hosts;"
        "print([m for m in ('hikari', 'duckdb') if m in sys.modules])"
    )
    found = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "[]"


def test_ray_cluster_yaml_passes_rays_own_check() -> None:
    """A cluster that can't be brought up is found here, not on the day."""
    text = (ROOT / "ray_cluster.yaml").read_text()

    validate_config(prepare_config(yaml.safe_load(text)))


def test_a_mistake_in_ray_cluster_yaml_would_be_found() -> None:
    """The check above can fail."""
    config = yaml.safe_load((ROOT / "ray_cluster.yaml").read_text())
    config["max_wokers"] = 2

    jsonschema = importlib.import_module("jsonschema")
    with pytest.raises(jsonschema.ValidationError):
        validate_config(prepare_config(config))


def test_ci_runs_what_the_readme_tells_people_to_run() -> None:
    """The script reads the command from the README; it must find one."""
    readme = (ROOT / "README.md").read_text()

    assert "<!-- tests -->\n```sh\n" in readme
    assert "<!-- demo -->\n```sh\n" in readme
