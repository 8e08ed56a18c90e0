//! Several drivers' figures, merged, against those of one driver that plays the whole plan; in virtual time, so that
//! both play the very same.

use loadstone_record::event::{EndReason, Event};
use loadstone_schedule::plan::{Member, Plan, PLAN_SCHEMA};
use serde_json::{json, Value};
use tokio::sync::mpsc;

use super::follower::Follower;
use crate::discrete_event::{play, DiscreteEvents};
use crate::record_writer::RecordWriter;

const SECOND: u64 = 1_000_000_000;

fn plan(load: &Value) -> Plan {
    serde_json::from_value(json!({
        "schema": PLAN_SCHEMA, "name": "test", "seed": 7, "threads": 1,
        "phases": { "ramp_up_ns": SECOND, "warm_up_ns": SECOND, "steady_ns": 8 * SECOND, "ramp_down_ns": SECOND },
        "parts": [{ "load": load, "targets": [], "workload": workload() }],
    }))
    .expect("a plan")
}

/// Two pages in any order, with pauses between them.
fn workload() -> Value {
    let page = |name: &str| {
        json!({
            "name": name, "scheme": "http", "method": "GET", "path": "/", "query": [], "form": [], "body": null,
            "headers": [], "redirects": 0, "extract": [], "embedded": [],
            "expect": {
                "status": [200], "title": null, "contains": [], "absent": [], "markers_every": 0, "bytes": null,
            },
            "limit": { "kind": "none" }, "timeout_ns": SECOND,
        })
    };
    let state = |name: &str, at: u32| json!({ "name": name, "operation": at, "pause": "drawn", "set": [] });
    json!({
        "name": "shop", "values": [], "operations": [page("home"), page("cart")],
        "states": [state("home", 0), state("cart", 1)],
        "mix": { "kind": "flat", "shares": [0.75, 0.25], "operations_per_session": 5 },
        "pacing": { "kind": "think", "distribution": "exponential", "mean_ns": 3 * SECOND / 10, "cap_ns": null },
        "connections": {
            "protocol": "http1", "parallel": 1, "page_bytes_per_s": null, "embedded_bytes_per_s": null,
            "requests_each": null, "kept_between_users": true, "full_handshakes": 0.0,
        },
    })
}

/// The events of one share of a plan, against a station that has room for everybody.
fn events(plan: &Plan, member: Member) -> Vec<Event> {
    let plan = Plan { member, ..plan.clone() };
    let station = json!({ "workers": 10_000, "service": { "kind": "fixed", "mean_ns": 5_000_000 }, "queue": null });
    let simulation: DiscreteEvents =
        serde_json::from_value(json!({ "plan": plan, "station": station })).expect("a simulation");
    let mut out = Vec::new();
    play(&simulation, 0, &mut out).expect("played");
    String::from_utf8(out).expect("text").lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

/// What a leader writes that merges so many members.
fn merged(plan: &Plan, of: u32) -> Vec<Value> {
    let (sender, mut reports) = mpsc::unbounded_channel();
    for index in 0..of {
        let mut follower = Follower::new(plan, sender.clone());
        for event in events(plan, Member { index, of }) {
            if let Some(report) = follower.report(event).expect("of this run") {
                sender.send(report).expect("heard");
            }
        }
    }
    drop(sender);
    let mut out = Vec::new();
    let mut writer = RecordWriter::new(plan, &mut out, of as usize);
    while let Ok(report) = reports.try_recv() {
        writer.take(report).expect("written");
    }
    writer.finish(plan.phases.end(), EndReason::Completed).expect("written");
    figures(&String::from_utf8(out).expect("text"))
}

/// Intervals and totals, without what a driver says of its own CPU.
fn figures(lines: &str) -> Vec<Value> {
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let told = all.filter(|event| event["event"] == "interval" || event["event"] == "totals");
    told.map(|mut event| {
        event.as_object_mut().expect("an object").remove("cpu");
        event
    })
    .collect()
}

fn written(events: &[Event]) -> Vec<Value> {
    figures(&events.iter().map(|event| serde_json::to_string(event).expect("written") + "\n").collect::<String>())
}

#[test]
fn eight_drivers_tell_to_the_bit_what_one_would() {
    let stage = json!({ "length_ns": 11 * SECOND, "from_per_s": 40.0, "to_per_s": 40.0 });
    let arrivals = json!({
        "kind": "arrivals", "process": { "kind": "poisson" }, "path": { "kind": "stages", "stages": [stage] },
        "most_sessions": 10_000, "data_sessions": 100,
    });
    for load in [json!({ "kind": "population", "sessions": 200 }), arrivals] {
        let plan = plan(&load);
        let alone = written(&events(&plan, Member::default()));
        let together = merged(&plan, 8);
        assert!(alone.len() > 10 && alone.len() == together.len(), "{} and {}", alone.len(), together.len());
        for (one, eight) in alone.iter().zip(&together) {
            assert_eq!(one, eight);
        }
    }
}
