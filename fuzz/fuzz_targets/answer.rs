//! Any bytes as an answer, cut in any way: the reader ends in an answer or a fault, and means the same however it is cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_driver::client::cookies::Jar;
use loadstone_driver::inspect::Inspector;
use loadstone_driver::transport::http1::{Reader, State};

fn read(data: &[u8], piece: usize, bodiless: bool) -> Option<(State, u16, u64)> {
    let (mut reader, mut inspector, mut jar) = (Reader::default(), Inspector::new(), Jar::default());
    inspector.reset(64, 4096);
    reader.begin(bodiless, true);
    let mut state = State::Unfinished;
    for piece in data.chunks(piece.max(1)) {
        state = reader.take(piece, &mut inspector, &mut jar).ok()?;
    }
    Some((state, reader.status, inspector.bytes()))
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, data)) = data.split_first() else { return };
    let (whole, parts) = (read(data, usize::MAX, cut & 1 == 1), read(data, usize::from(cut >> 1), cut & 1 == 1));
    assert_eq!(whole, parts);
});
