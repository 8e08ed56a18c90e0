//! Which sessions of a population a thread plays, and when each is there.

use loadstone_schedule::plan::{Phases, PopulationStage};
use loadstone_schedule::population::presence;

use crate::session::SessionWindow;

/// Every `of`-th session of a population, with its place in ramp-up and ramp-down.
pub fn session_windows(
    (phases, path): (Phases, &[PopulationStage]),
    sessions: u64,
    index: u64,
    of: u64,
) -> impl Iterator<Item = SessionWindow> + use<'_> {
    let (first, last) = match (path.first(), path.last()) {
        (Some(first), Some(last)) => (u64::from(first.from), u64::from(last.to)),
        _ => (sessions, sessions),
    };
    (index..sessions).step_by(of as usize).filter_map(move |id| {
        let part = |length: u64, all: u64| (u128::from(length) * u128::from(id) / u128::from(all.max(1))) as u64;
        let (lead_ns, end_ns) = (phases.steady_start(), phases.steady_end());
        let mut times: Vec<_> = match path.is_empty() {
            true => std::iter::once(lead_ns..end_ns).collect(),
            false => presence(path, id).into_iter().map(|time| lead_ns + time.start..lead_ns + time.end).collect(),
        };
        if let Some(time) = times.last_mut().filter(|time| time.end == end_ns) {
            time.end += part(phases.ramp_down_ns, last);
        }
        let mut times = times.into_iter();
        let first_time = times.next()?;
        let is_new = first_time.start > lead_ns;
        let start_ns = if is_new { first_time.start } else { part(phases.ramp_up_ns, first) };
        Some(SessionWindow { id, start_ns, stop_ns: first_time.end, is_new, later: times.collect() })
    })
}
