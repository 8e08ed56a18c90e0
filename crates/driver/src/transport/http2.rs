//! HTTP/2: one connection for all of a user's requests, each on a stream of its own. Framing is `h2`'s matter.
//!
//! Requests are translated from what HTTP/1.1 would write: one writer of requests, and bytes of both versions compare.

use std::rc::{Rc, Weak};

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::uri::{self, Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use loadstone_record::Fault;

use super::exchange::{Answer, ExchangeContext, Message};
use super::failure::Failure;
use super::reader::{MOST_FIELDS, MOST_HEAD_BYTES};
use super::stream::Stream;

/// Bytes of one body that may be under way; a limited line gives them back as it delivers them.
const WINDOW: u32 = 1 << 20;

/// Fields of HTTP/1.1 about one connection, which HTTP/2 forbids (RFC 9113, section 8.2.2).
const OF_A_CONNECTION: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// One user's use of an HTTP/2 connection. Copies share the connection.
#[derive(Clone)]
pub struct Http2 {
    sender: SendRequest<Bytes>,
    /// What all copies have in common, for those that come later.
    shared: Rc<SendRequest<Bytes>>,
    scheme: &'static str,
}

/// Where a user's lanes find the connection that they share. It does not keep the connection open.
#[derive(Default)]
pub struct SharedHttp2(Weak<SendRequest<Bytes>>);

impl SharedHttp2 {
    /// The shared connection; None where there is none that takes requests.
    pub fn get(&self, scheme: &'static str) -> Option<Http2> {
        let mut http2 = Http2::sharing(self.0.upgrade()?, scheme);
        (!http2.is_stale()).then_some(http2)
    }

    /// Further lanes share this connection from now on.
    pub fn set(&mut self, http2: &Http2) {
        self.0 = Rc::downgrade(&http2.shared);
    }
}

impl Http2 {
    /// Opens HTTP/2 on a stream. The connection ends when the last copy is dropped.
    pub async fn open(stream: Stream) -> Result<Self, Failure> {
        let scheme = if stream.is_buffered() { "https" } else { "http" };
        if !stream.may_speak_http2() {
            return Err(Failure::new(Fault::Tls, "the server does not offer HTTP/2 over TLS (ALPN)"));
        }
        let mut builder = h2::client::Builder::new();
        builder.enable_push(false).initial_window_size(WINDOW).initial_connection_window_size(16 * WINDOW);
        builder.max_header_list_size(MOST_HEAD_BYTES as u32);
        let (sender, connection) = builder.handshake(stream).await.map_err(|error| failed(&error))?;
        tokio::task::spawn_local(async move {
            let _ = connection.await; // how it ended is told to every request on it
        });
        Ok(Http2::sharing(Rc::new(sender), scheme))
    }

    fn sharing(shared: Rc<SendRequest<Bytes>>, scheme: &'static str) -> Self {
        Http2 { sender: SendRequest::clone(&shared), shared, scheme }
    }

    /// Whether the other side has closed the connection or said that it will.
    pub fn is_stale(&mut self) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        matches!(self.sender.poll_ready(&mut context), std::task::Poll::Ready(Err(_)))
    }

    /// Sends a request and waits for the head of its answer, whatever that is.
    pub async fn greet(&self, request: &[u8]) -> Result<(), Failure> {
        let (request, _) = translate(request, self.scheme)?;
        let mut sender = self.sender.clone().ready().await.map_err(|error| failed(&error))?;
        let (answer, _) = sender.send_request(request, true).map_err(|error| failed(&error))?;
        answer.await.map(|_| ()).map_err(|error| failed(&error))
    }

    /// Sends a request and reads its answer to the end.
    pub async fn exchange(
        &mut self,
        context: &mut ExchangeContext<'_>,
        message: &Message<'_>,
    ) -> Result<Answer, Failure> {
        context.reader.begin(message.body, message.wants_date);
        let (request, body) = translate(message.bytes, self.scheme)?;
        let unsent = |error: h2::Error| Failure { is_unprocessed: true, ..failed(&error) };
        std::future::poll_fn(|context| self.sender.poll_ready(context)).await.map_err(unsent)?;
        let (answer, mut upload) = self.sender.send_request(request, body.is_empty()).map_err(unsent)?;
        if !body.is_empty() {
            upload.send_data(body, true).map_err(|error| failed(&error))?;
        }
        let (head, mut body) = answer.await.map_err(|error| failed(&error))?.into_parts();
        let first_byte_ns = context.clock.now();
        let mut bytes = take_fields(context, message, &head.headers);
        if context.reader.keeps_head {
            context.reader.head = written(head.status, &head.headers);
        }
        if context.line.is_limited() {
            context.line.deliver(first_byte_ns, bytes as usize);
        }
        let codings = Some(&context.reader.codings).filter(|_| !body.is_end_stream());
        context.inspector.decode(codings);
        context.inspector.read_as(context.reader.charset);
        bytes += take_body(context, &mut body).await?;
        context.inspector.end().map_err(|why| Failure::new(Fault::Coding, why))?;
        let mut end_ns = context.clock.now();
        if context.line.is_limited() {
            end_ns = context.line.free_at();
            context.timer.sleep_until(end_ns).await;
        }
        let (status, body_bytes) = (head.status.as_u16(), context.inspector.body_bytes());
        Ok(Answer { status, bytes, body_bytes, first_byte_ns, end_ns, keep_alive: true })
    }
}

/// Reads the body at the speed of the line; returns its length.
async fn take_body(context: &mut ExchangeContext<'_>, body: &mut RecvStream) -> Result<u64, Failure> {
    let mut bytes = 0;
    while let Some(piece) = body.data().await {
        let piece = piece.map_err(|error| failed(&error))?;
        context.inspector.take(&piece);
        bytes += piece.len() as u64;
        if context.line.is_limited() {
            let delivered_ns = context.line.deliver(context.clock.now(), piece.len());
            context.timer.sleep_until(delivered_ns).await;
        }
        body.flow_control().release_capacity(piece.len()).map_err(|error| failed(&error))?;
    }
    Ok(bytes)
}

/// A head as HTTP/1.1 would write it.
fn written(status: StatusCode, fields: &HeaderMap) -> Vec<u8> {
    let mut text = format!("HTTP/2 {status}\r\n").into_bytes();
    for (name, value) in fields {
        text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    text
}

/// Takes over what a user keeps of the fields; returns their length as HTTP/1.1 would write them, so that bytes compare.
fn take_fields(context: &mut ExchangeContext<'_>, message: &Message<'_>, fields: &HeaderMap) -> u64 {
    let mut jar = context.jar.borrow_mut();
    let mut cookies = message.cookies(&mut jar);
    let mut bytes = "HTTP/1.1 200 OK\r\n\r\n".len();
    for (name, value) in fields {
        bytes += name.as_str().len() + value.len() + ": \r\n".len();
        context.reader.keep_field(name.as_str(), value.as_bytes(), &mut cookies);
    }
    context.reader.received = bytes as u64;
    bytes as u64
}

/// The request HTTP/1.1 would write, as HTTP/2 has it (RFC 9113, section 8.3.1). The message is copied once: values and
/// body are parts of that copy.
pub fn translate(message: &[u8], scheme: &str) -> Result<(Request<()>, Bytes), Failure> {
    let unusable = |detail: &dyn std::fmt::Display| Failure::new(Fault::Driver, format!("unusable request: {detail}"));
    let message = Bytes::copy_from_slice(message);
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut read = httparse::Request::new(&mut fields);
    let length = match read.parse(&message) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err(unusable(&"it has no end")),
        Err(error) => return Err(unusable(&error)),
    };
    let mut request = Request::new(());
    let method = Method::from_bytes(read.method.unwrap_or("GET").as_bytes());
    *request.method_mut() = method.map_err(|error| unusable(&error))?;
    let mut uri = uri::Parts::default();
    request.headers_mut().reserve(read.headers.len());
    for field in read.headers.iter() {
        if field.name.eq_ignore_ascii_case("host") {
            let host = Authority::from_maybe_shared(message.slice_ref(field.value));
            uri.authority = Some(host.map_err(|error| unusable(&error))?);
            continue;
        }
        let is_for_trailers = field.name.eq_ignore_ascii_case("te") && field.value.eq_ignore_ascii_case(b"trailers");
        if !is_for_trailers && OF_A_CONNECTION.iter().any(|name| field.name.eq_ignore_ascii_case(name)) {
            continue;
        }
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|error| unusable(&error))?;
        let value = HeaderValue::from_maybe_shared(message.slice_ref(field.value));
        request.headers_mut().append(name, value.map_err(|error| unusable(&error))?);
    }
    uri.scheme = Some(Scheme::try_from(scheme).map_err(|error| unusable(&error))?);
    let path = read.path.map_or_else(|| Bytes::from_static(b"/"), |path| message.slice_ref(path.as_bytes()));
    uri.path_and_query = Some(PathAndQuery::from_maybe_shared(path).map_err(|error| unusable(&error))?);
    *request.uri_mut() = Uri::from_parts(uri).map_err(|error| unusable(&error))?;
    *request.version_mut() = http::Version::HTTP_2;
    Ok((request, message.slice(length..)))
}

fn failed(error: &h2::Error) -> Failure {
    // Of streams behind the last that GOAWAY names, and refused ones, nothing was processed (RFC 9113, section 8.7).
    let is_refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
    let is_unprocessed = error.is_remote() && (error.is_go_away() || is_refused);
    Failure { is_unprocessed, ..named(error) }
}

fn named(error: &h2::Error) -> Failure {
    if let Some(error) = error.get_io() {
        return Failure::from_io(error);
    }
    let fault = match error.reason() {
        Some(Reason::REFUSED_STREAM) => Fault::Refused,
        Some(Reason::NO_ERROR) => Fault::ClosedEarly,
        Some(Reason::ENHANCE_YOUR_CALM) if error.is_remote() => Fault::Refused,
        Some(Reason::CANCEL | Reason::INTERNAL_ERROR) => Fault::Reset,
        Some(_) if error.is_remote() => Fault::Reset,
        Some(_) => Fault::Malformed,
        None => Fault::Reset,
    };
    Failure::new(fault, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_the_same_in_both_versions() {
        let text = b"POST /a?b=c HTTP/1.1\r\nHost: shop:81\r\nConnection: keep-alive\r\nUpgrade: h3\r\nTE: trailers\r\nCookie: x=y\r\nContent-Length: 3\r\n\r\nabc";
        let (request, body) = translate(text, "https").expect("valid");
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri(), "https://shop:81/a?b=c");
        assert_eq!(request.headers()["cookie"], "x=y");
        assert_eq!(request.headers()["te"], "trailers");
        assert!(["host", "connection", "upgrade"].iter().all(|name| !request.headers().contains_key(*name)));
        assert_eq!(body, "abc");
    }
}
