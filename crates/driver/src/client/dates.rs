//! When files were last modified, as users' browsers know it from visits before the run: each file that may be asked for
//! conditionally is fetched once before the start, from each machine, and counted nowhere. Learning dates in the run
//! instead would make it depend on timing who asks for what.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
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
use crate::transport::{Body, Failure};

/// Longest time for the files of one machine; what it did not answer by then is never asked for conditionally.
const MOST: Duration = Duration::from_secs(10);

/// Learns the dates of all files; must be called where tasks may be spawned locally.
pub async fn learn(jobs: &[Arc<Job>]) -> Result<()> {
    let timer = Timer::new(Clock::standing())?;
    let ticking = tokio::task::spawn_local(timer.clone().run());
    let knows = |job: &&Arc<Job>| job.policy().protocol != Protocol::Null && conditional(job).next().is_some();
    for job in jobs.iter().filter(|job| !job.part.load.is_none()).filter(knows) {
        let common = Common { timer: timer.clone(), scratch: Rc::default() };
        let shared = Shared::new(job.clone(), common);
        let mut all = Vec::new();
        for server in &job.servers {
            let mut dates = vec![None; job.remembered];
            // What cannot be fetched shows in the run itself: its page fails there, with its reason.
            let _ = tokio::time::timeout(MOST, of_machine(&shared, server, &mut dates)).await;
            all.push(dates);
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

async fn of_machine(shared: &Shared, server: &Server, dates: &mut Dates) -> Result<(), Failure> {
    let (jar, dealt) = (RefCell::<Jar>::default(), Dealt::new(shared.job.seed, 0, shared.job.operations.len()));
    let shared_http2 = SharedConnections::default();
    let (tls, operation, turn) = (server.tls.as_ref(), 0, 0);
    let user = UserContext { server, tls, jar: &jar, dealt: &dealt, shared_http2: &shared_http2, operation, turn };
    let mut connections = [Scheme::Http, Scheme::Https].map(|scheme| (scheme, ClientConnection::new(scheme)));
    let values = Values::new(shared.job.script.slots.len());
    let mut known: HashMap<usize, Option<Box<str>>> = HashMap::new();
    for (operation, file, memory) in conditional(&shared.job) {
        if let Some(date) = file.file.and_then(|number| known.get(&number)) {
            dates[memory] = date.clone();
            continue;
        }
        let Some((scheme, connection)) = connections.iter_mut().find(|(scheme, _)| *scheme == operation.scheme) else {
            continue;
        };
        let with = Sending {
            values: &values,
            host: host(shared.job.policy().protocol, server, *scheme)?,
            is_secure: *scheme == Scheme::Https,
            jar: &jar,
            from: 0,
        };
        let path = |out: &mut Vec<u8>| file.path.render(&values, Encoding::Target, out);
        operation.write_get(&with, None, &mut connection.request, path);
        connection.inspector.reset(file.markers_every, 0);
        connection.wants_date = true;
        connection.exchange(shared, user, Body::Expected).await?;
        dates[memory] = connection.reader.last_modified.take().map(String::into_boxed_str);
        known.extend(file.file.map(|number| (number, dates[memory].clone())));
    }
    Ok(())
}
