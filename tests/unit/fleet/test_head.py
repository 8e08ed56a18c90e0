"""What of a cluster's head answers: nothing without TLS and a token."""

import asyncio
from pathlib import Path

import pytest

from loadstone.fleet import bootstrap
from loadstone.fleet.cluster import Keys
from loadstone.fleet.remote_shell import Shell
from loadstone.model.fleet import FleetSpec


def test_a_head_is_started_without_what_answers_strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts: list[str] = []

    async def run(_: Shell, script: str, *__: object, **___: object) -> str:
        scripts.append(script)
        return ""

    monkeypatch.setattr(Shell, "run", run)
    (tmp_path / "token").write_text("0" * 64)
    (tmp_path / "token").chmod(0o600)
    spec = FleetSpec.model_validate({"hosts": {"a": {"roles": ["driver"], "addresses": {"public": "127.0.0.1"}}}})
    asyncio.run(bootstrap.start_head(spec, Keys(tmp_path)))
    (script,) = scripts
    assert "--no-monitor" in script and "--include-dashboard=false" in script
    assert "RAY_USE_TLS=1" in script and "RAY_AUTH_MODE=token" in script
