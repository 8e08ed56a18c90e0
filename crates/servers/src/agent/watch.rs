//! The agent on a host that others run: it does nothing there but tell figures, to whoever has the token.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use bytes::Bytes;
use http::{header, Method, StatusCode};
use procfs::process::{all_processes, Stat};
use procfs::{CpuPressure, Current, CurrentSI, IoPressure, KernelStats, LoadAverage, MemoryPressure};
use serde_json::{json, Value};

use super::counters;
use super::system::kernel;
use crate::front::answer::{refusal, text, Answer};
use crate::front::patience::PATIENCE;
use crate::front::{Request, Role};
use crate::serving::Secure;

/// Variable of the environment with the token, which command lines would show to everyone.
pub const TOKEN: &str = "LOADSTONE_TOKEN";
/// Letters of the shortest token that is taken.
const SHORTEST: usize = 16;
/// Process groups that are told, those that used most since the look before first.
const GROUPS: usize = 200;

/// How the figures are to be had; without any of it the agent is that of a machine of the laboratory.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Loopback address at which this host's figures are served over HTTP
    #[arg(long)]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub secure: Secure,
    /// Names and addresses of the certificate
    #[arg(long = "name")]
    pub names: Vec<String>,
    /// Print the figures on standard output, one line for each line of input (over ssh)
    #[arg(long, conflicts_with_all = ["listen", "listen_tls"])]
    pub by_line: bool,
    /// End when standard input ends
    #[arg(long)]
    pub until_stdin_ends: bool,
}

impl Options {
    /// Whether figures of this host are asked for.
    pub fn is_wanted(&self) -> bool {
        self.by_line || self.listen.is_some() || self.secure.listen_tls.is_some()
    }

    /// The token; none where nobody else can come. Fails for a way that would let anyone in.
    pub fn token(&self) -> Result<Option<String>> {
        if let Some(address) = self.listen {
            ensure!(address.ip().is_loopback(), "{address} is not a loopback address: use --listen-tls");
        }
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
        if self.secure.listen_tls.is_some_and(|address| !address.ip().is_loopback()) {
            let given = token.as_deref().with_context(|| format!("a token is needed: set {TOKEN}"))?;
            ensure!(given.len() >= SHORTEST, "the token in {TOKEN} is shorter than {SHORTEST} letters");
        }
        Ok(token)
    }
}

/// The role.
pub struct Watch {
    token: Option<String>,
    ledger: Mutex<Ledger>,
}

impl Watch {
    /// Tells figures to those who have the token, where there is one.
    pub fn new(token: Option<String>) -> Self {
        Watch { token, ledger: Mutex::default() }
    }

    fn may_know(&self, request: &Request) -> bool {
        let Some(token) = &self.token else { return true };
        let given = request.headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
        is_same(given, format!("Bearer {token}").as_bytes())
    }
}

/// In a time that does not tell where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

impl Role for Watch {
    // Who asks does so on a connection of its own; strangers are not kept.
    const LONGEST_CONNECTION: Option<Duration> = Some(PATIENCE);

    async fn answer(&self, request: Request) -> Answer {
        if !self.may_know(&request) {
            return refusal(StatusCode::UNAUTHORIZED);
        }
        if request.method != Method::GET || request.path != "/look" {
            return refusal(StatusCode::NOT_FOUND);
        }
        match look(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner)) {
            Ok(value) => text(StatusCode::OK, "application/json", Bytes::from(value.to_string())),
            Err(error) => {
                eprintln!("loadstone-server agent: {error:#}");
                refusal(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }
}

/// Answers each line, which is the number of a turn, with figures and that number, until there are no more.
pub fn by_line() -> Result<()> {
    let mut out = std::io::stdout().lock();
    let mut ledger = Ledger::default();
    for line in std::io::stdin().lock().lines() {
        let turn: Option<u64> = line?.trim().parse().ok();
        let mut told = look(&mut ledger)?;
        told["turn"] = json!(turn);
        writeln!(out, "{told}")?;
        out.flush()?;
    }
    Ok(())
}

/// The machine's counters, with its queue, its pressure and its process groups.
fn look(ledger: &mut Ledger) -> Result<Value> {
    let mut told = counters::look()?;
    told["host"] = rustix::system::uname().nodename().to_string_lossy().into_owned().into();
    told["kernel"] = kernel().into();
    told["running"] = json!(KernelStats::current()?.procs_running);
    told["load"] = json!(LoadAverage::current()?.one);
    told["pressure_us"] = pressure();
    told["groups"] = ledger.groups(all_processes()?.flatten().filter_map(|process| process.stat().ok()));
    Ok(told)
}

/// Microseconds for which somebody waited (Linux, `Documentation/accounting/psi.rst`, `some`); empty where the kernel
/// does not count them.
fn pressure() -> Value {
    let mut told = BTreeMap::new();
    if let Ok(cpu) = CpuPressure::current() {
        told.insert("cpu", cpu.some.total);
    }
    if let Ok(memory) = MemoryPressure::current() {
        told.insert("memory", memory.some.total);
    }
    if let Ok(io) = IoPressure::current() {
        told.insert("io", io.some.total);
    }
    json!(told)
}

/// What process groups have used since the first look. Each process is followed by itself: a sum over those that live
/// would fall when one ends, and what its parent then takes over may belong to another group. What starts and ends
/// between two looks is not seen.
#[derive(Default)]
struct Ledger {
    /// Ticks of each process, by its id and start.
    processes: HashMap<(i32, u64), u64>,
    /// Ticks of each group since the first look.
    groups: HashMap<i32, u64>,
    has_looked: bool,
}

struct Group {
    name: String,
    since: u64,
    resident: u64,
}

impl Ledger {
    fn groups(&mut self, stats: impl Iterator<Item = Stat>) -> Value {
        let mut now: BTreeMap<i32, Group> = BTreeMap::new();
        let mut processes = HashMap::new();
        for stat in stats {
            let (key, used) = ((stat.pid, stat.starttime), stat.utime + stat.stime);
            let before = self.processes.get(&key).copied().unwrap_or(if self.has_looked { 0 } else { used });
            processes.insert(key, used);
            let group = now.entry(stat.pgrp).or_insert(Group { name: stat.comm.clone(), since: 0, resident: 0 });
            group.since += used.saturating_sub(before);
            group.resident += stat.rss * procfs::page_size();
            if stat.pid == stat.pgrp {
                group.name = stat.comm;
            }
        }
        self.processes = processes;
        self.has_looked = true;
        self.groups.retain(|id, _| now.contains_key(id));
        for (id, group) in &now {
            *self.groups.entry(*id).or_default() += group.since;
        }
        self.told(now)
    }

    /// CPU seconds since the first look, and resident bytes, by the name of the group's leader.
    fn told(&self, now: BTreeMap<i32, Group>) -> Value {
        let ticks = procfs::ticks_per_second() as f64;
        let mut sorted: Vec<_> = now.into_iter().collect();
        sorted.sort_by_key(|(_, group)| std::cmp::Reverse(group.since));
        let told = sorted.into_iter().take(GROUPS).map(|(id, group)| {
            let cpu = self.groups.get(&id).copied().unwrap_or(0) as f64 / ticks;
            json!({ "group": id, "name": group.name, "cpu": cpu, "resident": group.resident })
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_tells_the_host_and_its_groups() {
        let told = look(&mut Ledger::default()).expect("figures");
        assert!(told["cores"].as_u64() > Some(0));
        assert!(told["running"].as_u64() > Some(0));
        let groups = told["groups"].as_array().expect("a list");
        assert!(!groups.is_empty() && groups.len() <= GROUPS);
        assert!(groups.iter().all(|group| group["cpu"].as_f64() >= Some(0.0)));
    }

    #[test]
    fn a_group_uses_what_its_processes_use_whoever_ends() {
        let own = procfs::process::Process::myself().and_then(|process| process.stat()).expect("this process");
        let stat = |pid: i32, ticks: u64| {
            let mut stat = own.clone();
            (stat.pid, stat.pgrp, stat.utime, stat.stime, stat.cutime) = (pid, 7, ticks, 0, 9000);
            stat
        };
        let mut ledger = Ledger::default();
        let mut cpu = |stats: Vec<Stat>| {
            let told = ledger.groups(stats.into_iter());
            told[0]["cpu"].as_f64().expect("seconds") * procfs::ticks_per_second() as f64
        };
        assert_eq!(cpu(vec![stat(7, 100), stat(8, 50)]), 0.0, "only what is used from now on");
        assert_eq!(cpu(vec![stat(7, 110), stat(8, 55), stat(9, 3)]), 18.0, "a new one counts whole");
        assert_eq!(cpu(vec![stat(7, 111)]), 19.0, "what ended falls out of no sum");
    }

    #[test]
    fn who_has_no_token_is_told_nothing() {
        let ask = |token: Option<&str>, path: &str| {
            let mut headers = http::HeaderMap::new();
            if let Some(token) = token {
                headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().expect("a header"));
            }
            let (method, path, query) = (Method::GET, path.to_owned(), String::new());
            let request = Request { method, path, query, headers, body: Vec::new(), secure: true };
            let watch = Watch::new(Some("a token of some length".to_owned()));
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(watch.answer(request)).status().as_u16()
        };
        assert_eq!(ask(Some("a token of some length"), "/look"), 200);
        assert_eq!(ask(Some("a token of some length"), "/other"), 404);
        for wrong in [None, Some(""), Some("a token of some lengtH"), Some("a token of some length and more")] {
            assert_eq!(ask(wrong, "/look"), 401, "{wrong:?}");
        }
    }

    #[test]
    fn nobody_is_let_in_by_carelessness() {
        let at = |text: &str| Some(text.parse().expect("an address"));
        let open = Options { listen: at("0.0.0.0:7070"), ..Options::default() };
        assert!(open.token().expect_err("refused").to_string().contains("use --listen-tls"));
        let inside = Options { listen: at("127.0.0.1:7070"), ..Options::default() };
        assert!(inside.token().is_ok());
    }
}
