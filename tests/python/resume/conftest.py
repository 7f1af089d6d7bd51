"""What several tests of positions read."""

from pathlib import Path

import pytest
from token_pipelines import write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders of JSONL, one also as Parquet: documents of many lengths, some of them empty."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))
