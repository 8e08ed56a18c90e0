//! How much of a log is about what: bytes by the kind of its events. Pure.

use std::ops::{AddAssign, Sub};

/// What an event of the log is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A packet that the machine received.
    Network,
    /// A request of a disk that was done, and what a shared disk's reads brought.
    Disk,
    /// A clock that was read, and the instants at which timers were looked at.
    Clock,
    /// An interrupt or an exception.
    Interrupt,
    /// Work of devices that was put off, and what ends or resets the machine.
    Other,
}

impl EventKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [EventKind; 5] =
        [EventKind::Network, EventKind::Disk, EventKind::Clock, EventKind::Interrupt, EventKind::Other];

    /// The kind of an event's code (`replay/replay-internal.h` of QEMU 7.2).
    pub fn from_code(code: u8) -> EventKind {
        match code {
            9 => EventKind::Network,
            8 => EventKind::Disk,
            28..=31 | 34..=36 => EventKind::Clock,
            1 | 2 => EventKind::Interrupt,
            _ => EventKind::Other,
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Network => "network",
            EventKind::Disk => "disk",
            EventKind::Clock => "clock",
            EventKind::Interrupt => "interrupt",
            EventKind::Other => "other",
        }
    }
}

/// Bytes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume([u64; EventKind::ALL.len()]);

impl Volume {
    /// Counts bytes of a kind.
    pub fn add(&mut self, kind: EventKind, bytes: u64) {
        self.0[kind as usize] += bytes;
    }

    /// Bytes of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each kind's name and bytes.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        EventKind::ALL.iter().map(|kind| (kind.name(), self.0[*kind as usize]))
    }
}

impl AddAssign for Volume {
    fn add_assign(&mut self, other: Volume) {
        self.0.iter_mut().zip(other.0).for_each(|(bytes, more)| *bytes += more);
    }
}

impl Sub for Volume {
    type Output = Volume;

    fn sub(mut self, other: Volume) -> Volume {
        self.0.iter_mut().zip(other.0).for_each(|(bytes, less)| *bytes -= less);
        self
    }
}
