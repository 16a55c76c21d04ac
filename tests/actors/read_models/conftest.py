from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.read_models.read_models import ReadModels


@pytest.fixture
def models(tmp_path: Path) -> Iterator[ReadModels]:
    """An empty read model in a directory of its own."""
    opened = ReadModels(tmp_path / "read_models.duckdb", memory_limit="256MB")
    yield opened
    opened.close()
