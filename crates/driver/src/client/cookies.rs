//! A user's cookies, as browsers keep and send them (RFC 6265bis): by domain, path, expiry and `Secure`. The crate
//! `cookie` reads `Set-Cookie`; which cookies a request carries is decided here without an allocation, and tests hold it
//! against the crate `cookie_store`.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use cookie::Cookie;
use memchr::memmem;

/// Cookies kept at most; the oldest gives way, as in browsers (RFC 6265, section 6.1 asks for at least 50).
const MOST_COOKIES: usize = 50;
/// Bytes of a cookie's name and value together, beyond which browsers take no notice of it (RFC 6265bis, section 5.6).
const MOST_COOKIE_BYTES: usize = 4096;
/// How a request's second line begins.
const HOST: &[u8] = b"Host: ";

/// Where a request goes, as far as its cookies depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The name of the server, without its port.
    pub host: &'a str,
    /// The path, without its query.
    pub path: &'a str,
    pub is_secure: bool,
}

impl<'a> Origin<'a> {
    /// The origin of a request as the driver writes it: its second line is the field `Host`.
    pub fn of(request: &'a [u8], is_secure: bool) -> Self {
        let (path, host) = places(request);
        Origin { host: text(&request[host]), path: text(&request[path]), is_secure }
    }

    /// The path that a cookie without one belongs to (RFC 6265, section 5.1.4).
    fn default_path(&self) -> &'a str {
        match self.path.rfind('/') {
            Some(0) | None => "/",
            Some(at) if self.path.starts_with('/') => &self.path[..at],
            Some(_) => "/",
        }
    }

    fn is_address(&self) -> bool {
        self.host.starts_with('[') || self.host.parse::<std::net::Ipv4Addr>().is_ok()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("")
}

/// The places of the path without its query and of the host without its port, in a request.
fn places(request: &[u8]) -> (Range<usize>, Range<usize>) {
    let find = |byte: u8, from: usize| memchr::memchr(byte, &request[from..]).map_or(request.len(), |at| from + at);
    let from = (find(b' ', 0) + 1).min(request.len());
    let end = find(b' ', from);
    let query = find(b'?', from).min(end);
    let line = (find(b'\n', end) + 1).min(request.len());
    let begin = if request[line..].starts_with(HOST) { line + HOST.len() } else { request.len() };
    let stop = find(b'\r', begin);
    let port = memchr::memrchr(b':', &request[begin..stop]).map(|at| begin + at);
    let port = port.filter(|&at| request[at + 1..stop].iter().all(u8::is_ascii_digit));
    (from..query, begin..port.unwrap_or(stop))
}

/// Whether `host` is `domain` or lies within it (RFC 6265, section 5.1.3).
fn is_within(host: &str, domain: &str) -> bool {
    let (host, domain) = (host.as_bytes(), domain.as_bytes());
    let Some(before) = host.len().checked_sub(domain.len()) else { return false };
    host[before..].eq_ignore_ascii_case(domain) && (before == 0 || host[before - 1] == b'.')
}

/// Whether a cookie of `path` is sent with a request for `asked` (RFC 6265, section 5.1.4).
fn is_below(asked: &str, path: &str) -> bool {
    asked.strip_prefix(path).is_some_and(|rest| rest.is_empty() || path.ends_with('/') || rest.starts_with('/'))
}

/// A cookie that a user holds.
#[derive(Clone, Debug)]
struct Kept {
    name: String,
    value: String,
    domain: Box<str>,
    path: Box<str>,
    /// Sent to the very host alone that set it.
    is_of_host: bool,
    is_secure: bool,
    /// Seconds since 1970-01-01; None until the user leaves.
    expires_s: Option<i64>,
    created: u64,
}

impl Kept {
    fn is_over(&self, now_s: i64) -> bool {
        self.expires_s.is_some_and(|expires_s| expires_s <= now_s)
    }

    fn is_sent_to(&self, origin: &Origin<'_>) -> bool {
        let is_here = match self.is_of_host {
            true => origin.host.eq_ignore_ascii_case(&self.domain),
            false => is_within(origin.host, &self.domain),
        };
        is_here && is_below(origin.path, &self.path) && (origin.is_secure || !self.is_secure)
    }
}

/// The cookies one user holds, in the order in which they are sent.
#[derive(Clone, Debug, Default)]
pub struct Jar {
    kept: Vec<Kept>,
    created: u64,
}

impl Jar {
    /// Takes a `Set-Cookie` value that the answer to a request has; what browsers would not keep is passed over.
    pub fn take(&mut self, field: &str, origin: &Origin<'_>) {
        self.take_at(field, origin, now_s());
    }

    fn take_at(&mut self, field: &str, origin: &Origin<'_>, now_s: i64) {
        let Ok(cookie) = Cookie::parse(field) else { return };
        let (name, value) = (cookie.name(), cookie.value());
        let is_secure = cookie.secure() == Some(true);
        let declared = cookie.domain().map(|domain| domain.trim_start_matches('.')).filter(|domain| !domain.is_empty());
        let is_of_host = declared.is_none() || origin.is_address();
        let domain = declared.unwrap_or(origin.host);
        let path = cookie.path().filter(|path| path.starts_with('/')).unwrap_or(origin.default_path());
        let is_elsewhere = match is_of_host {
            true => !domain.eq_ignore_ascii_case(origin.host),
            false => !is_within(origin.host, domain) || (!domain.contains('.') && domain.len() != origin.host.len()),
        };
        let is_hosts_own = declared.is_none() && is_secure && cookie.path() == Some("/");
        if name.len() + value.len() > MOST_COOKIE_BYTES
            || is_elsewhere
            || (is_secure && !origin.is_secure)
            || (has_prefix(name, "__Secure-") && !is_secure)
            || (has_prefix(name, "__Host-") && !is_hosts_own)
            || (!origin.is_secure && self.would_hide(name, domain, path))
        {
            return;
        }
        let expires_s = match (cookie.max_age(), cookie.expires_datetime()) {
            (Some(age), _) => Some(now_s.saturating_add(age.whole_seconds())),
            (None, Some(expires)) => Some(expires.unix_timestamp()),
            (None, None) => declared_expiry(field),
        };
        let is_same =
            |kept: &Kept| kept.name == name && kept.domain.eq_ignore_ascii_case(domain) && *kept.path == *path;
        let held = self.kept.iter().position(is_same);
        let is_over = expires_s.is_some_and(|expires_s| expires_s <= now_s);
        match held {
            Some(at) if is_over => drop(self.kept.remove(at)),
            Some(at) => {
                let kept = &mut self.kept[at];
                (kept.is_of_host, kept.is_secure, kept.expires_s) = (is_of_host, is_secure, expires_s);
                if kept.value != value {
                    value.clone_into(&mut kept.value);
                }
            }
            None if is_over => {}
            None => {
                self.created += 1;
                self.put(Kept {
                    name: name.to_owned(),
                    value: value.to_owned(),
                    domain: domain.into(),
                    path: path.into(),
                    is_of_host,
                    is_secure,
                    expires_s,
                    created: self.created,
                });
            }
        }
    }

    /// Whether a cookie from an insecure answer would take the place of a secure one (RFC 6265bis, section 5.7).
    fn would_hide(&self, name: &str, domain: &str, path: &str) -> bool {
        self.kept.iter().any(|kept| {
            let is_near = is_within(&kept.domain, domain) || is_within(domain, &kept.domain);
            kept.is_secure && kept.name == name && is_near && is_below(path, &kept.path)
        })
    }

    /// Longer paths come first, then what was created earlier (RFC 6265, section 5.4).
    fn put(&mut self, new: Kept) {
        if self.kept.len() >= MOST_COOKIES {
            let oldest = (0..self.kept.len()).min_by_key(|&at| self.kept[at].created);
            oldest.map(|at| self.kept.remove(at));
        }
        let at = self.kept.iter().position(|kept| kept.path.len() < new.path.len()).unwrap_or(self.kept.len());
        self.kept.insert(at, new);
    }

    /// The value of a cookie, of several that with the longest path; none where there is no such.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.kept.iter().find(|kept| kept.name == name).map(|kept| kept.value.as_str())
    }

    /// Whether the user holds none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Appends the `Cookie` field to a request of which the first two lines stand in `out`, if there is anything to
    /// send: first the cookies that `declared` writes, then those that the user holds under other names.
    pub fn write(&self, is_secure: bool, declared: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        let (path, host) = places(out);
        let has_expiry = self.kept.iter().any(|kept| kept.expires_s.is_some());
        let now_s = if has_expiry { now_s() } else { 0 };
        let begun = out.len();
        out.extend_from_slice(b"Cookie: ");
        let first = out.len();
        declared(out);
        let pinned = first..out.len();
        for kept in &self.kept {
            let origin = Origin { host: text(&out[host.clone()]), path: text(&out[path.clone()]), is_secure };
            if kept.is_over(now_s) || !kept.is_sent_to(&origin) || is_named(&out[pinned.clone()], &kept.name) {
                continue;
            }
            if out.len() > first {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(kept.name.as_bytes());
            out.push(b'=');
            out.extend_from_slice(kept.value.as_bytes());
        }
        match out.len() > first {
            true => out.extend_from_slice(b"\r\n"),
            false => out.truncate(begun),
        }
    }

    /// Forgets all cookies: another user comes.
    pub fn clear(&mut self) {
        self.kept.clear();
    }
}

/// Whether the text of a `Cookie` field has a cookie of this name.
fn is_named(field: &[u8], name: &str) -> bool {
    let mut found = memmem::find_iter(field, name.as_bytes());
    found.any(|at| {
        let is_first = field[..at].iter().rev().find(|byte| **byte != b' ').is_none_or(|&byte| byte == b';');
        is_first && field.get(at + name.len()) == Some(&b'=')
    })
}

/// The expiry of a cookie whose date has none of the usual forms, in seconds since 1970-01-01.
fn declared_expiry(field: &str) -> Option<i64> {
    let mut attributes = field.split(';').skip(1).filter_map(|attribute| attribute.split_once('='));
    let (_, date) = attributes.find(|(name, _)| name.trim().eq_ignore_ascii_case("expires"))?;
    date_s(date)
}

/// A date as servers write it, in seconds since 1970-01-01 (RFC 6265, section 5.1.1): its parts in any order, a time zone
/// is passed over.
fn date_s(date: &str) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == ':';
    for part in date.split(|letter| !is_part(letter)).filter(|part| !part.is_empty()) {
        if time.is_none() && part.contains(':') {
            time = time_s(part);
        } else if let Some(number) = part.parse::<i64>().ok().filter(|_| day.is_none() && part.len() <= 2) {
            day = Some(number);
        } else if let (None, Some(number)) = (month, month_of(part)) {
            month = Some(number);
        } else if let Some(number) =
            part.parse::<i64>().ok().filter(|_| year.is_none() && (2..=4).contains(&part.len()))
        {
            year = Some(match number {
                70..=99 => number + 1900,
                0..=69 => number + 2000,
                _ => number,
            });
        }
    }
    let (time, day, month, year) = (time?, day?, month?, year?);
    ((1..=31).contains(&day) && year >= 1601).then(|| 86_400 * days_since_1970(year, month, day) + time)
}

/// Seconds since midnight.
fn time_s(part: &str) -> Option<i64> {
    let mut fields = part.split(':').map(|field| field.parse::<i64>().ok().filter(|number| (0..60).contains(number)));
    let (hours, minutes, seconds) = (fields.next()??, fields.next()??, fields.next()??);
    (hours < 24 && fields.next().is_none()).then_some(3600 * hours + 60 * minutes + seconds)
}

fn month_of(part: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let begin = part.get(..3)?;
    MONTHS.iter().zip(1..).find(|(month, _)| month.eq_ignore_ascii_case(begin)).map(|(_, number)| number)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn has_prefix(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests;
