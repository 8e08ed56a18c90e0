//! What the tests of whole drivers share: small plans, servers of a few lines, and reading the events.

#![allow(dead_code)] // each test file uses its part

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use loadstone_driver::engine::{run, Unread};
use loadstone_driver::start::Alone;
use loadstone_schedule::plan::Plan;
use serde_json::{json, Value};

/// Starts a server that hands every connection to `serve` on a thread of its own.
pub fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// The head of the next request; none when the client is gone.
pub fn head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut seen, mut piece) = (Vec::new(), [0; 1024]);
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => seen.extend_from_slice(&piece[..count]),
            _ => return None,
        }
    }
    Some(seen)
}

/// Waits for the end of a request's head; false when the client is gone.
pub fn hear(stream: &mut TcpStream) -> bool {
    head(stream).is_some()
}

/// A server that answers every request with the same bytes.
pub fn parrot(answer: &'static [u8]) -> SocketAddr {
    server(move |mut stream| while hear(&mut stream) && stream.write_all(answer).is_ok() {})
}

/// A plan for one page at `address`; change what a test needs. A host that stalls makes no answer too late. Users pause
/// for 5 ms, so that a test leaves the processor to others.
pub fn plan(address: SocketAddr, load: Value, seconds: f64) -> Value {
    json!({
        "schema": 4, "name": "test", "seed": 1, "threads": 1,
        "phases": {
            "ramp_up_ns": 0, "warm_up_ns": 0, "steady_ns": (seconds * 1e9) as u64, "ramp_down_ns": 0,
        },
        "parts": [{
            "load": load,
            "targets": [{
                "http": { "host": address.ip().to_string(), "port": address.port() }, "https": null,
                "trust": { "kind": "anything" },
            }],
            "workload": {
                "name": "page", "values": [],
                "operations": [{
                    "name": "page", "scheme": "http", "method": "GET", "path": "/", "query": [], "form": [],
                    "body": null, "headers": [], "redirects": 3, "extract": [], "embedded": [],
                    "expect": {
                        "status": [200], "title": null, "contains": ["loadstone"], "absent": [], "markers_every": 0,
                        "bytes": null,
                    },
                    "limit": { "kind": "none" }, "timeout_ns": 60_000_000_000u64,
                }],
                "states": [{ "name": "page", "operation": 0, "pause": "drawn", "set": [] }],
                "mix": { "kind": "flat", "shares": [1.0], "operations_per_session": null },
                "pacing": { "kind": "think", "distribution": "fixed", "mean_ns": 5_000_000u64, "cap_ns": null },
                "connections": {
                    "protocol": "http1", "parallel": 1, "page_bytes_per_s": null, "embedded_bytes_per_s": null,
                    "requests_each": null, "kept_between_users": true, "full_handshakes": 0.0,
                },
            },
        }],
    })
}

pub fn population(sessions: u32) -> Value {
    json!({ "kind": "population", "sessions": sessions })
}

/// Plays a plan to its end; the events.
pub fn play(plan: Value) -> Vec<Value> {
    let plan: Plan = serde_json::from_value(plan).expect("a plan");
    let mut out = Vec::new();
    run(Box::new(Alone(move || Ok(plan.clone()))), &mut out, Unread::never()).expect("a run");
    read(&out)
}

pub fn read(out: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(out).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

/// The one event of a kind.
pub fn event<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    events.iter().find(|event| event["event"] == kind).expect("the event")
}

/// Requests and errors of the first operation over all intervals.
pub fn counted(events: &[Value]) -> (u64, Vec<(String, u64)>) {
    let (mut requests, mut errors) = (0, std::collections::BTreeMap::<String, u64>::new());
    for counts in events.iter().filter(|event| event["event"] == "interval").map(|event| &event["operations"][0]) {
        requests += counts["requests"].as_u64().expect("a number");
        for (kind, count) in counts["errors"].as_object().expect("a table") {
            *errors.entry(kind.clone()).or_default() += count.as_u64().expect("a number");
        }
    }
    (requests, errors.into_iter().collect())
}
