//! Users that are placed part-way through a visit have what a browser would have got on the way there.

mod common;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use common::{event, head, plan, play, population, server};
use serde_json::{json, Value};

/// A site whose form sets a cookie, without which nobody gets in; the first `refused` log-ins fail.
fn site(refused: u32) -> SocketAddr {
    let entered = Arc::new(AtomicU32::new(0));
    server(move |mut stream: TcpStream| {
        while let Some(request) = head(&mut stream) {
            let text = String::from_utf8_lossy(&request).into_owned();
            let has = |cookie: &str| text.lines().any(|line| line.starts_with("Cookie:") && line.contains(cookie));
            let (status, cookie) = match text.split(' ').nth(1).unwrap_or_default() {
                "/form" => (200, "Set-Cookie: test=1; Path=/\r\n"),
                "/enter" if entered.fetch_add(1, Ordering::SeqCst) < refused => (500, ""),
                "/enter" if has("test=1") => (200, "Set-Cookie: user=ann\r\n"),
                "/account" if has("user=ann") => (200, ""),
                "/" => (200, ""),
                _ => (403, ""),
            };
            let answer = format!("HTTP/1.1 {status} X\r\n{cookie}Content-Length: 2\r\n\r\nok");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// Visits of four pages, a second apart, by forty users, most of whom are found behind the form.
fn visits(address: SocketAddr) -> Vec<Value> {
    let mut plan = plan(address, population(40), 2.0);
    let workload = &mut plan["parts"][0]["workload"];
    let page = workload["operations"][0].clone();
    let operation = |name: &str, method: &str, path: &str| {
        let mut operation = page.clone();
        (operation["name"], operation["method"], operation["path"]) = (json!(name), json!(method), json!(path));
        operation["redirects"] = json!(0);
        operation["expect"]["contains"] = json!([]);
        operation["timeout_ns"] = json!(20_000_000_000u64);
        operation
    };
    let operations =
        [("home", "GET", "/"), ("form", "GET", "/form"), ("enter", "POST", "/enter"), ("account", "GET", "/account")];
    let state = |at: usize| json!({ "name": operations[at].0, "operation": at, "pause": "drawn", "set": [] });
    workload["states"] = json!((0..4).map(state).collect::<Vec<_>>());
    workload["operations"] = json!(operations.map(|(name, method, path)| operation(name, method, path)));
    workload["mix"] = json!({ "kind": "sequence", "states": [0, 1, 2, 3] });
    workload["pacing"]["mean_ns"] = json!(1_000_000_000);
    play(plan)
}

fn unplaced(events: &[Value]) -> u64 {
    event(events, "totals")["sessions"]["unplaced"].as_u64().expect("a number")
}

fn errors(events: &[Value]) -> Vec<Value> {
    let operations = event(events, "totals")["operations"].as_array().expect("a list").clone();
    operations.iter().map(|one| one["counts"]["errors"].clone()).collect()
}

#[test]
fn a_cookie_that_a_page_alone_sets_is_there() {
    let events = visits(site(0));
    assert_eq!(errors(&events), vec![json!({}); 4]);
    assert_eq!(unplaced(&events), 0);
    assert!(events.iter().all(|event| event["event"] != "trouble"));
}

#[test]
fn users_who_could_not_be_placed_are_counted_and_named_apart_from_errors() {
    let events = visits(site(3));
    assert_eq!(errors(&events), vec![json!({}); 4]);
    assert_eq!(unplaced(&events), 3);
    let trouble = event(&events, "trouble");
    assert_eq!(trouble["operation"], "enter");
    assert!(trouble["detail"].as_str().expect("a text").starts_with("as its user was placed part-way"), "{trouble}");
}
