//! Filling mailboxes before a run: every user's are emptied, and get their messages by the commands that all servers
//! know.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{anyhow, Context, Result};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use imap_codec::imap_types::response::{Data, Response};
use loadstone_schedule::rng::{Purpose, Stream};

use super::link::Link;
use super::mailbox::MailboxModel;
use super::user::write_next;
use super::workload::MailWorkload;
use crate::transport::Failure;

/// Users filled at once.
const AT_ONCE: usize = 16;

/// Fills the mailboxes of these sessions; each is told with the server its session goes to.
pub async fn populate(workload: &Arc<MailWorkload>, sessions: impl Iterator<Item = (u64, SocketAddr)>) -> Result<()> {
    let fill = |(session, address)| async move {
        let model = fill(workload, session, address).await;
        let named = |failure: Failure| anyhow!("{:?}: {}", failure.fault, failure.detail);
        let model =
            model.map_err(named).with_context(|| format!("cannot fill the mailboxes of {}", workload.user(session)))?;
        if let Ok(mut filled) = workload.filled.lock() {
            filled.insert(session, model);
        }
        Ok(())
    };
    stream::iter(sessions).map(fill).buffer_unordered(AT_ONCE).try_collect().await
}

async fn fill(workload: &MailWorkload, session: u64, address: SocketAddr) -> Result<MailboxModel, Failure> {
    let mut model = MailboxModel::new(workload.user(session), &workload.scale.folders);
    let mut link = Link::open(address).await?;
    link.command(&format!("LOGIN {} {}", model.user, workload.scale.password), None, |_| Ok(())).await?;
    let mut random = Stream::new(workload.seed, session, Purpose::Populate);
    let mut draft = Vec::new();
    let folders = model.folders.len() as u32;
    for at in 0..model.folders.len() {
        let name = model.folders[at].name.clone();
        let _ = link.command(&format!("CREATE {name}"), None, |_| Ok(())).await; // it may be there already
        empty(&mut link, &name).await?;
        let share = workload.scale.messages / folders + u32::from((at as u32) < workload.scale.messages % folders);
        for _ in 0..share {
            let bytes = workload.draw_size(&mut random);
            let held = write_next(&mut model, bytes, 0, &mut draft);
            link.command(&format!("APPEND {name}"), Some(&draft), |_| Ok(())).await?;
            model.folders[at].messages.push(held);
        }
    }
    link.command("LOGOUT", None, |_| Ok(())).await?;
    Ok(model)
}

/// Removes whatever an earlier run left.
async fn empty(link: &mut Link, name: &str) -> Result<(), Failure> {
    let mut exists = 0;
    let count = |response: &Response<'_>| {
        if let Response::Data(Data::Exists(count)) = response {
            exists = *count;
        }
        Ok(())
    };
    link.command(&format!("SELECT {name}"), None, count).await?;
    if exists > 0 {
        link.command("STORE 1:* +FLAGS.SILENT (\\Deleted)", None, |_| Ok(())).await?;
        link.command("EXPUNGE", None, |_| Ok(())).await?;
    }
    Ok(())
}
