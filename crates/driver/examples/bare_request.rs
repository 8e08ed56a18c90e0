//! The least a client can do: fetch a file over and over on many connections, and look at no more than the length of the
//! answer. `bare_request HOST:PORT PATH CONNECTIONS SECONDS` prints how many files came. The limit of what any load
//! generator can save, in `make bench`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::epoll::{add, create, wait, CreateFlags, Event, EventData, EventFlags};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, address, path, connections, seconds] = arguments.as_slice() else {
        return Err("bare_request HOST:PORT PATH CONNECTIONS SECONDS".into());
    };
    let (connections, until) = (connections.parse()?, Instant::now() + Duration::from_secs_f64(seconds.parse()?));
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let epoll = create(CreateFlags::CLOEXEC)?;
    let mut streams = Vec::new();
    for number in 0..connections {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        add(&epoll, &stream, EventData::new_u64(number), EventFlags::IN)?;
        stream.write_all(request.as_bytes())?;
        streams.push((stream, 0));
    }
    let (mut files, mut events) = (0u64, Vec::<Event>::with_capacity(1024));
    let mut piece = vec![0; 256 * 1024];
    while Instant::now() < until {
        events.clear();
        wait(&epoll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let (stream, left) = &mut streams[event.data.u64() as usize];
            let count = stream.read(&mut piece)?;
            if *left == 0 {
                *left = answer_bytes(&piece[..count]).ok_or("the server sends no whole head")?;
            }
            *left = left.checked_sub(count).ok_or("the server sends more than it was asked for")?;
            if *left == 0 {
                files += 1;
                stream.write_all(request.as_bytes())?;
            }
        }
    }
    println!("{{\"requests\":{files}}}");
    Ok(())
}

/// Bytes of an answer, head included; None if its head is not whole or names no length.
fn answer_bytes(beginning: &[u8]) -> Option<usize> {
    let head = beginning.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&beginning[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    Some(head + 4 + length)
}
