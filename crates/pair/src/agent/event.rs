//! What the thread that decides takes: orders of the laboratory, and what threads that wait hand on.

use std::path::PathBuf;
use std::sync::mpsc::Sender;

use serde::Deserialize;

use super::channel::{Channel, Message};

/// What the laboratory says, a JSON object a line.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// QEMU runs, as this process
    Machine { pid: i32 },
    /// Keep frames from the machine, which is about to be saved, and its log from here on; say when it is saved
    Hold,
    /// Have its state written to the file `state` next to its memory, from the instant at which it stands still
    Save,
    /// It was saved, or could not be: give it frames again
    Resume { is_saved: bool },
    /// Copy the disk, which no other side shares, to a new file, and say when that is done; what is written meanwhile is noted
    Copy { to: PathBuf },
    /// The machine stands still: copy what was written since, once nothing is under way, and say whether it came to that
    CopyRest { to: PathBuf },
    /// Give the machine a frame, as its network would
    Give { frame: Vec<u8> },
    /// Wait for a secondary, and say where
    Protect,
    /// Go on without the secondary
    Unprotect,
    /// Take no log but so much more, up to the end of an event: for trials
    Stall { after: u64 },
    /// Break the channel, as a cut line would: for trials
    Cut,
    /// End the machine and leave
    Stop,
}

/// What a thread that waits hands on.
pub enum Event {
    Order(Order),
    /// Nobody gives orders any more.
    Orphaned,
    /// The keeper of this number is there.
    Kept(u64),
    /// The keeper of this number is gone.
    Unkept(u64),
    /// The machine sent a frame when its log was so long.
    Frame(Vec<u8>, u64),
    /// It is being saved, and all that it sent before has come.
    Saved,
    /// It has gone live, and all that it sent as it replayed has come.
    Live,
    /// The machine's frames have ended: it is gone.
    Silent,
    /// The disk cannot do what the machine asked; it is told so once this was answered.
    DiskFailed(String, Sender<()>),
    /// The machine writes to the disk that both sides share, when its log was so long; it does once it has the word.
    Write(u64, Sender<()>),
    /// The machine, which replays, has read what the primary's mark of this number told of.
    HasRead(u64),
    /// The machine does not do what the primary's did.
    Diverged(String),
    /// Another side serves the disk.
    Fenced,
    /// A secondary is there, waited for by this number.
    Joined(u64, Box<Channel>),
    /// Came over the channel of this number.
    Said(u64, Message),
    /// The channel of this number broke.
    Lost(u64, String),
}
