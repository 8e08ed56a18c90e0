//! What users ask for conditionally: from the first request on, as it was dealt, and by the date of their own machine.

mod common;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{event, head, plan, play, population, server};
use loadstone_driver::engine::{run, Unread};
use loadstone_driver::start::Alone;
use loadstone_schedule::plan::Plan;
use serde_json::{json, Value};

const DAY: &str = "Sun, 01 Nov 2026 08:00:00 GMT";

/// A machine whose files are all of one date and that takes its time; and what it was asked.
fn machine(date: &'static str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = asked.clone();
    let address = server(move |mut stream| {
        while let Some(head) = head(&mut stream) {
            let head = String::from_utf8(head).expect("text");
            std::thread::sleep(Duration::from_millis(20));
            let is_known = head.contains(&format!("If-Modified-Since: {date}\r\n"));
            let answer = match is_known {
                true => "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(),
                false => format!("HTTP/1.1 200 OK\r\nLast-Modified: {date}\r\nContent-Length: 9\r\n\r\nloadstone"),
            };
            noted.lock().expect("whole").push(head);
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    (address, asked)
}

fn file(path: &str, conditional: f64) -> Value {
    json!({ "path": path, "bytes": 9, "conditional": conditional, "markers_every": 0 })
}

fn with_files(addresses: &[SocketAddr]) -> Value {
    let mut plan = plan(addresses[0], population(6), 2.0);
    plan["parts"][0]["workload"]["operations"][0]["embedded"] = json!([file("/kept", 1.0), file("/never", 0.0)]);
    let target = plan["parts"][0]["targets"][0].clone();
    let others = addresses.iter().map(|address| {
        let mut one = target.clone();
        one["http"]["port"] = json!(address.port());
        one
    });
    plan["parts"][0]["targets"] = others.collect();
    plan
}

#[test]
fn the_first_requests_are_conditional_too_and_by_their_machines_date() {
    let machines = [machine(DAY), machine("Mon, 02 Nov 2026 09:30:00 GMT")];
    let events = play(with_files(&[machines[0].0, machines[1].0]));
    for (_, asked) in &machines {
        let asked = asked.lock().expect("whole");
        let kept: Vec<&String> = asked.iter().filter(|head| head.starts_with("GET /kept ")).collect();
        assert!(kept.len() > 6, "{}", kept.len());
        let learned = kept.iter().filter(|head| !head.contains("If-Modified-Since")).count();
        assert_eq!(learned, 1);
        assert!(asked[0].starts_with("GET /kept "), "{}", asked[0]);
        assert!(!asked.iter().any(|head| head.starts_with("GET /never") && head.contains("If-Modified-Since")));
    }
    let page = &event(&events, "totals")["operations"][0];
    assert_eq!(page["counts"]["errors"], json!({}));
    let count = |name: &str| page["tally"][name].as_u64().expect("a number");
    assert!(count("embedded") > 0);
    assert_eq!(count("embedded"), 2 * count("conditional"));
    assert_eq!(count("not_modified"), count("conditional"));
}

#[test]
fn what_has_no_date_is_never_asked_for_conditionally() {
    let address = common::parrot(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nloadstone");
    let events = play(with_files(&[address]));
    assert_eq!(event(&events, "totals")["operations"][0]["tally"]["conditional"], 0);
}

#[test]
fn a_file_that_cannot_be_fetched_takes_no_other_file_its_date() {
    let has_failed = AtomicBool::new(false);
    let address = server(move |mut stream| {
        while let Some(head) = head(&mut stream) {
            let head = String::from_utf8(head).expect("text");
            if head.starts_with("GET /first ") && !has_failed.swap(true, Ordering::Relaxed) {
                return; // the connection ends without an answer
            }
            std::thread::sleep(Duration::from_millis(20));
            let answer = match head.contains("If-Modified-Since") {
                true => "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(),
                false => format!("HTTP/1.1 200 OK\r\nLast-Modified: {DAY}\r\nContent-Length: 9\r\n\r\nloadstone"),
            };
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    let mut plan = with_files(&[address]);
    plan["parts"][0]["workload"]["operations"][0]["embedded"] = json!([file("/first", 1.0), file("/second", 1.0)]);
    let events = play(plan);
    let tally = &event(&events, "totals")["operations"][0]["tally"];
    let count = |name: &str| tally[name].as_u64().expect("a number");
    assert!(count("embedded") > 0);
    assert_eq!(count("embedded"), 2 * count("conditional"), "the first file has no date, the second has");
    assert_eq!(count("not_modified"), count("conditional"));
}

#[test]
fn a_machine_whose_dates_are_not_learned_in_time_ends_the_run_before_its_start() {
    let address = server(|mut stream| {
        for pause_s in [0, 60] {
            if head(&mut stream).is_none() {
                return;
            }
            std::thread::sleep(Duration::from_secs(pause_s));
            let answer = format!("HTTP/1.1 200 OK\r\nLast-Modified: {DAY}\r\nContent-Length: 9\r\n\r\nloadstone");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let mut plan = with_files(&[address]);
    plan["parts"][0]["workload"]["operations"][0]["embedded"] = json!([file("/first", 1.0), file("/second", 1.0)]);
    let plan: Plan = serde_json::from_value(plan).expect("a plan");
    let refused = run(Box::new(Alone(move || Ok(plan.clone()))), &mut Vec::new(), Unread::never());
    let why = refused.expect_err("no run").to_string();
    assert!(why.contains("answered for only 1 of the files that users ask for conditionally"), "{why}");
}
