//! Requests of an operation as they are written: for its page, for what that leads to, for an echo service.

use std::cell::RefCell;
use std::io::Write;

use loadstone_schedule::plan::Method;
use loadstone_schedule::slots::Values;
use loadstone_schedule::template::{form_encode, Encoding};

use super::compiled::{Compiled, DeclaredFields, Pair};
use crate::client::cookies::Jar;
use crate::upload;

/// Bytes sent to an echo service where the operation does not say.
pub(super) const PING_BYTES: usize = 64;
/// Most bytes sent to an echo service in one operation.
pub(super) const MOST_PAYLOAD: usize = 64 << 20;

/// What every request of a user is written with.
pub struct Sending<'a> {
    pub values: &'a Values,
    pub host: &'a str,
    /// Whether it goes out over TLS.
    pub is_secure: bool,
    pub jar: &'a RefCell<Jar>,
    /// Byte of the body to begin at.
    pub from: u64,
}

impl DeclaredFields {
    fn write_cookies(&self, values: &Values, out: &mut Vec<u8>) {
        for (index, cookies) in self.cookies.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b"; ");
            }
            cookies.render(values, Encoding::Raw, out);
        }
    }
}

impl Compiled {
    /// The fields that the workload declares, as far as `is_wanted` wants their names.
    fn write_headers(&self, values: &Values, out: &mut Vec<u8>, is_wanted: impl Fn(&str) -> bool) {
        for (name, value) in self.headers.iter().filter(|header| is_wanted(&header.0)) {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            value.render(values, Encoding::Header, out);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// The request line's end and the fields every request has, as far as the workload does not declare its own.
    fn write_common(&self, with: &Sending<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        match &self.declared.host {
            Some(host) => host.render(with.values, Encoding::Raw, out),
            None => out.extend_from_slice(with.host.as_bytes()),
        }
        out.extend_from_slice(b"\r\n");
        if !self.declared.has_user_agent {
            out.extend_from_slice(b"User-Agent: loadstone\r\n");
        }
        if !self.declared.has_accept {
            out.extend_from_slice(b"Accept: */*\r\n");
        }
        let jar = with.jar.borrow();
        if !jar.is_empty() || !self.declared.cookies.is_empty() {
            jar.write(with.is_secure, |out| self.declared.write_cookies(with.values, out), out);
        }
        if with.from > 0 {
            let _ = write!(out, "Range: bytes={}-\r\n", with.from); // a Vec takes all
        }
    }

    /// Writes a GET for something the page leads to: a redirect's goal or an embedded file. It has no body, so it has no
    /// fields about one either (Fetch, HTTP-redirect fetch).
    pub fn write_get(
        &self,
        with: &Sending<'_>,
        modified_since: Option<&str>,
        out: &mut Vec<u8>,
        path: impl FnOnce(&mut Vec<u8>),
    ) {
        out.clear();
        out.extend_from_slice(b"GET ");
        path(out);
        self.write_common(with, out);
        self.write_headers(with.values, out, |name| !is_about_body(name));
        if let Some(date) = modified_since.filter(|_| !self.declared.has_modified_since) {
            out.extend_from_slice(b"If-Modified-Since: ");
            out.extend_from_slice(date.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Writes the request for the page itself; `elsewhere` is the path a redirect leads to.
    pub fn write_request(&self, with: &Sending<'_>, elsewhere: Option<&[u8]>, out: &mut Vec<u8>) {
        let values = with.values;
        out.clear();
        out.extend_from_slice(self.method.as_str().as_bytes());
        out.push(b' ');
        match elsewhere {
            Some(path) => out.extend_from_slice(path),
            None => {
                self.path.render(values, Encoding::Target, out);
                let has_query = !self.query.is_empty() && out.contains(&b'?');
                write_pairs(&self.query, values, if has_query { b'&' } else { b'?' }, out);
            }
        }
        self.write_common(with, out);
        // The boundary between the parts of an upload is the driver's.
        let is_written = |name: &str| self.uploads.is_empty() || !name.eq_ignore_ascii_case("content-type");
        self.write_headers(values, out, is_written);
        if self.form.is_empty()
            && self.uploads.is_empty()
            && self.body.is_none()
            && !matches!(self.method, Method::Post | Method::Put | Method::Patch)
        {
            out.extend_from_slice(b"\r\n");
            return;
        }
        if !self.uploads.is_empty() {
            return upload::write(&self.form, &self.uploads, values, out);
        }
        let mut body = Vec::new();
        match &self.body {
            Some(text) => text.render(values, Encoding::Raw, &mut body),
            None => write_pairs(&self.form, values, 0, &mut body),
        }
        let has_body = self.body.is_some() || !self.form.is_empty();
        if has_body && !self.declared.has_content_type {
            out.extend_from_slice(b"Content-Type: application/x-www-form-urlencoded\r\n");
        }
        let _ = write!(out, "Content-Length: {}\r\n\r\n", body.len()); // a Vec takes all
        out.extend_from_slice(&body);
    }

    /// What an echo service is sent: the body, or as many bytes as are expected back.
    pub fn write_payload(&self, values: &Values, out: &mut Vec<u8>) {
        out.clear();
        if let Some(text) = &self.body {
            return text.render(values, Encoding::Raw, out);
        }
        let bytes = self.body_bytes(values).map_or(PING_BYTES, |bytes| bytes as usize);
        out.extend((0..bytes.min(MOST_PAYLOAD)).map(|at| (at % 251) as u8));
    }
}

/// Whether a field says something of a body (Fetch, "request-body-header name").
fn is_about_body(name: &str) -> bool {
    ["content-type", "content-encoding", "content-language", "content-location"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

fn write_pairs(pairs: &[Pair], values: &Values, opening: u8, out: &mut Vec<u8>) {
    for (index, (name, value)) in pairs.iter().enumerate() {
        match index {
            0 if opening == 0 => {}
            0 => out.push(opening),
            _ => out.push(b'&'),
        }
        form_encode(name, out);
        out.push(b'=');
        value.render(values, Encoding::Form, out);
    }
}
