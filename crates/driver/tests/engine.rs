//! The engine as a whole: arrivals, side by side, several drivers, other protocols, and nothing allocated on the way.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use common::{counted, event, hear, parrot, plan, play, population, read, server};
use loadstone_driver::engine::{run, Unread};
use loadstone_driver::join::{Joiner, Leader, Share, StartWord, Token};
use loadstone_schedule::plan::Plan;
use serde_json::{json, Value};

const SILENCE: Duration = Duration::from_secs(3);
const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nloadstone";

fn arrivals(per_s: f64, seconds: f64, process: &str) -> Value {
    let stage = json!({ "length_ns": (seconds * 1e9) as u64, "from_per_s": per_s, "to_per_s": per_s });
    json!({
        "kind": "arrivals", "process": { "kind": process }, "path": { "kind": "stages", "stages": [stage] }, "most_sessions": 1000,
        "data_sessions": 1,
    })
}

fn arriving(address: SocketAddr, load: Value, seconds: f64) -> Value {
    let mut plan = plan(address, load, seconds);
    plan["parts"][0]["workload"]["mix"]["operations_per_session"] = json!(1);
    plan
}

#[test]
fn arrivals_come_at_their_rate_and_all_of_them() {
    let events = play(arriving(parrot(PAGE), arrivals(500.0, 2.0, "constant"), 4.0));
    let totals = event(&events, "totals");
    assert_eq!(totals["sessions"]["due"], 1000);
    assert_eq!(counted(&events), (1000, vec![]));
}

#[test]
fn a_slow_server_does_not_slow_arrivals_down() {
    // Each answer takes a quarter of a second; a closed loop with one connection would make eight requests.
    let slow = server(|mut stream| {
        while hear(&mut stream) {
            std::thread::sleep(Duration::from_millis(250));
            if stream.write_all(PAGE).is_err() {
                return;
            }
        }
    });
    let events = play(arriving(slow, arrivals(100.0, 2.0, "poisson"), 4.5));
    let (requests, errors) = counted(&events);
    let due = event(&events, "totals")["sessions"]["due"].as_u64().expect("a number");
    assert!(errors.is_empty() && requests == due && due > 140, "{requests} of {due}, {errors:?}");
}

#[test]
fn arrivals_beyond_the_most_sessions_are_errors_of_the_driver() {
    let silent = server(|mut stream| while hear(&mut stream) {});
    let mut load = arrivals(100.0, 1.0, "constant");
    load["most_sessions"] = json!(5);
    let (_, errors) = counted(&play(arriving(silent, load, 3.0)));
    assert_eq!(errors, [("no_sessions".to_owned(), 95)]);
}

#[test]
fn workloads_side_by_side_keep_their_own_books() {
    let address = parrot(PAGE);
    let mut both = plan(address, population(4), 3.0);
    let mut other = arriving(address, arrivals(200.0, 1.0, "constant"), 3.0)["parts"][0].take();
    other["workload"]["name"] = json!("other");
    both["parts"].as_array_mut().expect("a list").push(other);
    let events = play(both);
    let of = |part: &str| {
        let totals: Vec<&Value> =
            events.iter().filter(|event| event["event"] == "totals" && event["part"] == part).collect();
        assert_eq!(totals.len(), 1);
        totals[0]["operations"][0]["counts"]["requests"].as_u64().expect("a number")
    };
    assert_eq!(of("other"), 200);
    assert!(of("page") > 400);
}

fn token() -> Token {
    Token::new("0123456789abcdef0123456789".into()).expect("long enough")
}

/// The events of a leader that so many drivers join.
fn led(plan: &Plan, joining: u32, share: Share) -> Vec<Value> {
    let probe = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let meeting = probe.local_addr().expect("bound").to_string();
    drop(probe);
    let joiners: Vec<_> = (0..joining)
        .map(|_| {
            let meeting = meeting.clone();
            std::thread::spawn(move || {
                let joiner = Joiner::connect(&meeting, &token(), SILENCE).expect("a leader");
                let mut events = joiner.events();
                run(Box::new(joiner), &mut events, Unread::never()).expect("a run");
                events.finish();
            })
        })
        .collect();
    let mut out = Vec::new();
    let plan = plan.clone();
    let (read_plan, start) = (move || Ok(plan.clone()), StartWord::Own);
    let leader = Leader { read_plan, address: meeting, joining, token: token(), share, start, silence: SILENCE };
    run(Box::new(leader), &mut out, Unread::never()).expect("a run");
    joiners.into_iter().for_each(|joiner| joiner.join().expect("no panic"));
    read(&out)
}

#[test]
fn several_drivers_play_one_plan_and_their_histograms_are_merged() {
    let plan = arriving(parrot(PAGE), arrivals(600.0, 1.8, "poisson"), 3.5);
    let alone = event(&play(plan.clone()), "totals")["sessions"]["due"].clone();
    let plan: Plan = serde_json::from_value(plan).expect("a plan");
    for (joining, share, drivers) in [(2, Share::Own, 3), (2, Share::None, 2)] {
        let events = led(&plan, joining, share);
        assert_eq!(event(&events, "start")["drivers"], drivers);
        let bound_ns = event(&events, "start")["clock_bound_ns"].as_u64().expect("compared");
        assert!((1..50_000_000).contains(&bound_ns));
        let totals = event(&events, "totals");
        // The schedule is the same however many play it, and every answer is in the merged histogram.
        assert_eq!(totals["sessions"]["due"], alone);
        assert_eq!(totals["cpu"]["threads"].as_array().expect("a list").len(), 3);
        let record = &totals["operations"][0];
        assert_eq!(record["response"]["count"], record["counts"]["requests"]);
        let (requests, errors) = counted(&events);
        assert!(errors.is_empty() && Some(requests) == alone.as_u64(), "{requests} of {alone}, {errors:?}");
    }
}

#[test]
fn an_echo_is_checked_byte_by_byte() {
    let echo = server(|mut stream: TcpStream| {
        stream.set_nodelay(true).expect("an open stream");
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            if stream.write_all(&piece[..count]).is_err() {
                return;
            }
        }
    });
    let wrong = server(|mut stream: TcpStream| {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            piece[count - 1] ^= 1;
            if stream.write_all(&piece[..count]).is_err() {
                return;
            }
        }
    });
    let play = |address, bytes: &str| {
        let mut plan = plan(address, population(2), 1.0);
        let workload = &mut plan["parts"][0]["workload"];
        workload["connections"]["protocol"] = json!("echo");
        workload["operations"][0]["expect"]["contains"] = json!([]);
        workload["operations"][0]["expect"]["bytes"] = json!(bytes);
        counted(&play(plan))
    };
    for bytes in ["64", "1000000"] {
        let (requests, errors) = play(echo, bytes);
        assert!(requests > 20 && errors.is_empty(), "{requests}, {errors:?}");
    }
    let (requests, errors) = play(wrong, "64");
    assert_eq!(errors, [("content".to_owned(), requests)]);
}

#[test]
fn the_null_protocol_needs_no_server() {
    let mut plan = plan(([127, 0, 0, 1], 1).into(), population(8), 1.0);
    plan["parts"][0]["targets"] = json!([]);
    let workload = &mut plan["parts"][0]["workload"];
    workload["connections"]["protocol"] = json!("null");
    workload["pacing"]["mean_ns"] = json!(0);
    workload["operations"][0]["expect"]["contains"] = json!([]);
    let (requests, errors) = counted(&play(plan));
    assert!(requests > 10_000 && errors.is_empty(), "{requests}, {errors:?}");
}

#[test]
fn connections_are_given_up_after_the_declared_number_of_requests() {
    let mut plan = plan(parrot(PAGE), population(1), 1.0);
    plan["parts"][0]["workload"]["connections"]["requests_each"] = json!(10);
    let events = play(plan);
    let connections = &event(&events, "totals")["connections"];
    let ratio = connections["http_requests"].as_f64().expect("a number")
        / connections["connections"].as_f64().expect("a number");
    assert!((9.0..=10.0).contains(&ratio), "{ratio}");
}

#[test]
fn sessions_are_dealt_to_machines_in_turn_and_stay_there() {
    let counters: Vec<Arc<AtomicU64>> = (0..3).map(|_| Arc::default()).collect();
    let machines: Vec<SocketAddr> = counters
        .iter()
        .map(|counter| {
            let counter = counter.clone();
            server(move |mut stream| {
                while hear(&mut stream) {
                    counter.fetch_add(1, Ordering::Relaxed);
                    if stream.write_all(PAGE).is_err() {
                        return;
                    }
                }
            })
        })
        .collect();
    let mut plan = plan(machines[0], arrivals(300.0, 1.0, "constant"), 3.0);
    plan["parts"][0]["workload"]["mix"]["operations_per_session"] = json!(1);
    let first = plan["parts"][0]["targets"][0].clone();
    let targets = machines.iter().map(|address| {
        let mut target = first.clone();
        target["http"]["port"] = json!(address.port());
        target
    });
    plan["parts"][0]["targets"] = targets.collect();
    let (requests, errors) = counted(&play(plan));
    assert!(errors.is_empty(), "{errors:?}");
    let each: Vec<u64> = counters.iter().map(|counter| counter.load(Ordering::Relaxed)).collect();
    assert_eq!(each.iter().sum::<u64>(), requests);
    assert!(each.iter().all(|&count| count.abs_diff(requests / 3) <= 2), "{each:?}");
}
