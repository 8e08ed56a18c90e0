"""The platform that only records, known to the registry while a test runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from loadstone.platforms.kind import PlatformKind
from loadstone.platforms.registry import build_machine_kind, list_platform_kinds
from tests.unit.testbed.recorder import RECORDED, Recorder


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Recorder]:
    """A recorder whose platform is called `recorded`."""
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))
    recorder = Recorder()
    monkeypatch.setitem(cast(dict[str, PlatformKind], list_platform_kinds()), RECORDED, recorder.kind())
    build_machine_kind.cache_clear()
    yield recorder
    build_machine_kind.cache_clear()
