"""How hard to attack."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rounds",
        type=int,
        default=1,
        help="Attack so many times as long as script/test does; 40 is the long form.",
    )


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    """How many times the short form's work a test does."""
    return int(request.config.getoption("--rounds"))
