//! Any bytes as an answer, cut in any way: the reader ends in an answer or a fault, and means the same however it is cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_driver::client::cookies::Jar;
use loadstone_driver::inspect::Inspector;
use loadstone_driver::transport::reader::{Cookies, Reader, State};
use loadstone_driver::transport::Body;

fn read(data: &[u8], piece: usize, body: Body) -> Option<(State, u16, u64)> {
    let (mut reader, mut inspector, mut jar) = (Reader::default(), Inspector::new(), Jar::default());
    let mut cookies = Cookies { jar: &mut jar, request: b"GET / HTTP/1.1\r\nHost: h\r\n", is_secure: false };
    inspector.reset(64, 4096);
    reader.begin(body, true);
    let mut state = State::Unfinished;
    for piece in data.chunks(piece.max(1)) {
        state = reader.take(piece, &mut inspector, &mut cookies).ok()?;
    }
    Some((state, reader.status, inspector.bytes()))
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, data)) = data.split_first() else { return };
    let body = if cut & 1 == 1 { Body::Never } else { Body::Expected };
    let (whole, parts) = (read(data, usize::MAX, body), read(data, usize::from(cut >> 1), body));
    assert_eq!(whole, parts);
});
