//! Who is signed in: a cookie that any server of the site can read.

use loadstone_schedule::rng::scramble;

use crate::front::Request;
use crate::web::form::cookie;

/// Name of the cookie.
pub const SEAT: &str = "seat";
/// Sets signed-in visitors' cookies apart from guesses.
const SECRET: u64 = 0x5eed_0f0f_e7e2_77aa;

/// What somebody who is signed in shows.
pub fn ticket(person: i64) -> String {
    format!("{person}-{:016x}", scramble(person as u64 ^ SECRET))
}

/// Who shows a valid ticket.
pub fn seat(request: &Request) -> Option<i64> {
    let shown = cookie(request, SEAT)?;
    let person: i64 = shown.split_once('-')?.0.parse().ok()?;
    (ticket(person) == shown).then_some(person)
}
