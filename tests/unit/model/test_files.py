"""Files that users name: ordinary ones are read, secrets are for their owner alone."""

import os
from pathlib import Path

import pytest

from loadstone.host.files import write_private
from loadstone.model.errors import UsageError
from loadstone.model.files import read_bytes, read_text


def test_a_file_is_read_also_behind_a_link_and_without_its_byte_order_mark(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"\xef\xbb\xbft\xc3\xa4xt")
    link.symlink_to(file)
    assert read_text(link) == "t\u00e4xt" and read_bytes(file).endswith(b"xt")


def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path, Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(UsageError, match="not an ordinary file"):
            read_bytes(path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_bytes(tmp_path / "none")


def test_a_file_beyond_its_bound_and_one_of_another_encoding_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xff" * 11)
    with pytest.raises(UsageError, match="more than 10 bytes"):
        read_bytes(file, 10)
    with pytest.raises(UsageError, match="byte 0 is wrong"):
        read_text(file)


def test_a_secret_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("something longer")
    old.chmod(0o644)
    for path in (new, old):
        write_private(path, "secret")
        assert path.read_text() == "secret" and path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="cannot be written"):
        write_private(tmp_path / "none" / "file", "secret")
