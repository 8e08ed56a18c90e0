use super::*;
use proptest::prelude::*;

/// Takes an answer into a reader.
fn taken(reader: &mut Reader, text: &str) -> Result<State, Failure> {
    let mut cookies = Cookies { jar: &mut Jar::default(), request: b"", is_secure: false };
    reader.take(text.as_bytes(), &mut Inspector::new(), &mut cookies)
}

/// What an answer amounts to when it comes in pieces: complete or not, status and body; or the fault.
fn read(data: &[u8], piece: usize, closes: bool) -> Result<(State, u16, Vec<u8>), Fault> {
    let (mut reader, mut inspector, mut jar) = (Reader::default(), Inspector::new(), Jar::default());
    let mut cookies = Cookies { jar: &mut jar, request: b"", is_secure: false };
    inspector.reset(0, 1000);
    reader.begin(Body::Expected, true);
    let mut state = State::Unfinished;
    for piece in data.chunks(piece) {
        state = reader.take(piece, &mut inspector, &mut cookies).map_err(|failure| failure.fault)?;
    }
    if closes {
        state = reader.take(&[], &mut inspector, &mut cookies).map_err(|failure| failure.fault)?;
    }
    Ok((state, reader.status, inspector.head))
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn chunks_are_joined_however_they_are_cut() {
    let body = "4\r\nWiki\r\n6;x=y\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nTrailer: 1\r\n\r\n";
    let data = format!("{CHUNKED}{body}");
    for piece in [1, 2, 3, 10, 1000] {
        let expected = (State::Complete, 200, b"Wikipedia in \r\n\r\nchunks.".to_vec());
        assert_eq!(read(data.as_bytes(), piece, false), Ok(expected));
    }
}

#[test]
fn broken_chunks_are_refused() {
    for body in ["x\r\n", "\r\n", "1\r\nab", "ffffffffffffffffff\r\n", "0\r\n\r\nmore"] {
        assert_eq!(read(format!("{CHUNKED}{body}").as_bytes(), 1000, false), Err(Fault::Malformed), "{body:?}");
    }
}

#[test]
fn line_ends_behind_a_body_end_its_connection_and_are_no_fault() {
    let chunked = format!("{CHUNKED}2\r\nab\r\n0\r\n\r\n\n");
    for text in ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab\r\n", &chunked] {
        let (mut reader, mut inspector, mut jar) = (Reader::default(), Inspector::new(), Jar::default());
        let mut cookies = Cookies { jar: &mut jar, request: b"", is_secure: false };
        inspector.reset(0, 1000);
        reader.begin(Body::Expected, true);
        let state = reader.take(text.as_bytes(), &mut inspector, &mut cookies).expect("no fault");
        assert_eq!((state, reader.keep_alive, inspector.head.as_slice()), (State::Complete, false, b"ab".as_slice()));
    }
    let more = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab\r\nx";
    assert_eq!(read(more.as_bytes(), 1000, false), Err(Fault::Malformed));
}

#[test]
fn heads_say_how_the_body_ends() {
    let state = |text: &str, closes| read(text.as_bytes(), 7, closes).map(|read| read.0);
    assert_eq!(state("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false), Ok(State::Complete));
    assert_eq!(state("HTTP/1.1 304 Not Modified\r\n\r\n", false), Ok(State::Complete));
    assert_eq!(state("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 204 No\r\n\r\n", false), Ok(State::Complete));
    assert_eq!(state("HTTP/1.1 200 OK\r\n\r\nab", false), Ok(State::Unfinished));
    assert_eq!(state("HTTP/1.1 200 OK\r\n\r\nab", true), Ok(State::Complete));
    assert_eq!(state("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", true), Err(Fault::ClosedEarly));
    assert_eq!(state("HTTP/1.1 200 OK\r\nContent-", true), Err(Fault::ClosedEarly));
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n";
    assert_eq!(state(twice, false), Err(Fault::Malformed));
}

#[test]
fn heads_are_read_as_browsers_read_them() {
    let chunked = "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    let many: String = (0..3000).map(|number| format!("X-{number}: y\r\n")).collect();
    for rest in [
        "Server : old\r\nContent-Length: 2\r\n\r\nab",
        "Content-Length : 2\r\n\r\nab",
        "X-Long: one,\r\n two\r\n\tthree\r\nContent-Length: 2\r\n\r\nab",
        " X-First: a\r\nContent-Length: 2\r\n\r\nab",
        "Content-Length: 2, 2\r\n\r\nab",
        "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
        "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab",
        "this is no field\r\nContent-Length: 2\r\n\r\nab",
        "X-Control: \u{1}\r\nContent-Length: 2\r\n\r\nab",
        "X-Torn: a\rb\r\nContent-Length: 2\r\n\r\nab",
        &format!("{many}Content-Length: 2\r\n\r\nab"),
        &format!("X-Large: {}\r\nContent-Length: 2\r\n\r\nab", "y".repeat(100_000)),
        &format!("Transfer-Encoding: identity\r\n{chunked}"),
        &format!("Content-Length: 99\r\n{chunked}"),
        &format!("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n{}", &chunked[30..]),
    ] {
        for piece in [7, usize::MAX] {
            let data = format!("HTTP/1.1 200 OK\r\n{rest}");
            let expected = (State::Complete, 200, b"ab".to_vec());
            assert_eq!(read(data.as_bytes(), piece, false), Ok(expected), "{}", &rest[..60.min(rest.len())]);
        }
    }
    for begins in ["http/1.1 200 ok\r\n", "\r\n\r\nHttp/1.1 200 OK\r\n", "\nHTTP/1.1 200\r\n", "HTTP/1.1\r200 a\rb\r\n"]
    {
        for piece in [1, 7, usize::MAX] {
            let data = format!("{begins}Content-Length: 2\r\n\r\nab");
            let expected = (State::Complete, 200, b"ab".to_vec());
            assert_eq!(read(data.as_bytes(), piece, false), Ok(expected), "{begins:?}");
        }
    }
    assert_eq!(read(b"HTTP/1.1  200  OK\r\nContent-Length: 0\r\n\r\n", 7, false).map(|read| read.1), Ok(200));
    for length in ["2, 3", "two", "-1", "+2", ","] {
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nab");
        assert_eq!(read(text.as_bytes(), 7, false), Err(Fault::Malformed), "{length}");
    }
}

#[test]
fn codings_of_the_transfer_are_decoded_over_those_of_the_content() {
    let gzip = |text: &[u8]| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut writer, text).and_then(|()| writer.finish()).expect("in memory")
    };
    let chunked = |body: &[u8]| [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
    let (once, twice) = (gzip(b"ab"), gzip(&gzip(b"ab")));
    for (fields, body, closes) in [
        ("Transfer-Encoding: gzip, chunked", chunked(&once), false),
        ("Transfer-Encoding: x-gzip\r\nTransfer-Encoding: Chunked;q=1", chunked(&once), false),
        ("Content-Encoding: gzip\r\nTransfer-Encoding: gzip, chunked", chunked(&twice), false),
        ("Content-Encoding: gzip\r\nTransfer-Encoding: utf-8, chunked", chunked(&once), false),
        ("Content-Encoding: utf-8\r\nTransfer-Encoding: gzip, chunked", chunked(&once), false),
        ("Transfer-Encoding: gzip", once.clone(), true),
    ] {
        let data = [format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").as_bytes(), &body].concat();
        let expected = (State::Complete, 200, b"ab".to_vec());
        assert_eq!(read(&data, 7, closes), Ok(expected), "{fields}");
    }
}

#[test]
fn a_connection_on_which_an_answer_was_framed_twice_is_not_used_again() {
    let mut reader = Reader::default();
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(taken(&mut reader, text).expect("valid"), State::Complete);
    assert!(!reader.keep_alive);
}

#[test]
fn the_end_of_chunks_behind_an_answer_without_content_is_no_fault() {
    let text = "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n";
    for behind in ["", "0\r\n\r\n"] {
        let mut reader = Reader::default();
        assert_eq!(taken(&mut reader, &format!("{text}{behind}")).expect("valid"), State::Complete);
        assert!(!reader.keep_alive, "the end of the chunks may still come");
    }
    assert!(taken(&mut Reader::default(), &format!("{text}2\r\nab\r\n0\r\n\r\n")).is_err());
}

#[test]
fn heads_and_trailers_without_end_are_given_up() {
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(MOST_HEAD_BYTES));
    assert_eq!(read(endless.as_bytes(), 4096, false), Err(Fault::HeadTooLarge));
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(MOST_HEAD_BYTES));
    assert_eq!(read(long.as_bytes(), usize::MAX, false), Err(Fault::HeadTooLarge), "however it comes");
    let endless = format!("{CHUNKED}1\r\na\r\n0\r\n{}", "a: b\r\n".repeat(MOST_HEAD_BYTES / 6 + 1));
    assert_eq!(read(endless.as_bytes(), 4096, false), Err(Fault::HeadTooLarge));
    let endless = format!("{CHUNKED}1;{}", "x".repeat(MOST_HEAD_BYTES + 1));
    assert_eq!(read(endless.as_bytes(), 4096, false), Err(Fault::HeadTooLarge));
}

#[test]
fn a_connection_is_kept_when_both_sides_mean_it() {
    let keeps = |text: &str| {
        let mut reader = Reader::default();
        taken(&mut reader, text).map(|_| reader.keep_alive).expect("valid")
    };
    assert!(keeps("HTTP/1.1 204 No\r\n\r\n"));
    assert!(!keeps("HTTP/1.1 204 No\r\nConnection: close\r\n\r\n"));
    assert!(!keeps("HTTP/1.0 204 No\r\n\r\n"));
    assert!(keeps("HTTP/1.0 204 No\r\nConnection: Keep-Alive\r\n\r\n"));
}

#[test]
fn wanted_fields_are_kept_from_answer_to_answer_and_no_others() {
    let mut reader = Reader { wanted: Some(Arc::from(["X-Token".into()])), ..Reader::default() };
    for told in ["a", "b"] {
        reader.begin(Body::Expected, false);
        let text = format!("HTTP/1.1 204 No\r\nx-token: {told}\r\nX-Other: c\r\n\r\n");
        taken(&mut reader, &text).expect("valid");
        assert_eq!(reader.told, [(0, told.to_owned())]);
    }
}

/// Answers as a confused server writes them: mostly right, somewhere wrong.
fn confused() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just("HTTP/1.1 200 OK\r\n".to_owned()),
        Just("HTTP/1.1 100 Continue\r\n\r\n".to_owned()),
        Just("Transfer-Encoding: chunked\r\n".to_owned()),
        (0..100u32).prop_map(|length| format!("Content-Length: {length}\r\n")),
        Just("Set-Cookie: a=b; Max-Age=0\r\n".to_owned()),
        Just("\r\n".to_owned()),
        (0..40usize).prop_map(|length| format!("{length:x}\r\n{}\r\n", "d".repeat(length))),
        Just("0\r\n\r\n".to_owned()),
        ".{0,40}",
    ];
    let lines = prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat().into_bytes());
    (lines, prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)).prop_map(|(mut data, changes)| {
        for (at, byte) in changes.into_iter().filter(|_| !data.is_empty()).collect::<Vec<_>>() {
            let at = at.index(data.len());
            data[at] = byte;
        }
        data
    })
}

proptest! {
    #[test]
    fn an_answer_means_the_same_however_it_is_cut(data in confused(), piece in 1..20usize, closes: bool) {
        // A fault may be seen earlier in small pieces than an excess behind it in one, but it is a fault all the same.
        let (whole, cut) = (read(&data, usize::MAX, closes), read(&data, piece, closes));
        prop_assert_eq!(whole.is_ok(), cut.is_ok());
        if let (Ok(whole), Ok(cut)) = (whole, cut) {
            prop_assert_eq!(whole, cut);
        }
    }
}
