//! When files were last modified, as users' browsers know it from visits before the run: each file that may be asked for
//! conditionally is fetched once before the start, from each machine, and counted nowhere. Learning dates in the run
//! instead would make it depend on timing who asks for what.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, Result};
use loadstone_schedule::plan::{Protocol, Scheme};
use loadstone_schedule::slots::Values;
use loadstone_schedule::template::Encoding;

use super::connection::{ClientConnection, SharedConnections, UserContext};
use super::cookies::Jar;
use super::dealt::Dealt;
use super::host::host;
use crate::clock::Clock;
use crate::job::{Dates, Job};
use crate::operation::{Compiled, EmbeddedFile, Sending};
use crate::server::Server;
use crate::shared::{Common, Shared};
use crate::timer::Timer;
use crate::transport::Body;

/// Longest time for a file.
const MOST_EACH: Duration = Duration::from_secs(10);
/// Longest time for the files of one machine.
const MOST: Duration = Duration::from_secs(60);

/// The dates of a machine's files, as far as they are learned.
struct Learned {
    dates: Dates,
    /// Files that the machine answered for.
    answers: usize,
}

/// A machine took too long.
struct Late;

/// Learns the dates of all files; must be called where tasks may be spawned locally. Fails where a machine answers for
/// some files and then takes longer than `MOST_EACH` for one, or than `MOST` for all: its users would ask for fewer files
/// conditionally than the workload does.
pub async fn learn(jobs: &[Arc<Job>]) -> Result<()> {
    let timer = Timer::new(Clock::standing())?;
    let ticking = tokio::task::spawn_local(timer.clone().run());
    let knows = |job: &&Arc<Job>| job.policy().protocol != Protocol::Null && conditional(job).next().is_some();
    for job in jobs.iter().filter(|job| !job.part.load.is_none()).filter(knows) {
        let common = Common { timer: timer.clone(), scratch: Rc::default() };
        let shared = Shared::new(job.clone(), common);
        let mut all = Vec::new();
        for server in &job.servers {
            let mut learned = Learned { dates: vec![None; job.remembered], answers: 0 };
            // What cannot be fetched shows in the run itself: its page fails there, with its reason.
            let over = tokio::time::timeout(MOST, of_machine(&shared, server, &mut learned)).await;
            if !matches!(over, Ok(Ok(()))) && learned.answers > 0 {
                bail!(explain_late(server, learned.answers));
            }
            all.push(learned.dates);
        }
        let _ = job.dates.set(all);
    }
    ticking.abort();
    Ok(())
}

fn conditional(job: &Job) -> impl Iterator<Item = (&Compiled, &EmbeddedFile, usize)> {
    let may_be_had = job.policy().warm_caches.is_some();
    job.operations.iter().flat_map(move |operation| {
        let files = operation.embedded.iter().filter(move |file| may_be_had || file.conditional > 0.0);
        files.filter_map(move |file| file.memory.map(|memory| (operation, file, memory)))
    })
}

fn explain_late(server: &Server, answers: usize) -> String {
    let side = [Scheme::Http, Scheme::Https].into_iter().find_map(|scheme| server.destination(scheme));
    let host = side.map_or("the server", |side| &side.host);
    let (each_s, seconds) = (MOST_EACH.as_secs(), MOST.as_secs());
    format!(
        "{host} answered for only {answers} of the files that users ask for conditionally: before the start, it may take \
         {each_s} s for each and {seconds} s for all. Users would ask for the others unconditionally, which is not what the \
         workload does. Check that the server answers single requests fast, and try again."
    )
}

async fn of_machine(shared: &Shared, server: &Server, learned: &mut Learned) -> Result<(), Late> {
    let (jar, dealt) = (RefCell::<Jar>::default(), Dealt::new(shared.job.seed, 0, shared.job.operations.len()));
    let shared_http2 = SharedConnections::default();
    let (tls, operation, turn) = (server.tls.as_ref(), 0, 0);
    let user = UserContext { server, tls, jar: &jar, dealt: &dealt, shared_http2: &shared_http2, operation, turn };
    let mut connections = [Scheme::Http, Scheme::Https].map(|scheme| (scheme, ClientConnection::new(scheme)));
    let values = Values::new(shared.job.script.slots.len());
    let mut known: HashMap<usize, Option<Box<str>>> = HashMap::new();
    for (operation, file, memory) in conditional(&shared.job) {
        if let Some(date) = file.file.and_then(|number| known.get(&number)) {
            learned.dates[memory] = date.clone();
            continue;
        }
        let Some((scheme, connection)) = connections.iter_mut().find(|(scheme, _)| *scheme == operation.scheme) else {
            continue;
        };
        let Ok(host) = host(shared.job.policy().protocol, server, *scheme) else { continue };
        let with = Sending { values: &values, host, is_secure: *scheme == Scheme::Https, jar: &jar, from: 0 };
        let path = |out: &mut Vec<u8>| file.path.render(&values, Encoding::Target, out);
        operation.write_get(&with, None, &mut connection.request, path);
        connection.inspector.reset(file.markers_every, 0);
        connection.wants_date = true;
        let exchange = connection.exchange(shared, user, Body::Expected);
        let is_answered = tokio::time::timeout(MOST_EACH, exchange).await.map_err(|_| Late)?.is_ok();
        learned.answers += usize::from(is_answered);
        let date = connection.reader.last_modified.take().filter(|_| is_answered).map(String::into_boxed_str);
        learned.dates[memory].clone_from(&date);
        known.extend(file.file.map(|number| (number, date)));
    }
    Ok(())
}
