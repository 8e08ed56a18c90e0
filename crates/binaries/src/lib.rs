//! All programs, of one package, so that what they are built from is built once; and what those that have many
//! connections do first.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// Files wanted: two for each of half a million sessions. Only root may go beyond the system's limit.
const FILES: u64 = 1 << 20;

/// Takes all the files this process may open. What it may not is no error here: the driver reports what it lacked, and
/// `loadstone doctor` the limit.
pub fn raise_file_limit() {
    let given = getrlimit(Resource::Nofile).maximum;
    let wanted = given.map(|files| files.max(FILES));
    if setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum: wanted }).is_err() {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: given, maximum: given });
    }
}
