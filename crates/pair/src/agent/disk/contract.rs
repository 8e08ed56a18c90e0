//! What a disk leaves to whoever decides for its side.

use std::io;

/// Who decides what a disk cannot; each call returns once that is done.
pub trait Decider {
    /// The file cannot do what the machine asked; it is told once this returns.
    fn failed(&self, error: &io::Error);
    /// Waits until a write to a shared disk may be done; false where it never may.
    fn may_write(&self) -> bool;
    /// The store did not say whose a shared disk is; it is asked again.
    fn waits(&self, error: &io::Error);
    /// Another side serves: this one's machine is to end.
    fn is_fenced(&self);
    /// Our machine does not ask for what the primary's did.
    fn diverged(&self, why: String);
    /// Our machine has read what the primary's mark of this number told of.
    fn has_read(&self, number: u64);
    /// Whether our machine went live, though the disk may not have been told.
    fn is_live(&self) -> bool;
}
