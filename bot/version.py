"""Which version of the program this is."""

import tomllib
from importlib import metadata
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "rejoinder"
"""The name it is installed under."""


def version() -> str:
    """Return the installed version, or in a checkout the one that it would be installed as."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        project = Path(__file__).parent.with_name("pyproject.toml")
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
