"""Tasks that run beside others end when they are told to."""

import asyncio

from loadstone.host.tasks import end_tasks


def test_a_task_ends_whose_cancellation_comes_with_the_answer_that_it_waits_for() -> None:
    async def play() -> bool:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def beat() -> None:
            await asyncio.wait_for(answer, 60)
            while True:
                await asyncio.sleep(60)

        task = asyncio.create_task(beat())
        await asyncio.sleep(0.05)  # it waits now
        answer.set_result(None)
        await asyncio.wait_for(end_tasks([task]), 30)
        return task.cancelled()

    assert asyncio.run(play())


def test_no_tasks_and_tasks_that_have_ended_are_no_trouble() -> None:
    async def fail() -> None:
        raise ValueError

    async def play() -> None:
        await end_tasks([])
        task = asyncio.create_task(fail())
        await end_tasks([task])
        await end_tasks([task])
        assert task.done()

    asyncio.run(play())
