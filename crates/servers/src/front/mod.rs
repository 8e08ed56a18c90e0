//! The front of every HTTP role: listening, TLS, connections, and refusing what is not a decent request.

pub mod answer;
pub mod certificate;
pub mod patience;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use answer::{refusal, Answer};
use patience::{Patient, Watch, PATIENCE};

/// Longest head of a request.
const MOST_HEAD_BYTES: usize = 16 * 1024;
/// Time an idle connection is kept: longer than the longest think time of the web sites (150 s).
const IDLE: Duration = Duration::from_secs(180);
/// Bytes of an answer that wait in the kernel unsent. On the loopback network, whose packets are 64 KiB long, it would
/// else take more than a megabyte for each slow download, and a thousand of them all memory that TCP may have.
const MOST_UNSENT_BYTES: u32 = 128 * 1024;
const BACKLOG: u32 = 4096;
/// Requests under way at once on an HTTP/2 connection.
const MOST_STREAMS: u32 = 128;

/// A request as roles see it: no streams, nothing unchecked.
#[derive(Debug)]
pub struct Request {
    pub method: Method,
    pub path: String,
    pub query: String,
    pub headers: http::HeaderMap,
    pub body: Vec<u8>,
    pub secure: bool,
}

/// Something that answers requests.
pub trait Role: Send + Sync + 'static {
    /// Longest body of a request.
    const MOST_BODY_BYTES: usize = 64 * 1024;
    /// Longest time of a connection, whatever is done on it; none for as long as its client likes.
    const LONGEST_CONNECTION: Option<Duration> = None;

    /// The answer to a request whose body was read.
    fn answer(&self, request: Request) -> impl Future<Output = Answer> + Send;
}

/// A role of any type: connections are then compiled once, and not once for each role.
trait AnyRole: Send + Sync {
    fn most_body_bytes(&self) -> usize;
    fn longest_connection(&self) -> Option<Duration>;
    fn answer_boxed(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>>;
}

impl<R: Role> AnyRole for R {
    fn most_body_bytes(&self) -> usize {
        R::MOST_BODY_BYTES
    }

    fn longest_connection(&self) -> Option<Duration> {
        R::LONGEST_CONNECTION
    }

    fn answer_boxed(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(self.answer(request))
    }
}

/// Opens a listening socket.
pub fn listen(address: SocketAddr) -> Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket2::SockRef::from(&socket).set_tcp_notsent_lowat(MOST_UNSENT_BYTES)?; // connections take it over
    socket.bind(address).with_context(|| format!("cannot listen on {address}"))?;
    Ok(socket.listen(BACKLOG)?)
}

/// Accepts connections for ever.
pub async fn serve(listener: TcpListener, role: Arc<impl Role>, tls: Option<TlsAcceptor>) {
    accept(listener, role, tls).await;
}

async fn accept(listener: TcpListener, role: Arc<dyn AnyRole>, tls: Option<TlsAcceptor>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (longest, welcomed) = (role.longest_connection(), welcome(stream, role.clone(), tls.clone()));
                tokio::spawn(async move {
                    match longest {
                        Some(longest) => drop(tokio::time::timeout(longest, welcomed).await),
                        None => welcomed.await,
                    }
                });
            }
            // Out of descriptors: let some connections end first.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn welcome(stream: TcpStream, role: Arc<dyn AnyRole>, tls: Option<TlsAcceptor>) {
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = tls else {
        return converse(stream, role, false).await;
    };
    if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
        match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => converse_http2(stream, role).await,
            _ => converse(stream, role, true).await,
        }
    }
}

/// HTTP/2, where the client asked for it in the TLS handshake. A client that no longer answers pings is given up.
async fn converse_http2<S>(stream: S, role: Arc<dyn AnyRole>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let role = role.clone();
        async move { Ok::<_, std::convert::Infallible>(respond(&*role, request, true, &Watch::default()).await) }
    });
    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new()).keep_alive_interval(IDLE).keep_alive_timeout(PATIENCE);
    builder.max_header_list_size(MOST_HEAD_BYTES as u32).max_concurrent_streams(MOST_STREAMS);
    let _ = builder.serve_connection(TokioIo::new(stream), service).await; // as below
}

async fn converse<S>(stream: S, role: Arc<dyn AnyRole>, secure: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let watch = Arc::new(Watch::default());
    let service = service_fn({
        let watch = watch.clone();
        move |request| {
            watch.head_is_complete();
            let (role, watch) = (role.clone(), watch.clone());
            async move { Ok::<_, std::convert::Infallible>(respond(&*role, request, secure, &watch).await) }
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(MOST_HEAD_BYTES).half_close(true);
    let connection = pin!(builder.serve_connection(TokioIo::new(Patient::new(stream, watch)), service));
    let _ = connection.await; // a client that went away is its own business
}

async fn respond(role: &dyn AnyRole, request: hyper::Request<Incoming>, secure: bool, watch: &Watch) -> Answer {
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(PATIENCE, Limited::new(body, role.most_body_bytes()).collect()).await {
        Ok(Ok(body)) => body.to_bytes().to_vec(),
        Ok(Err(_)) => return refusal(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT),
    };
    watch.request_is_complete();
    let path = head.uri.path().to_owned();
    if !is_decent(&path) {
        return refusal(StatusCode::BAD_REQUEST);
    }
    let query = head.uri.query().unwrap_or("").to_owned();
    role.answer_boxed(Request { method: head.method, path, query, headers: head.headers, body, secure }).await
}

/// Refuses paths that try to climb or to hide: `..`, backslashes, NUL, and those in percent form.
fn is_decent(path: &str) -> bool {
    let plain = percent_encoding::percent_decode_str(path).collect::<Vec<u8>>();
    let climbs = plain.split(|&byte| byte == b'/').any(|part| part == b"..");
    path.starts_with('/') && !climbs && !plain.contains(&b'\\') && !plain.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_climb_or_hide_are_refused() {
        assert!(is_decent("/bank/static/43.gif"));
        for path in ["/../etc/passwd", "/a/%2e%2e/b", "/a/%2E./b", "/a\\b", "/a/%00", "*", "/a/%5c..%5cb"] {
            assert!(!is_decent(path), "{path}");
        }
    }

    /// A role whose connections are short.
    struct Brief;

    impl Role for Brief {
        const LONGEST_CONNECTION: Option<Duration> = Some(Duration::from_millis(100));

        async fn answer(&self, _: Request) -> Answer {
            refusal(StatusCode::NOT_FOUND)
        }
    }

    #[tokio::test]
    async fn a_connection_of_a_brief_role_is_not_kept() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(serve(listener, Arc::new(Brief), None));
        for said in ["", "GET / HT", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"] {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(said.as_bytes()).await.expect("sent");
            let mut answer = Vec::new();
            let ended = tokio::time::timeout(IDLE / 10, stream.read_to_end(&mut answer)).await;
            assert!(ended.is_ok(), "{said}");
            assert_eq!(answer.is_empty(), !said.ends_with("\n"), "{said}");
        }
    }
}
