"""Disks of machines: never shorter than the file system that they begin with."""

from pathlib import Path

import pytest

from loadstone.platforms.vm import image

MIB = 1 << 20


@pytest.mark.parametrize(("asked_mib", "size"), [(0, []), (60, []), (100, []), (101, ["101M"]), (4096, ["4096M"])])
def test_an_overlay_is_never_shorter_than_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked_mib: int, size: list[str]
) -> None:
    base = tmp_path / "root.qcow2"
    base.write_bytes(b"QFI\xfb" + bytes(20) + (100 * MIB).to_bytes(8, "big") + bytes(100))
    commands: list[list[str]] = []
    monkeypatch.setattr(image, "run_tool", lambda argv, *_: commands.append(argv))
    image.create_overlay(base, tmp_path / "disk.qcow2", asked_mib)
    (command,) = commands
    assert command[-1 - len(size) :] == [str(tmp_path / "disk.qcow2"), *size]
