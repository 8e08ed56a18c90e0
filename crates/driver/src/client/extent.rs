//! How much of an operation is performed.

use loadstone_schedule::stationary::Midway;

/// How much of an operation is performed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    Whole,
    /// The page without its files, so that the server knows of it.
    Page,
    /// What is left of it.
    Rest(Midway),
}
