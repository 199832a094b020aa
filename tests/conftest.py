"""Options of the whole suite: ``--device`` runs it with another default device, ``--compiled`` also compiled."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)  # a busy machine is no failure
settings.load_profile("default")
pytest.register_assert_rewrite("tests.oracle")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="default device of every array that a test makes (default: cpu)")
    parser.addoption(
        "--compiled",
        choices=["eager", "inductor"],
        help="run each function over xp compiled too: traced and run one by one, or as machine code",
    )


def pytest_configure(config: pytest.Config) -> None:
    backend = config.getoption("--compiled")
    if backend:
        from tests.oracle import compiled

        compiled.start(backend)


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """The device that the suite runs on."""
    return str(request.config.getoption("--device"))


@pytest.fixture(scope="session", autouse=True)
def _default_device(device: str) -> None:
    if device != "cpu":
        import tnp

        tnp.set_default_device(device)
