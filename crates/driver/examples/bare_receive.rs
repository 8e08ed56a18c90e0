//! The least a client can do: fetch a file over and over on one connection and have the kernel throw the bytes away.
//! `bare_receive HOST:PORT PATH BYTES SECONDS` prints how many files came. The yardstick for downloads in `make bench`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::net::{recv, RecvFlags};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, address, path, bytes, seconds] = arguments.as_slice() else {
        return Err("bare_receive HOST:PORT PATH BYTES SECONDS".into());
    };
    let (bytes, until) = (bytes.parse::<usize>()?, Instant::now() + Duration::from_secs_f64(seconds.parse()?));
    let mut stream = TcpStream::connect(address)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut nowhere = vec![0u8; 4 << 20];
    let mut files = 0u64;
    while Instant::now() < until {
        stream.write_all(request.as_bytes())?;
        let mut head = [0; 4096];
        let length = loop {
            let seen = stream.peek(&mut head)?;
            match head[..seen].windows(4).position(|four| four == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None if seen == 0 || seen == head.len() => return Err("the server sends no head".into()),
                None => {}
            }
        };
        stream.read_exact(&mut head[..length])?;
        let mut left = bytes;
        while left > 0 {
            let most = left.min(nowhere.len());
            let (_, count) = recv(&stream, &mut nowhere[..most], RecvFlags::TRUNC)?;
            if count == 0 {
                return Err("the server closed early".into());
            }
            left -= count;
        }
        files += 1;
    }
    println!("{{\"requests\":{files}}}");
    Ok(())
}
