//! The least a server can do: answer every request, whatever it asks for, with one file. `bare_serve FILE` prints its
//! port, and serves on one thread until it is ended. Behind it a load generator is what limits, in `make bench`.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use rustix::event::epoll::{add, create, wait, CreateFlags, Event, EventData, EventFlags};

/// What epoll says of the listening socket; connections are counted from 1.
const LISTENER: u64 = 0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("bare_serve FILE")?;
    let body = std::fs::read(file)?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", body.len());
    let answer = [head.as_bytes(), &body].concat();
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
                    connections.insert(number, stream);
                }
                known => {
                    if !connections.get_mut(&known).is_some_and(|stream| reply(stream, &answer)) {
                        connections.remove(&known);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Answers as many requests as one read brings; whether the client is still there.
fn reply(stream: &mut TcpStream, answer: &[u8]) -> bool {
    let mut piece = [0; 16 * 1024];
    let Ok(count @ 1..) = stream.read(&mut piece) else { return false };
    let requests = piece[..count].windows(4).filter(|four| four == b"\r\n\r\n").count();
    (0..requests).all(|_| stream.write_all(answer).is_ok())
}
