"""The one runner: puts a deployment up, plays its rounds, and keeps, judges and seals what it measured."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from loadstone.host.locks import hold_measuring_sign
from loadstone.measure.agent import watch_agents
from loadstone.model.errors import LoadstoneError
from loadstone.model.records.status import Status
from loadstone.model.system import Clock
from loadstone.run import audit
from loadstone.run.deployment import Deployment, find_faulty_machine
from loadstone.run.executor import Executor, Listener
from loadstone.run.faults import Injector
from loadstone.run.hosts import disclose_hosts, on_fleet, open_fleet_for
from loadstone.run.lifecycle import seal_after
from loadstone.run.manifest import declare_manifest
from loadstone.run.power import Window, compute_window, make_meters, run_meters_of
from loadstone.run.rounds import AuditedSystem, Round
from loadstone.run.signals import Signals
from loadstone.run.spec import Begin, RunSpec
from loadstone.store.folder import ResultFolder
from loadstone.store.layout import LOGS
from loadstone.store.read import FAULT
from loadstone.testbed import refuse_impossible, refuse_unreachable


def check(spec: RunSpec) -> Deployment:
    """Checks what can be checked before anything is started; returns what is deployed. Raises LoadstoneError."""
    deployment = Deployment(spec)
    deployment.check()
    find_faulty_machine(deployment)
    return deployment


async def run(spec: RunSpec, listener: Listener, begin: Begin) -> Path:
    """Makes a run; returns the result folder, which is judged and marked with how far it got. Raises LoadstoneError."""
    deployment = check(spec)
    machines = [*deployment.declared_machines, *(machine.spec for machine in deployment.plan_machines())]
    if spec.fleet is None:
        await refuse_impossible(machines)
    else:  # its hosts report what they cannot create
        refuse_unreachable(machines)
    make_meters(spec.power)
    with Signals() as signals:
        folder = ResultFolder.create(spec.results, declare_manifest(spec))
        with hold_measuring_sign() as alone:
            folder.change(was_alone=alone or spec.clock is Clock.VIRTUAL)
            await seal_after(folder, _execute(deployment, folder, listener, begin, signals))
    if signals.was_heard_late:
        raise KeyboardInterrupt
    return folder.path


async def _execute(
    deployment: Deployment, folder: ResultFolder, listener: Listener, begin: Begin, signals: Signals
) -> tuple[Status, str]:
    spec, logs = deployment.spec, folder.path / LOGS
    folder.change(notices=await deployment.check_target())
    async with (
        watch_agents(spec.agents, deployment.authority) as hosts,
        open_fleet_for(spec.fleet, logs) as fleet,
        deployment.open(logs, fleet) as deployed,
        run_meters_of(spec.power, logs) as power,
    ):
        testbed = replace(deployed, hosts=hosts) if fleet is None else on_fleet(deployed, hosts, fleet)
        cores = deployment.choose_cores()
        folder.change(
            target=testbed.about, machines=testbed.collect_facts(), hosts=disclose_hosts(fleet), driver_cores=cores
        )
        folder.mark(Status.RUNNING)
        executor = Executor(testbed, listener, spec.joining, fleet, cores or "")
        playing = _Playing(deployment, folder, executor, begin, [])
        try:
            with signals.report_to(executor.interrupt):
                status, reason = await playing.play_all()
        finally:  # whatever else fails, now or as the system is ended, follows from these
            folder.change(troubles=tuple(executor.troubles))
        # The facts may have changed, such as the active side of a pair and how long it held its outputs.
        folder.change(machines=testbed.collect_facts(), power=power.summarize(playing.windows))
    return status, reason


@dataclass
class _Playing:
    """Rounds on a testbed that is up."""

    deployment: Deployment
    folder: ResultFolder
    executor: Executor
    begin: Begin
    windows: list[Window]
    """Measured windows of the rounds so far."""

    async def play_all(self) -> tuple[Status, str]:
        """Plays all rounds; returns how far it got, and why."""
        executor = self.executor
        for number, load in enumerate(self.deployment.plan_rounds()):
            if executor.interrupted:
                return Status.INTERRUPTED, "ended by a signal; later iterations were not begun"
            await self._restore_data(is_first=number == 0)
            if load.beginning is not None:
                self.begin(load.beginning)
            await self._play(load)
            if executor.troubles and not executor.interrupted:
                return Status.FAILED, "; ".join(map(str, executor.troubles))
        if executor.interrupted:
            return Status.INTERRUPTED, "ended by a signal; what was measured by then is kept"
        return Status.COMPLETE, ""

    async def _restore_data(self, *, is_first: bool) -> None:
        """Resets the data to its initial state, which it has before the first round."""
        data = self.executor.testbed.data
        if data is None:
            return
        if not is_first:
            await data.put()
        self.folder.change(data=str(data))

    async def _play(self, load: Round) -> None:
        """Plays one round, and reads before and after it what audited applications hold."""
        jobs = load.prepare(self.executor.testbed, self.folder)
        before = [await audit.read_holdings(system.target) for system in jobs.audits]
        injector = self.executor.injector = self._injector(load)
        await self.executor.execute(jobs.jobs)
        self.windows.append(compute_window(self.executor, load.phases))
        if injector is not None:
            self.folder.change(faults=(*self.folder.manifest.faults, injector.describe()))
            if (record := injector.conclude()) is not None:
                for folder in (folder for job in jobs.jobs for folder in job.folders.values()):
                    folder.write(FAULT, asdict(record))
        await self._audit(jobs.audits, before)

    def _injector(self, load: Round) -> Injector | None:
        machine, fault = find_faulty_machine(self.deployment), self.deployment.spec.fault
        if machine is None or fault is None or load.beginning is None:
            return None
        return Injector(self.executor.testbed.machines[str(machine.name)], fault, load.phases)

    async def _audit(self, systems: Sequence[AuditedSystem], before: Sequence[audit.Holdings | None]) -> None:
        for system, holdings in zip(systems, before, strict=True):
            try:
                after = await audit.read_holdings(system.target)
            except LoadstoneError:
                if self.deployment.spec.fault is None:
                    raise
                continue  # a machine that is down on purpose does not answer
            audit.write_audits(system.folders, holdings, after)
