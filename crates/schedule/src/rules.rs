//! Rules that all sessions of a part of the plan follow: script, pacing, curve of the load.

use crate::plan::{Curve, Pacing, Part};
use crate::session::Script;
use crate::Nanos;

/// What all sessions of a part have in common.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    pub script: &'a Script,
    pub pacing: Pacing,
    pub curve: Option<&'a Curve>,
}

impl<'a> Rules<'a> {
    /// The rules of a part whose workload was compiled to `script`.
    pub fn of(part: &'a Part, script: &'a Script) -> Self {
        Rules { script, pacing: part.workload.pacing, curve: part.curve.as_ref() }
    }

    /// A drawn pause as it is at a moment of the run.
    pub(crate) fn bend(&self, pause: Nanos, at_ns: Nanos) -> Nanos {
        self.curve.map_or(pause, |curve| curve.bend(pause, at_ns))
    }
}
