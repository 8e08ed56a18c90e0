use std::net::Ipv4Addr;

use super::super::sealed::papers::{authority, sealed_by};
use super::*;

const NOWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);

fn identity(name: &str, generation: u64, seals: Option<Seals>) -> Identity {
    Identity { name: name.to_owned(), generation, seals, key: "k".to_owned() }
}

fn both(there: Identity, here: Identity) -> (Result<Channel>, Result<Channel>) {
    let (listener, address) = listen((NOWHERE, 0).into(), &there).expect("a port");
    let there = std::thread::spawn(move || accept(&listener, &there, || true));
    let here = connect(address, &here, Slowing::default());
    if here.is_err() {
        return (here, Err(anyhow::anyhow!("still waits")));
    }
    (here, there.join().expect("no panic"))
}

fn come_through(here: Result<Channel>, there: Result<Channel>) {
    let (mut here, there) = (here.expect("a channel"), there.expect("a channel"));
    assert_eq!((here.peer.as_str(), here.generation, there.peer.as_str(), there.generation), ("a", 3, "b", 2));
    let said = Message::Acknowledged { received: 7, executed: 5, taken: 9 };
    here.control.send(&said).expect("sent");
    assert_eq!(there.control.receive().expect("heard"), said);
    let piece: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251 * (at % 251) % 251) as u8).collect();
    for number in 0..20 {
        let sending = piece.clone();
        let mut log = there.log.try_clone().expect("a socket");
        let sent = std::thread::spawn(move || send_log(&mut log, number, &sending).expect("sent"));
        assert_eq!(receive_piece(&mut here.log).expect("heard"), Piece::Log(number, piece.clone()));
        assert!(sent.join().expect("no panic") < piece.len());
    }
    let mark = Mark::of_read(3, 512, (0..transmission::LONGEST).map(|at| (at % 253) as u8).collect());
    let (sending, mut log) = (mark.clone(), there.log.try_clone().expect("a socket"));
    let sent = std::thread::spawn(move || send_mark(&mut log, &sending).expect("sent"));
    assert!(receive_piece(&mut here.log).expect("heard") == Piece::Mark(mark));
    sent.join().expect("no panic");
    there.control.close();
    assert!(here.control.receive().is_err());
}

#[test]
fn messages_and_log_come_through_as_they_were_sent() {
    let (here, there) = both(identity("a", 3, None), identity("b", 2, None));
    come_through(here, there);
}

#[test]
fn a_sealed_channel_carries_the_same_and_strangers_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, others) = (authority(), authority());
    let [a, b] = ["a", "b"].map(|name| sealed_by(&ours, folder.path(), name));
    let stranger = sealed_by(&others, folder.path(), "stranger");
    let (here, there) = both(identity("a", 3, Some(a.clone())), identity("b", 2, Some(b)));
    come_through(here, there);
    for seals in [Some(stranger), None] {
        let (here, _) = both(identity("a", 3, Some(a.clone())), identity("b", 2, seals));
        assert!(here.is_err());
    }
}

#[test]
fn a_stranger_without_the_key_hears_nothing_and_is_turned_away() {
    let (listener, address) = listen((NOWHERE, 0).into(), &identity("a", 0, None)).expect("a port");
    let there = std::thread::spawn(move || accept(&listener, &identity("a", 3, None), || true));
    let mut silent = TcpStream::connect(address).expect("connected");
    silent.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
    let mut heard = [0; 1];
    assert!(!matches!(silent.read(&mut heard), Ok(1..)), "the key is told to whoever connects");
    for key in ["", "l", "kk"] {
        assert!(connect(
            address,
            &Identity { key: key.to_owned(), ..identity("mallory", 2, None) },
            Slowing::default()
        )
        .is_err());
    }
    let here = connect(address, &identity("b", 2, None), Slowing::default());
    come_through(here, there.join().expect("no panic"));
}

#[test]
fn strangers_in_all_places_hold_up_nobody() {
    let _alone = lock(&places::ALONE);
    let folder = tempfile::tempdir().expect("a folder");
    let ours = authority();
    let [a, b] = ["a", "b"].map(|name| sealed_by(&ours, folder.path(), name));
    for (a, b) in [(None, None), (Some(a), Some(b))] {
        let (listener, address) = listen((NOWHERE, 0).into(), &identity("a", 0, a.clone())).expect("a port");
        let there = std::thread::spawn(move || accept(&listener, &identity("a", 3, a), || true));
        let stranger = |number: usize| {
            let mut stream = TcpStream::connect(address).expect("connected");
            let _ = stream.write_all(&[0, 0, 1][..number % 3]); // the first says nothing
            stream
        };
        let _held: Vec<_> = (0..places::MOST + 16).map(stranger).collect();
        let here = connect(address, &identity("b", 2, b), Slowing::default());
        come_through(here, there.join().expect("no panic"));
    }
}

#[test]
fn a_greeting_has_one_deadline_however_often_it_brings_a_byte() {
    let (listener, address) = listen((NOWHERE, 0).into(), &identity("a", 0, None)).expect("a port");
    let mut slow = TcpStream::connect(address).expect("connected");
    let (tcp, _) = listener.accept().expect("accepted");
    let waiting = std::thread::spawn(move || welcome(tcp, &identity("a", 3, None)).is_err());
    let begun = Instant::now();
    while slow.write_all(&[0]).is_ok() {
        assert!(begun.elapsed() < 10 * GREETING);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(waiting.join().expect("no panic"));
}

#[test]
fn what_is_no_agent_is_refused_and_nothing_leaves_the_host_unsealed() {
    let (listener, address) = listen((NOWHERE, 0).into(), &identity("a", 0, None)).expect("a port");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    assert!(connect(address, &identity("b", 0, None), Slowing::default()).is_err());
    let away: SocketAddr = "192.0.2.1:9".parse().expect("an address");
    let refused = connect(away, &identity("b", 0, None), Slowing::default()).err().expect("an error").to_string();
    assert!(refused.contains("unsealed"), "{refused}");
    assert!(listen(away, &identity("a", 0, None)).is_err());
    let (_held, address) = listen((NOWHERE, 0).into(), &identity("a", 0, None)).expect("a port");
    let taken = listen(address, &identity("a", 0, None)).expect_err("an error").to_string();
    assert!(taken.contains(&address.to_string()), "{taken}");
}
