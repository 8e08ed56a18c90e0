//! The least that both sides of a WebSocket can do with messages of 64 bytes, in `make bench`.
//!
//! `bare_websocket serve` prints its port, and sends every message back on one thread until it is ended. `bare_websocket
//! HOST:PORT CONNECTIONS SECONDS` sends a message on every connection as soon as the one before is back, and prints how
//! many came. It masks with zeros, so a message is as it is.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::epoll::{add, create, wait, CreateFlags, Event, EventData, EventFlags};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// What epoll says of the listening socket; connections are counted from 1.
const LISTENER: u64 = 0;
/// Bytes of a message, which the length field of a short frame holds (RFC 6455, section 5.2).
const MESSAGE_BYTES: usize = 64;
/// First byte of a whole text message.
const TEXT: u8 = 0x81;
/// Bytes before a message: of a frame from the server, and from a client, which has a mask.
const SERVER_HEAD: usize = 2;
const CLIENT_HEAD: usize = 6;
const OPCODE: u8 = 0x0f;
const CLOSE: u8 = 0x08;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => serve(),
        [address, connections, seconds] => talk(address, connections.parse()?, seconds.parse()?),
        _ => Err("bare_websocket serve, or bare_websocket HOST:PORT CONNECTIONS SECONDS".into()),
    }
}

fn serve() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{{\"port\":{}}}", listener.local_addr()?.port());
    let epoll = create(CreateFlags::CLOEXEC)?;
    add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut connections = HashMap::new();
    let mut events: Vec<Event> = Vec::with_capacity(1024);
    for number in 1.. {
        events.clear();
        wait(&epoll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            match event.data.u64() {
                LISTENER => {
                    let (stream, _) = listener.accept()?;
                    stream.set_nodelay(true)?;
                    add(&epoll, &stream, EventData::new_u64(number), EventFlags::IN)?;
                    connections.insert(number, (stream, Vec::new()));
                }
                known => {
                    if !connections.get_mut(&known).is_some_and(|(stream, held)| echo(stream, held)) {
                        connections.remove(&known);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Reads once, and sends whole messages back, or accepts a handshake; whether the client is still there.
fn echo(stream: &mut TcpStream, held: &mut Vec<u8>) -> bool {
    let mut piece = [0; 16 * 1024];
    let Ok(count @ 1..) = stream.read(&mut piece) else { return false };
    held.extend_from_slice(&piece[..count]);
    if held.starts_with(b"GET") {
        return !held.ends_with(b"\r\n\r\n") || accept(stream, held);
    }
    let mut answers = Vec::with_capacity(held.len());
    while let Some(frame) = take_frame(held) {
        if frame[0] & OPCODE == CLOSE {
            return false;
        }
        let (mask, message) = frame[SERVER_HEAD..].split_at(CLIENT_HEAD - SERVER_HEAD);
        answers.extend([frame[0], message.len() as u8]);
        answers.extend(message.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    }
    stream.write_all(&answers).is_ok()
}

/// The first whole frame of a client, whose message is short.
fn take_frame(held: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = CLIENT_HEAD + usize::from(held.get(1)? & 0x7f);
    (held.len() >= length).then(|| held.drain(..length).collect())
}

fn accept(stream: &mut TcpStream, held: &mut Vec<u8>) -> bool {
    let text = String::from_utf8_lossy(held).into_owned();
    held.clear();
    let key = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    });
    key.is_some_and(|key| {
        let accepted = derive_accept_key(key.as_bytes());
        let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade";
        write!(stream, "{head}\r\nSec-WebSocket-Accept: {accepted}\r\n\r\n").is_ok()
    })
}

fn talk(address: &str, connections: u64, seconds: f64) -> Outcome<()> {
    let epoll = create(CreateFlags::CLOEXEC)?;
    let mut message = vec![TEXT, 0x80 | MESSAGE_BYTES as u8, 0, 0, 0, 0];
    message.resize(CLIENT_HEAD + MESSAGE_BYTES, b'x');
    let mut streams = Vec::new();
    for number in 0..connections {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13";
        let key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";
        write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\n{upgrade}\r\n{key}\r\n\r\n")?;
        let mut answer = [0; 1024];
        let count = stream.read(&mut answer)?;
        if !answer[..count].starts_with(b"HTTP/1.1 101") {
            return Err("the server refuses the WebSocket".into());
        }
        add(&epoll, &stream, EventData::new_u64(number), EventFlags::IN)?;
        stream.write_all(&message)?;
        streams.push((stream, 0));
    }
    let (mut messages, until) = (0u64, Instant::now() + Duration::from_secs_f64(seconds));
    let mut events: Vec<Event> = Vec::with_capacity(1024);
    let mut piece = [0; 1024];
    while Instant::now() < until {
        events.clear();
        wait(&epoll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let (stream, came) = &mut streams[event.data.u64() as usize];
            *came += stream.read(&mut piece)?;
            if *came == SERVER_HEAD + MESSAGE_BYTES {
                (messages, *came) = (messages + 1, 0);
                stream.write_all(&message)?;
            }
        }
    }
    println!("{{\"requests\":{messages}}}");
    Ok(())
}
