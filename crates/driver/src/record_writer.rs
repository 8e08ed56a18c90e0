//! What the sources of a run report - threads, and drivers that have joined - merged and written down in order.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use loadstone_record::event::{EndReason, Event, PartNames, EVENT_SCHEMA};
use loadstone_record::recorder::{CpuShare, IntervalRecord};
use loadstone_record::{Interval, Total, Totals};
use loadstone_schedule::plan::{Operation, Phase, Plan};

use crate::clock::{kernel_ns, reading_cost_ns, Clock};
use crate::report::{ticks, Report};

/// Writes an event as one line.
pub fn write(out: &mut dyn Write, event: &Event) -> Result<()> {
    serde_json::to_writer(&mut *out, event)?;
    out.write_all(b"\n")?;
    out.flush().context("the reader of the driver's events is gone")
}

/// An interval that not all sources have reported yet.
struct Pending {
    at_ns: u64,
    interval: Interval,
    active: u64,
    open: u64,
    cpu: Vec<f64>,
    reports: usize,
}

/// One workload's counts, merged.
struct PartAccumulator {
    names: PartNames,
    /// Intervals by their numbers; whole ones are gone, so that a long run needs no more memory than a short one.
    pending: BTreeMap<usize, Pending>,
    /// Of all sources that have reported. The first are taken: a copy of their histograms would take megabytes.
    totals: Option<Totals>,
    steady_ns: u64,
    cpu: Vec<f64>,
}

/// Merges what the sources report and writes events in order.
pub struct RecordWriter<'a> {
    plan: &'a Plan,
    out: &'a mut dyn Write,
    /// Threads and other drivers that report.
    sources: usize,
    parts: Vec<PartAccumulator>,
    /// Beginnings of the run's intervals, in order.
    begins: Vec<u64>,
    phase: Option<Phase>,
}

impl<'a> RecordWriter<'a> {
    /// Of a plan, whose intervals so many threads and other drivers report.
    pub fn new(plan: &'a Plan, out: &'a mut dyn Write, sources: usize) -> Self {
        let parts = plan.parts.iter().map(|part| {
            let operations: Vec<String> = part.workload.operations.iter().map(|one| one.name.clone()).collect();
            let files = |one: &Operation| one.embedded.iter().map(|file| file.path.clone()).collect();
            let files = part.workload.operations.iter().map(files).collect();
            let names = PartNames { workload: part.workload.name.clone(), operations, files };
            PartAccumulator { names, pending: BTreeMap::new(), totals: None, steady_ns: 0, cpu: Vec::new() }
        });
        let begins = ticks(&plan.phases).map(|(from, _)| from).collect();
        RecordWriter { plan, out, sources, parts: parts.collect(), begins, phase: None }
    }

    fn write(&mut self, event: &Event) -> Result<()> {
        write(self.out, event)
    }

    /// Writes the start.
    pub fn start(
        &mut self,
        clock: Clock,
        timer_slack_ns: u64,
        (drivers, clock_bound_ns): (usize, Option<u64>),
    ) -> Result<()> {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let ahead = clock.to_monotonic(0) as i64 - kernel_ns(rustix::time::ClockId::Monotonic) as i64;
        self.write(&Event::Start {
            schema: EVENT_SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            threads: self.plan.threads.max(1) * drivers as u32,
            drivers: drivers as u32,
            parts: self.parts.iter().map(|merged| merged.names.clone()).collect(),
            start_unix_ns: wall.saturating_add_signed(ahead),
            clock_cost_ns: reading_cost_ns(),
            timer_slack_ns,
            clock_bound_ns,
        })?;
        self.enter(self.plan.phases.at(0), 0)
    }

    fn enter(&mut self, phase: Phase, at_ns: u64) -> Result<()> {
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            self.write(&Event::Phase { phase: name_of(phase), at_ns })?;
        }
        Ok(())
    }

    /// Takes what a source reports, and writes what is whole by now.
    pub fn take(&mut self, report: Report) -> Result<()> {
        match report {
            Report::Event(event) => self.write(&event),
            Report::Interrupted | Report::Failed(_) => Ok(()), // the collector's matter
            Report::Totals { part, totals, cpu, steady_ns } => {
                let merged = &mut self.parts[part];
                match &mut merged.totals {
                    Some(all) => all.merge(&totals),
                    empty => *empty = Some(*totals),
                }
                merged.steady_ns = merged.steady_ns.max(steady_ns);
                merged.cpu.extend(cpu);
                Ok(())
            }
            Report::Interval { part, number, at_ns, interval, active, open, cpu } => {
                let merged = &mut self.parts[part];
                let operations = merged.names.operations.len();
                let pending = merged.pending.entry(number).or_insert_with(|| Pending::new(at_ns, operations));
                pending.interval.merge(&interval);
                pending.active += active;
                pending.open += open;
                pending.cpu.extend(cpu);
                pending.reports += 1;
                if pending.reports < self.sources {
                    return Ok(());
                }
                let whole = merged.pending.remove(&number);
                whole.map_or(Ok(()), |whole| self.interval(part, number, whole))
            }
        }
    }

    fn interval(&mut self, part: usize, number: usize, whole: Pending) -> Result<()> {
        let from_ns = self.begins.get(number).copied().unwrap_or(0);
        let phase = self.plan.phases.at(from_ns);
        self.enter(phase, from_ns)?;
        let record = IntervalRecord {
            part: self.parts[part].names.workload.clone(),
            at_ns: whole.at_ns,
            length_ns: whole.at_ns.saturating_sub(from_ns),
            phase: name_of(phase),
            sessions_active: whole.active,
            connections_open: whole.open,
            cpu: CpuShare { threads: whole.cpu },
            ..whole.interval.to_record()
        };
        self.write(&Event::Interval(Box::new(record)))
    }

    /// Writes the totals and the end.
    pub fn finish(&mut self, at_ns: u64, reason: EndReason) -> Result<()> {
        for at in 0..self.parts.len() {
            let merged = &mut self.parts[at];
            let cpu = CpuShare { threads: std::mem::take(&mut merged.cpu) };
            let totals = merged.totals.take().unwrap_or_else(|| Totals::new(merged.names.operations.len()));
            let event = Event::totals(&merged.names, merged.steady_ns, &totals, cpu);
            self.write(&event)?;
        }
        self.write(&Event::End { at_ns, reason })
    }
}

impl Pending {
    fn new(at_ns: u64, operations: usize) -> Self {
        Pending { at_ns, interval: Interval::new(operations), active: 0, open: 0, cpu: Vec::new(), reports: 0 }
    }
}

pub(crate) fn name_of(phase: Phase) -> String {
    serde_json::to_value(phase).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
