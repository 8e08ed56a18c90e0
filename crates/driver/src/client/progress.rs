//! How far an operation has come: counted as it is performed, and kept when it fails half-way.

use std::cell::{Cell, RefCell};

use loadstone_record::outcome::Before;
use loadstone_record::OperationTally;

use super::extent::Extent;
use crate::ending::Ended;
use crate::transport::Answer;

/// What performing an operation amounted to so far, kept when it fails half-way.
#[derive(Default)]
pub struct Progress {
    pub bytes: Cell<u64>,
    pub end_ns: Cell<u64>,
    pub first_byte_ns: Cell<Option<u64>>,
    pub page_bytes: Cell<u64>,
    pub tally: Cell<OperationTally>,
    /// Requests around the page that were answered, a bit for each place.
    pub requests_beside: Cell<u64>,
    pub ended: RefCell<Option<Ended>>,
    pub before: Cell<Before>,
    /// Of the latest answer to its page.
    pub status: Cell<u16>,
    /// Whether an answer to it set a cookie, those of its files left aside.
    pub sets_cookie: Cell<bool>,
    /// The operation whose answer is taken for the words that its answers have in common; none where it is not.
    pub compared: Cell<Option<usize>>,
    /// The step of an exchange over a WebSocket that is being taken, from 1 on.
    pub step: Cell<usize>,
}

impl Progress {
    /// Adds an answer to it.
    pub(super) fn take(&self, answer: &Answer) {
        self.bytes.set(self.bytes.get() + answer.bytes);
        self.count(|tally| tally.body_bytes += answer.body_bytes);
        self.end_ns.set(self.end_ns.get().max(answer.end_ns));
    }

    /// Notes what lay before the run of an operation whose rest is asked for.
    pub(super) fn take_up(&self, extent: Extent, from: u64) {
        if let (Extent::Rest(midway), true) = (extent, from > 0) {
            self.before.set(Before { ns: midway.done_ns, bytes: from });
        }
    }

    /// Changes its counts.
    pub(super) fn count(&self, change: impl FnOnce(&mut OperationTally)) {
        let mut tally = self.tally.get();
        change(&mut tally);
        self.tally.set(tally);
    }

    /// A request around the page was answered, by its place.
    pub(super) fn asked(&self, number: usize) {
        let place = 1u64.checked_shl(number as u32).unwrap_or(0);
        self.requests_beside.set(self.requests_beside.get() | place);
    }

    /// Notes how many pictures the page names.
    pub(super) fn named(&self, images: usize) {
        self.count(|tally| tally.images_named += images as u64);
    }

    /// Notes that one of them came, by its length.
    pub(super) fn loaded(&self, bytes: u64) {
        self.count(|tally| {
            tally.images_loaded += 1;
            tally.image_bytes += bytes;
        });
    }

    /// Notes that an embedded file came, and whether it was asked for conditionally and is as it was.
    pub(super) fn embedded(&self, conditional: bool, not_modified: bool) {
        self.count(|tally| {
            tally.embedded += 1;
            tally.conditional += u64::from(conditional);
            tally.not_modified += u64::from(not_modified);
        });
    }
}
