"""What tests of random pipelines share."""

import logging
from collections.abc import Iterator

import pytest
from build_pipeline import Data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("pipelines"))


@pytest.fixture(scope="module")
def quiet() -> Iterator[None]:
    """No word of rows that are left out."""
    logger = logging.getLogger("easydata")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)
