//! An exchange over a WebSocket (RFC 6455): the handshake, then messages sent and expected in turn.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::header::{CONNECTION, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderValue, Request, Version};
use loadstone_record::Fault;
use loadstone_schedule::slots::Values;
use tokio_tungstenite::tungstenite::error::{Error, ProtocolError};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{client_async_with_config, WebSocketStream};

use crate::operation::websocket::CompiledStep;
use crate::transport::failure::Failure;
use crate::transport::stream::Stream;
use crate::withheld::Withheld;

/// Longest message that is taken.
const MOST_MESSAGE_BYTES: usize = 16 << 20;
/// Bytes that one read takes, and that each connection keeps for it. The library clears as many before every read.
const READ_BUFFER_BYTES: usize = 8 << 10;
/// Letters of a message that are told when it was another than expected.
const MOST_TOLD: usize = 200;

/// A WebSocket on which an operation is performed.
pub struct Socket {
    stream: WebSocketStream<Stream>,
    /// The latest message that was expected.
    pub latest: Bytes,
    /// Bytes of all messages that came.
    pub received: u64,
    /// What went to and fro, for people, where that is wanted.
    transcript: Option<Rc<RefCell<String>>>,
    withheld: Arc<Withheld>,
}

impl Socket {
    /// Shakes hands over a connection; `request` is a GET as HTTP/2 has it.
    pub async fn open(
        stream: Stream,
        request: Request<()>,
        transcript: Option<Rc<RefCell<String>>>,
        withheld: Arc<Withheld>,
    ) -> Result<Self, Failure> {
        let limits = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .max_message_size(Some(MOST_MESSAGE_BYTES))
            .max_frame_size(Some(MOST_MESSAGE_BYTES));
        let request = upgrading(request)?;
        let (stream, _) = client_async_with_config(request, stream, Some(limits)).await.map_err(failed)?;
        Ok(Socket { stream, latest: Bytes::new(), received: 0, transcript, withheld })
    }

    /// Takes one step.
    pub async fn take(&mut self, step: &CompiledStep, values: &Values) -> Result<(), Failure> {
        match step {
            CompiledStep::Send(text) => self.send(Message::text(text.text(values))).await,
            CompiledStep::SendBytes(bytes) => self.send(Message::Binary(bytes.clone())).await,
            CompiledStep::Ping => {
                self.send(Message::Ping(Bytes::new())).await?;
                while !matches!(self.next().await?, Message::Pong(_)) {}
                Ok(())
            }
            CompiledStep::Expect(needle) => {
                self.take_message().await?;
                match needle.is_in(&self.latest, values) {
                    true => Ok(()),
                    false => {
                        let came = self.withheld.beginning(&String::from_utf8_lossy(&self.latest), MOST_TOLD);
                        let detail = format!("`{}` is missing in the message `{came}`", needle.text(values));
                        Err(Failure::new(Fault::Content, detail))
                    }
                }
            }
            CompiledStep::Await(needle) => loop {
                self.take_message().await?;
                if needle.is_in(&self.latest, values) {
                    return Ok(());
                }
            },
        }
    }

    /// Takes leave; the other side's farewell is not waited for.
    pub async fn leave(mut self) {
        let _ = self.stream.close(None).await;
    }

    async fn send(&mut self, message: Message) -> Result<(), Failure> {
        self.tell("→", &message);
        self.stream.send(message).await.map_err(failed)
    }

    /// The next message with content; what a ping asks for is answered meanwhile.
    async fn take_message(&mut self) -> Result<(), Failure> {
        loop {
            let message = self.next().await?;
            if matches!(message, Message::Text(_) | Message::Binary(_)) {
                self.latest = message.into_data();
                return Ok(());
            }
        }
    }

    async fn next(&mut self) -> Result<Message, Failure> {
        let message = self.stream.next().await.unwrap_or(Err(Error::ConnectionClosed)).map_err(failed)?;
        self.tell("←", &message);
        self.received += message.len() as u64;
        match message {
            Message::Close(why) => {
                let told = why.map(|why| format!(" ({} {})", why.code, why.reason)).unwrap_or_default();
                Err(Failure::new(Fault::ClosedEarly, format!("the other side closed the connection{told}")))
            }
            message => Ok(message),
        }
    }

    fn tell(&mut self, way: &str, message: &Message) {
        let Some(transcript) = &self.transcript else { return };
        let text = match message {
            Message::Text(text) => self.withheld.beginning(text, MOST_TOLD),
            Message::Binary(bytes) => format!("{} bytes", bytes.len()),
            Message::Ping(_) => "ping".into(),
            Message::Pong(_) => "pong".into(),
            Message::Close(_) | Message::Frame(_) => "leave".into(),
        };
        transcript.borrow_mut().push_str(&format!("{way} {text}\n"));
    }
}

/// The same request as one that asks for a WebSocket (RFC 6455, section 4.1).
fn upgrading(mut request: Request<()>) -> Result<Request<()>, Failure> {
    let unusable = |error: &dyn std::fmt::Display| Failure::new(Fault::Driver, format!("unusable request: {error}"));
    let host = request.uri().authority().map_or("", |authority| authority.as_str());
    let host = HeaderValue::from_str(host).map_err(|error| unusable(&error))?;
    let key = HeaderValue::from_str(&generate_key()).map_err(|error| unusable(&error))?;
    *request.version_mut() = Version::HTTP_11;
    let fields = request.headers_mut();
    fields.insert(HOST, host);
    fields.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    fields.insert(UPGRADE, HeaderValue::from_static("websocket"));
    fields.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    fields.insert(SEC_WEBSOCKET_KEY, key);
    Ok(request)
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Io(error) => Failure::from_io(&error),
        Error::Http(response) => {
            Failure::new(Fault::Status, format!("status {} instead of 101", response.status().as_u16()))
        }
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake | ProtocolError::HandshakeIncomplete) => {
            Failure::new(Fault::ClosedEarly, error.to_string())
        }
        _ => Failure::new(Fault::Malformed, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use loadstone_schedule::plan::SocketStep;
    use loadstone_schedule::slots::Slots;
    use tokio::net::{TcpListener, TcpStream};
    use tokio_tungstenite::accept_async;

    use super::*;
    use crate::transport::http2::translate;

    /// A server that greets, answers texts in capitals and takes leave when it is told to.
    async fn serve(listener: TcpListener) {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut socket = accept_async(stream).await.expect("a handshake");
        socket.send(Message::text("welcome")).await.expect("sent");
        while let Some(Ok(message)) = socket.next().await {
            let answer = match message {
                Message::Text(text) if text.as_str() == "leave" => break,
                Message::Text(text) => Message::text(text.to_uppercase()),
                Message::Binary(bytes) => Message::Binary(bytes),
                _ => continue,
            };
            socket.send(answer).await.expect("sent");
        }
        let _ = socket.close(None).await;
    }

    async fn taken(steps: &[SocketStep]) -> Result<Socket, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(serve(listener));
        let stream = Stream::Plain(TcpStream::connect(address).await.expect("connected"));
        let (request, _) = translate(format!("GET /chat HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(), "ws")?;
        let mut socket = Socket::open(stream, request, Some(Rc::default()), Arc::default()).await?;
        let slots = Slots::default();
        for step in steps {
            let step = CompiledStep::new(step, &slots, "here").expect("valid");
            socket.take(&step, &Values::new(0)).await?;
        }
        Ok(socket)
    }

    fn expect(text: &str) -> SocketStep {
        SocketStep::Expect(text.into())
    }

    fn send(text: &str) -> SocketStep {
        SocketStep::Send(text.into())
    }

    #[tokio::test]
    async fn messages_are_sent_and_expected_in_turn() {
        let bytes = SocketStep::SendBytes("AAE=".into());
        let steps = [expect("come"), send("a"), SocketStep::Ping, send("b"), expect("B"), bytes, expect("\u{1}")];
        let socket = taken(&steps).await.expect("all came");
        assert_eq!(&socket.latest[..], [0, 1]);
        assert_eq!(socket.received, 7 + 1 + 1 + 2);
        let told = socket.transcript.expect("told").take();
        assert_eq!(told.lines().take(3).collect::<Vec<_>>(), ["← welcome", "→ a", "→ ping"]);
    }

    #[tokio::test]
    async fn what_is_awaited_may_come_after_others_and_what_is_expected_may_not() {
        let awaited = [send("a"), send("b"), SocketStep::Await("B".into())];
        assert_eq!(&taken(&awaited).await.expect("it came").latest[..], b"B");
        let failure = taken(&[send("a"), expect("A")]).await.err().expect("another came first");
        assert_eq!(failure.fault, Fault::Content);
        assert_eq!(failure.detail, "`A` is missing in the message `welcome`");
    }

    #[tokio::test]
    async fn a_server_that_takes_leave_has_closed_early() {
        let failure = taken(&[expect("welcome"), send("leave"), expect("more")]).await.err().expect("it left");
        assert_eq!(failure.fault, Fault::ClosedEarly);
    }

    #[tokio::test]
    async fn a_server_without_websockets_answers_a_wrong_status() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut room = [0; 1024];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut room).await;
            let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.expect("sent");
        });
        let stream = Stream::Plain(TcpStream::connect(address).await.expect("connected"));
        let request = Request::get(format!("ws://{address}/chat")).body(()).expect("valid");
        let failure = Socket::open(stream, request, None, Arc::default()).await.err().expect("there is none");
        assert_eq!((failure.fault, failure.detail.as_str()), (Fault::Status, "status 404 instead of 101"));
    }
}
