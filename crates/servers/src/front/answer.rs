//! The few kinds of answer the roles give.

use bytes::Bytes;
use http::{header, HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{Either, Full};

use crate::content::FileBody;

/// A response: bytes at hand, a file made while it is sent, or one that comes from elsewhere.
pub type Answer = Response<Either<Full<Bytes>, Either<FileBody, Elsewhere>>>;
/// From another machine, or a disk.
pub type Elsewhere = UnsyncBoxBody<Bytes, std::io::Error>;

/// All files have this date: they are computed, and never change.
pub const FILE_DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

/// A page or another text.
pub fn text(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// A page, status 200.
pub fn html(body: Bytes) -> Answer {
    text(StatusCode::OK, "text/html; charset=utf-8", body)
}

/// A clean no.
pub fn refusal(status: StatusCode) -> Answer {
    let reason = status.canonical_reason().unwrap_or("refused");
    text(status, "text/plain", Bytes::from(format!("{} {reason}\n", status.as_u16())))
}

/// Sends the client elsewhere, with the same method (307, as published).
pub fn redirect(to: &str) -> Answer {
    let mut answer = refusal(StatusCode::TEMPORARY_REDIRECT);
    if let Ok(value) = HeaderValue::from_str(to) {
        answer.headers_mut().insert(header::LOCATION, value);
    }
    answer
}

/// Sends the client to the page that shows what became of its request (303).
pub fn see_other(to: &str) -> Answer {
    let mut answer = redirect(to);
    *answer.status_mut() = StatusCode::SEE_OTHER;
    answer
}

/// A file that is made as it is sent, or the part of it that is asked for, or 304 when the client has it already.
pub fn file(request_headers: &HeaderMap, name: &str, length: u64) -> Answer {
    file_with(request_headers, name, length, |part| {
        Either::Left(part.map_or_else(|| FileBody::new(name, length), |part| FileBody::part(name, part)))
    })
}

/// A file, or its part from first to last byte (RFC 9110, section 14), of a body that is made or comes from elsewhere.
pub fn file_with(
    request_headers: &HeaderMap,
    name: &str,
    length: u64,
    body: impl FnOnce(Option<(u64, u64)>) -> Either<FileBody, Elsewhere>,
) -> Answer {
    let date = HeaderValue::from_static(FILE_DATE);
    if has_it(request_headers) {
        let mut answer = Response::new(Either::Left(Full::default()));
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        answer.headers_mut().insert(header::LAST_MODIFIED, date);
        return answer;
    }
    let part = asked_part(request_headers, length);
    let mut answer = Response::new(Either::Right(body(part)));
    if let Some((first, last)) = part {
        *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
        if let Ok(range) = HeaderValue::from_str(&format!("bytes {first}-{last}/{length}")) {
            answer.headers_mut().insert(header::CONTENT_RANGE, range);
        }
    }
    let kind = if name.ends_with(".gif") { "image/gif" } else { "application/octet-stream" };
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(header::LAST_MODIFIED, date);
    answer.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    answer
}

/// First and last byte of the one part that is asked for; none where all is to be sent: several parts, or none.
fn asked_part(headers: &HeaderMap, length: u64) -> Option<(u64, u64)> {
    let asked = headers.get(header::RANGE)?.to_str().ok()?;
    let parts = http_range_header::parse_range_header(asked).ok()?.validate(length).ok()?;
    match parts.as_slice() {
        [part] => Some((*part.start(), *part.end())),
        _ => None,
    }
}

fn has_it(headers: &HeaderMap) -> bool {
    let since = headers.get(header::IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
    let since = since.and_then(|text| httpdate::parse_http_date(text).ok());
    let changed = httpdate::parse_http_date(FILE_DATE).ok();
    matches!((since, changed), (Some(since), Some(changed)) if since >= changed)
}

/// Adds a session cookie.
pub fn with_cookie(mut answer: Answer, cookie: &str) -> Answer {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        answer.headers_mut().append(header::SET_COOKIE, value);
    }
    answer
}
