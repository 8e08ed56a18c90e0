"""Marking what work came to, however it ended: a result folder is judged and sealed, a study's can be gone on with."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from loadstone.model.errors import DriverError, LoadstoneError
from loadstone.model.records.status import Status
from loadstone.run.judging import judge
from loadstone.store.folder import ResultFolder
from loadstone.store.study import StudyFolder

Work = Awaitable[tuple[Status, str]]
"""Says how far it got, and why."""


async def seal_after(folder: ResultFolder, work: Work) -> None:
    """Waits for the work of a result; marks the folder, judges what it holds and seals it, however the work ended.

    A failed driver is no error here: what it measured is kept. Raises whatever else ended the work.
    """
    try:
        status, reason = await work
    except DriverError as error:
        _close(folder, Status.FAILED, str(error))
    except LoadstoneError as error:
        _abandon(folder, Status.FAILED, str(error))
        raise
    except (KeyboardInterrupt, asyncio.CancelledError):
        _abandon(folder, Status.INTERRUPTED, "ended by a signal before the system under test was up")
        raise
    except BaseException as error:
        _abandon(folder, Status.FAILED, f"{type(error).__name__}: {error}")
        raise
    else:
        _close(folder, status, reason)


async def mark_after(folder: StudyFolder, work: Callable[[], Work]) -> None:
    """Does the work of a study under its lock and marks the folder; raises whatever ended the work."""
    with folder.hold_lock():
        folder.mark(Status.RUNNING)
        try:
            status, reason = await work()
        except LoadstoneError as error:
            folder.mark(Status.FAILED, str(error), datetime.now(UTC))
            raise
        except BaseException as error:
            folder.mark(Status.INTERRUPTED, f"ended by {type(error).__name__}", datetime.now(UTC))
            raise
        folder.mark(status, reason, datetime.now(UTC))


def _close(folder: ResultFolder, status: Status, reason: str) -> None:
    """Marks, judges and seals; what could not be written because the disk is full is said in the error that ends it."""
    try:
        folder.mark(status, reason, datetime.now(UTC))
        judge(folder.path)
        folder.seal()
    finally:
        folder.release()


def _abandon(folder: ResultFolder, status: Status, reason: str) -> None:
    """Closes a folder because of an error; another error on the way must not hide the first one."""
    with contextlib.suppress(LoadstoneError, OSError):
        _close(folder, status, reason)
