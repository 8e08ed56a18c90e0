//! How good an operation was, by its limit.

use loadstone_record::outcome::Grade;
use loadstone_schedule::plan::Limit;

/// How long an operation of so many bytes may take and be tolerable; none where its limit does not say.
pub fn allowed_ns(limit: &Limit, bytes: Option<u64>) -> Option<u64> {
    match *limit {
        Limit::Time { tolerable_ns, .. } => Some(tolerable_ns),
        Limit::Rate { tolerable_bytes_per_s, .. } => {
            bytes.map(|bytes| (bytes as f64 * 1e9 / tolerable_bytes_per_s) as u64)
        }
        Limit::None => None,
    }
}

/// Sorts a performed operation by its limit.
pub fn grade(limit: &Limit, response_ns: u64, bytes: u64) -> Grade {
    let (good, tolerable) = match *limit {
        Limit::Time { good_ns, tolerable_ns } => (response_ns <= good_ns, response_ns <= tolerable_ns),
        Limit::Rate { good_bytes_per_s, tolerable_bytes_per_s } => {
            let rate = bytes as f64 * 1e9 / response_ns.max(1) as f64;
            (rate >= good_bytes_per_s, rate >= tolerable_bytes_per_s)
        }
        Limit::None => (true, true),
    };
    match (good, tolerable) {
        (true, _) => Grade::Good,
        (false, true) => Grade::Tolerable,
        (false, false) => Grade::Fail,
    }
}
