"""One page over and over with Locust's fast client."""

import os

from locust import FastHttpUser, constant, task


class Visitor(FastHttpUser):
    """Fetches the page without a pause."""

    wait_time = constant(0)
    insecure = True

    @task
    def page(self) -> None:
        """Fetches it."""
        self.client.get(os.environ["BENCH_PATH"])
