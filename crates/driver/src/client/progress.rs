//! How far an operation has come: counted as it is performed, and kept when it fails half-way.

use std::cell::{Cell, RefCell};

use loadstone_record::outcome::{Before, Beside};

use super::extent::Extent;
use crate::ending::Ended;
use crate::transport::Answer;

/// What performing an operation amounted to so far, kept when it fails half-way.
#[derive(Default)]
pub struct Progress {
    pub bytes: Cell<u64>,
    pub body_bytes: Cell<u64>,
    pub end_ns: Cell<u64>,
    pub first_byte_ns: Cell<Option<u64>>,
    pub page_bytes: Cell<u64>,
    pub embedded: Cell<u32>,
    pub conditional: Cell<u32>,
    pub not_modified: Cell<u32>,
    pub redirects: Cell<u32>,
    pub beside: Cell<Beside>,
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
        self.body_bytes.set(self.body_bytes.get() + answer.body_bytes);
        self.end_ns.set(self.end_ns.get().max(answer.end_ns));
    }

    /// Notes what lay before the run of an operation whose rest is asked for.
    pub(super) fn take_up(&self, extent: Extent, from: u64) {
        if let (Extent::Rest(midway), true) = (extent, from > 0) {
            self.before.set(Before { ns: midway.done_ns, bytes: from });
        }
    }

    fn beside(&self, change: impl FnOnce(&mut Beside)) {
        let mut beside = self.beside.get();
        change(&mut beside);
        self.beside.set(beside);
    }

    /// A request around the page was answered, by its place.
    pub(super) fn asked(&self, number: usize) {
        self.beside(|beside| beside.requests |= 1u64.checked_shl(number as u32).unwrap_or(0));
    }

    /// Notes how many pictures the page names.
    pub(super) fn named(&self, images: usize) {
        self.beside(|beside| beside.images_named += images as u32);
    }

    /// Notes that one of them came, by its length.
    pub(super) fn loaded(&self, bytes: u64) {
        self.beside(|beside| {
            beside.images_loaded += 1;
            beside.image_bytes += bytes;
        });
    }

    /// Notes that an embedded file came, and whether it was asked for conditionally and is as it was.
    pub(super) fn embedded(&self, conditional: bool, not_modified: bool) {
        self.embedded.set(self.embedded.get() + 1);
        self.conditional.set(self.conditional.get() + u32::from(conditional));
        self.not_modified.set(self.not_modified.get() + u32::from(not_modified));
    }
}
