//! Users that are found half-way through a download: the rest of it is asked for, and all of it counts.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use common::{event, plan, play, population, server};
use serde_json::{json, Value};

const BYTES: usize = 60_000;

/// Where each request was asked to begin, and whether it was the first on its connection.
type Asked = Arc<Mutex<Vec<(bool, Option<usize>)>>>;

/// A server of one file that notes where it was asked to begin; one that knows no ranges sends all of it.
fn file(asked: Asked, knows_ranges: bool) -> SocketAddr {
    server(move |mut stream: TcpStream| {
        let mut is_first = true;
        while let Some(from) = request(&mut stream) {
            asked.lock().expect("whole").push((is_first, from));
            is_first = false;
            let from = from.filter(|_| knows_ranges);
            let status = if from.is_some() { "206 Partial Content" } else { "200 OK" };
            let body = vec![b'x'; BYTES - from.unwrap_or(0)];
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all(head.as_bytes()).is_err() || stream.write_all(&body).is_err() {
                return;
            }
        }
    })
}

/// The byte at which a request begins; nothing when the client is gone.
fn request(stream: &mut TcpStream) -> Option<Option<usize>> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text");
    let from = head.lines().find_map(|line| line.strip_prefix("Range: bytes=")?.strip_suffix('-')?.parse().ok());
    Some(from)
}

/// Downloads of 0.6 s on their users' lines, one after the other, for 2.4 seconds.
fn downloads(address: SocketAddr) -> Value {
    let mut plan = plan(address, population(20), 2.4);
    plan["phases"]["ramp_up_ns"] = json!(10_000_000);
    let workload = &mut plan["parts"][0]["workload"];
    workload["operations"][0]["expect"]["contains"] = json!([]);
    workload["operations"][0]["expect"]["bytes"] = json!(BYTES.to_string());
    workload["operations"][0]["timeout_ns"] = json!(10_000_000_000u64);
    workload["mix"]["operations_per_session"] = json!(1);
    workload["connections"]["page_bytes_per_s"] = json!(100_000.0);
    event(&play(plan), "totals")["operations"][0].clone()
}

#[test]
fn the_rest_of_a_download_is_asked_for_and_all_of_it_counts() {
    let asked = Asked::default();
    let totals = downloads(file(asked.clone(), true));
    let (first, later): (Vec<_>, Vec<_>) =
        asked.lock().expect("whole").iter().copied().partition(|(is_first, _)| *is_first);
    assert_eq!(first.len(), 20);
    let from: Vec<usize> = first.iter().map(|(_, from)| from.unwrap_or(0)).collect();
    assert!(from.iter().all(|&at| at < BYTES) && from.iter().filter(|&&at| at > 0).count() > 15, "{from:?}");
    // Spread over the whole file: the mean of twenty uniform places has a standard error of 6 %.
    let mean = from.iter().sum::<usize>() / from.len();
    assert!(mean.abs_diff(BYTES / 2) < BYTES / 4, "{from:?}");
    assert!(later.iter().all(|(_, from)| from.is_none()));
    let number = |name: &str| totals[name].as_u64().expect("a number");
    assert_eq!(totals["counts"]["errors"], json!({}));
    let cut = totals["tally"]["cut_at_start"].as_u64().expect("a number");
    assert_eq!(cut, 20);
    let ended = cut + totals["counts"]["requests"].as_u64().expect("a number");
    // 20 x 2.4 s / 0.6 s at most. A host that stalls makes them fewer and as much longer: users always wait for one.
    assert!(ended <= 80, "{ended}");
    let bytes = number("ended_bytes") / ended;
    assert!((60_000..60_100).contains(&bytes), "{bytes}");
    let all_s = totals["ended_ns"].as_f64().expect("a number") / 1e9;
    assert!((36.0..60.0).contains(&all_s), "{all_s}");
    assert!(all_s / ended as f64 > 0.59, "{all_s} {ended}");
}

#[test]
fn a_server_that_knows_no_ranges_sends_all_of_it() {
    let totals = downloads(file(Arc::default(), false));
    assert_eq!(totals["counts"]["errors"], json!({}));
    assert_eq!(totals["tally"]["cut_at_start"], 20);
    assert_eq!(totals["entered"]["count"], 20);
}
