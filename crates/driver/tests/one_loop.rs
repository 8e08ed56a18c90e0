//! One plan, three ways to play it: with sockets, as a discrete-event simulation, and with sessions by themselves. Every
//! session must perform the same operations in each.

mod common;

use std::collections::BTreeMap;

use common::{event, plan, play, population, read};
use loadstone_driver::discrete_event::{self, DiscreteEvents};
use loadstone_driver::simulate::{simulate, Simulation};
use serde_json::{json, Value};

/// Three operations in a matrix: `sessions` sessions perform one each `cycle_ms` in a steady state of `cycles` cycles. They
/// begin in the first tenth of a cycle. So each operation begins 0.45 cycles from the bounds of the steady state.
fn three_pages(sessions: u32, cycle_ms: u64, cycles: u64) -> Value {
    let mut plan = plan(([127, 0, 0, 1], 1).into(), population(sessions), (cycle_ms * cycles) as f64 / 1e3);
    plan["phases"]["ramp_up_ns"] = json!(cycle_ms * 100_000);
    plan["phases"]["warm_up_ns"] = json!(cycle_ms * 450_000);
    let part = &mut plan["parts"][0];
    part["targets"] = json!([]);
    let workload = &mut part["workload"];
    workload["connections"]["protocol"] = json!("null");
    workload["pacing"] =
        json!({ "kind": "cycle", "distribution": "fixed", "mean_ns": cycle_ms * 1_000_000, "cap_ns": null });
    let mut page = workload["operations"][0].take();
    page["expect"]["contains"] = json!([]);
    let names = ["first", "second", "third"];
    workload["operations"] = names.iter().map(|name| with_name(&page, name)).collect();
    workload["states"] = (0..)
        .zip(names)
        .map(|(operation, name)| json!({ "name": name, "operation": operation, "pause": "drawn", "set": [] }))
        .collect();
    let row = |chances: [f64; 3], finish: f64| {
        let edges = (0..).zip(chances).map(|(state, chance)| json!({ "state": state, "probability": chance }));
        json!({ "to": edges.collect::<Value>(), "finish": finish })
    };
    workload["mix"] = json!({
        "kind": "matrix", "start": 0,
        "rows": [row([0.0, 0.7, 0.3], 0.0), row([0.4, 0.1, 0.4], 0.1), row([0.3, 0.3, 0.0], 0.4)],
    });
    plan
}

fn with_name(page: &Value, name: &str) -> Value {
    let mut page = page.clone();
    page["name"] = json!(name);
    page
}

fn station() -> Value {
    json!({
        "workers": 1000, "service": { "kind": "fixed", "mean_ns": 1000 }, "queue": null,
        "faults": {
            "stall_every_ns": 0, "stall_ns": 0, "error_share": 0.0, "slow_start_ns": 0, "slow_start_factor": 1.0,
        },
    })
}

/// Operations that ended in the steady state, by name.
fn of_totals(events: &[Value]) -> BTreeMap<String, u64> {
    let totals = event(events, "totals")["operations"].as_array().expect("a list");
    let count = |one: &Value| one["counts"]["requests"].as_u64().expect("a number");
    totals.iter().map(|one| (one["name"].as_str().expect("a name").to_owned(), count(one))).collect()
}

fn in_real_time(plan: &Value) -> BTreeMap<String, u64> {
    of_totals(&play(plan.clone()))
}

fn by_discrete_events(plan: &Value) -> BTreeMap<String, u64> {
    let simulation: DiscreteEvents =
        serde_json::from_value(json!({ "plan": plan, "station": station() })).expect("a simulation");
    let mut out = Vec::new();
    discrete_event::play(&simulation, 0, &mut out).expect("a run");
    of_totals(&read(&out))
}

fn by_themselves(plan: &Value) -> BTreeMap<String, u64> {
    let server = json!({ "kind": "fixed", "response_ns": 1000 });
    let simulation: Simulation =
        serde_json::from_value(json!({ "plan": plan, "server": server })).expect("a simulation");
    simulate(&simulation).expect("a run").operations.into_iter().map(|one| (one.name, one.count)).collect()
}

#[test]
fn one_plan_is_the_same_operations_however_it_is_played() {
    let plan = three_pages(300, 2000, 2); // a host may stall for 0.9 s
    let expected = by_themselves(&plan);
    assert!(expected.values().all(|&count| count > 100), "{expected:?}");
    assert_eq!(by_discrete_events(&plan), expected);
    assert_eq!(in_real_time(&plan), expected);
}

#[test]
fn a_curve_bends_all_three_alike() {
    let plain = three_pages(100, 2000, 4);
    let mut plan = plain.clone();
    plan["parts"][0]["curve"] = json!({ "step_ns": 4_000_000_000u64, "factors": [1.0, 3.0], "shift_ns": 0 });
    let expected = by_themselves(&plan);
    assert_eq!(by_discrete_events(&plan), expected);
    // In real time an answer may come in the curve's next step, so that the pause after it is another one.
    let real = in_real_time(&plan);
    let total = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>() as f64;
    assert!((total(&expected) / total(&by_themselves(&plain)) - 2.0).abs() < 0.1, "{expected:?}");
    assert!((total(&real) / total(&expected) - 1.0).abs() < 0.03, "{real:?} {expected:?}");
}
