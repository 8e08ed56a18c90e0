use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use loadstone_record::event::EVENT_SCHEMA;
use loadstone_schedule::plan::{Plan, PLAN_SCHEMA};
use rustix::time::ClockId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::door::{to_make_room, welcome, MOST_OF_AN_ADDRESS, MOST_STRANGERS};
use super::line::{line, Said, Word};
use super::Token;
use crate::clock::kernel_ns;

const SILENCE: Duration = Duration::from_secs(3);

fn token(letter: &str) -> Token {
    Token::new(letter.repeat(30)).expect("long enough")
}

fn plan() -> Plan {
    serde_json::from_value(serde_json::json!({
        "schema": PLAN_SCHEMA, "name": "test", "seed": 1, "threads": 1, "parts": [],
        "phases": { "ramp_up_ns": 0, "warm_up_ns": 0, "steady_ns": 1, "ramp_down_ns": 0 },
    }))
    .expect("a plan")
}

async fn joins(address: SocketAddr, token: &Token) -> Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    let mut stream = token.connector()?.connect("loadstone".try_into()?, stream).await?;
    stream.write_all(b"\n").await?; // who was refused is told when it says more
    stream.read_u8().await?;
    Ok(stream)
}

#[tokio::test]
async fn strangers_are_told_nothing_and_hold_nobody_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let acceptor = token("a").acceptor().expect("keys");
    let welcoming = tokio::spawn(async move { welcome(listener, acceptor, &plan(), 1..2, SILENCE).await });
    let _silent = TcpStream::connect(address).await.expect("a line");
    let mut loud = TcpStream::connect(address).await.expect("a line");
    loud.write_all(&[7; 1000]).await.expect("sent");
    let mut said = Vec::new();
    let _ = loud.read_to_end(&mut said).await;
    assert!(said.len() < 20, "an alert at most: {said:?}");
    assert!(joins(address, &token("b")).await.is_err());
    assert!(!welcoming.is_finished());
    joins(address, &token("a")).await.expect("let in");
    assert_eq!(welcoming.await.expect("no panic").expect("joined").len(), 1);
    assert!(Token::new("short".into()).is_err());
}

#[tokio::test]
async fn strangers_who_send_a_byte_now_and_then_keep_nobody_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let acceptor = token("a").acceptor().expect("keys");
    let welcoming = tokio::spawn(async move { welcome(listener, acceptor, &plan(), 1..4, SILENCE).await });
    let mut held = Vec::new();
    let mut joined = Vec::new();
    for _ in 0..3 {
        for _ in 0..MOST_OF_AN_ADDRESS + 8 {
            let mut slow = TcpStream::connect(address).await.expect("a line");
            slow.write_all(&[22, 3, 1]).await.expect("sent");
            held.push(slow);
        }
        joined.push(joins(address, &token("a")).await.expect("let in"));
    }
    assert_eq!(welcoming.await.expect("no panic").expect("joined").len(), 3);
}

#[test]
fn the_oldest_of_the_address_with_the_most_makes_room() {
    let address = |last: u8| IpAddr::from([192, 0, 2, last]);
    let of = |last: &[u8]| last.iter().map(|&last| (address(last), ())).collect::<Vec<_>>();
    let full: Vec<u8> = (0..MOST_STRANGERS).map(|at| if at < 8 { 1 } else { 2 + at as u8 % 4 }).collect();
    assert_eq!(to_make_room(&of(&full), address(9)), Some(8));
    assert_eq!(to_make_room(&of(&full[1..]), address(9)), None);
    assert_eq!(to_make_room(&of(&[2, 1].repeat(MOST_OF_AN_ADDRESS)), address(1)), Some(1));
}

#[tokio::test]
async fn clocks_are_compared_by_the_shortest_round_trip() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let acceptor = token("a").acceptor().expect("keys");
    let joiner = tokio::spawn(async move {
        let stream = TcpStream::connect(address).await.expect("a leader");
        let name = "loadstone".try_into().expect("a name");
        let stream = token("a").connector().expect("keys").connect(name, stream).await.expect("let in");
        let (mut hearing, saying) = line(stream, &Said::Alive, SILENCE).expect("a line");
        while let Ok(word) = hearing.hear().await {
            if matches!(word, Word::Clock) {
                let heard_ns = kernel_ns(ClockId::Monotonic) + 3_600_000_000_000;
                let now = Said::Now { schema: EVENT_SCHEMA, heard_ns, now_ns: heard_ns };
                saying.say(&now).await.expect("heard");
            }
        }
    });
    let mut member = welcome(listener, acceptor, &plan(), 1..2, SILENCE).await.expect("joined").remove(0);
    member.compare_clocks().await.expect("answers");
    let wrong_ns = member.ahead_ns.abs_diff(3_600_000_000_000);
    assert!(wrong_ns <= member.bound_ns && member.bound_ns < 50_000_000, "{wrong_ns} of {}", member.bound_ns);
    drop(member);
    joiner.await.expect("no panic");
}
