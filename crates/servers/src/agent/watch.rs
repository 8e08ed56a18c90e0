//! The agent on a host that others run: it does nothing there but tell figures, to whoever has the token.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::net::SocketAddr;

use anyhow::{ensure, Context, Result};
use bytes::Bytes;
use http::{header, Method, StatusCode};
use procfs::process::all_processes;
use procfs::{CpuPressure, Current, CurrentSI, IoPressure, KernelStats, LoadAverage, MemoryPressure};
use serde_json::{json, Value};

use super::counters;
use crate::front::answer::{refusal, text, Answer};
use crate::front::{Request, Role};
use crate::Secure;

/// Variable of the environment with the token, which command lines would show to everyone.
pub const TOKEN: &str = "LOADSTONE_TOKEN";
/// Letters of the shortest token that is taken.
const SHORTEST: usize = 16;
/// Process groups that are told, those with most CPU time first.
const GROUPS: usize = 40;

/// How the figures are to be had; without any of it the agent is that of a machine of the laboratory.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Tell this host's figures over HTTP at this address of its own loopback network
    #[arg(long)]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub secure: Secure,
    /// Names and addresses that such a certificate is for
    #[arg(long = "name")]
    pub names: Vec<String>,
    /// Tell them on standard output, one line for each line of input (over ssh)
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
            ensure!(address.ip().is_loopback(), "{address} is no address of the loopback network: use --listen-tls");
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
}

impl Watch {
    /// Tells figures to those who have the token, where there is one.
    pub fn new(token: Option<String>) -> Self {
        Watch { token }
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
    async fn answer(&self, request: Request) -> Answer {
        if !self.may_know(&request) {
            return refusal(StatusCode::UNAUTHORIZED);
        }
        if request.method != Method::GET || request.path != "/look" {
            return refusal(StatusCode::NOT_FOUND);
        }
        match look() {
            Ok(value) => text(StatusCode::OK, "application/json", Bytes::from(value.to_string())),
            Err(error) => {
                eprintln!("loadstone-server agent: {error:#}");
                refusal(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }
}

/// Answers each line with figures, until there are no more.
pub fn by_line() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        line?;
        writeln!(out, "{}", look()?)?;
        out.flush()?;
    }
    Ok(())
}

/// The machine's counters, with its queue, its pressure and its process groups.
fn look() -> Result<Value> {
    let mut told = counters::look()?;
    told["host"] = rustix::system::uname().nodename().to_string_lossy().into_owned().into();
    told["kernel"] = super::kernel().into();
    told["running"] = json!(KernelStats::current()?.procs_running);
    told["load"] = json!(LoadAverage::current()?.one);
    told["pressure_us"] = pressure();
    told["groups"] = groups()?;
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

/// CPU seconds and resident bytes of process groups by the name of their leader; what ended children had used stands
/// with their parent.
fn groups() -> Result<Value> {
    struct Group {
        name: String,
        cpu: f64,
        resident: u64,
    }
    let mut known: BTreeMap<i32, Group> = BTreeMap::new();
    let ticks = procfs::ticks_per_second() as f64;
    for stat in all_processes()?.flatten().filter_map(|process| process.stat().ok()) {
        let own = stat.utime + stat.stime + stat.cutime.max(0) as u64 + stat.cstime.max(0) as u64;
        let group = known.entry(stat.pgrp).or_insert(Group { name: stat.comm.clone(), cpu: 0.0, resident: 0 });
        if stat.pid == stat.pgrp {
            group.name = stat.comm;
        }
        group.cpu += own as f64 / ticks;
        group.resident += stat.rss * procfs::page_size();
    }
    let mut sorted: Vec<_> = known.into_iter().collect();
    sorted.sort_by(|one, other| other.1.cpu.total_cmp(&one.1.cpu));
    let told = sorted
        .into_iter()
        .take(GROUPS)
        .map(|(id, group)| json!({ "group": id, "name": group.name, "cpu": group.cpu, "resident": group.resident }));
    Ok(told.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_tells_the_host_and_its_groups() {
        let told = look().expect("figures");
        assert!(told["cores"].as_u64() > Some(0));
        assert!(told["running"].as_u64() > Some(0));
        let groups = told["groups"].as_array().expect("a list");
        assert!(!groups.is_empty() && groups.len() <= GROUPS);
        assert!(groups.iter().all(|group| group["cpu"].as_f64() >= Some(0.0)));
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
