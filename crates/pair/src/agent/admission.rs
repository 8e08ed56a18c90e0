//! The agent's control socket: keepers connect there, send orders and read reports, one after another.

use std::io::{BufRead, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::Sender;

use anyhow::{Context, Result};

use super::event::Event;
use super::keepers::{expect_keepers, replace_keeper};
use super::sources::read_order;
use super::threads::spawn;

/// Lets keepers connect at a socket from now on; what they order, and when they come and go, goes to `sender`.
pub fn admit(path: &Path, sender: Sender<Event>) -> Result<()> {
    let listener = UnixListener::bind(path).with_context(|| path.display().to_string())?;
    expect_keepers();
    spawn("keepers", move || {
        for (number, keeper) in (1..).zip(listener.incoming().map_while(Result::ok)) {
            // One that is gone already is none.
            let _ = begin_with(keeper, number, &sender);
        }
    })
}

fn begin_with(keeper: UnixStream, number: u64, sender: &Sender<Event>) -> Result<()> {
    let (orders, sender) = (keeper.try_clone()?, sender.clone());
    sender.send(Event::Kept(number))?;
    // Its end is noticed where its orders are read, also where it is gone already.
    let _ = replace_keeper(keeper);
    spawn("orders", move || {
        for line in BufReader::new(orders).lines().map_while(Result::ok) {
            read_order(&line, &sender);
        }
        let _ = sender.send(Event::Unkept(number));
    })
}
