//! The session machine: mixes, pauses, values and users, over many seeds.

use loadstone_schedule::plan::*;
use loadstone_schedule::session::{Departure, Script, Session, Step};

fn operation(name: &str) -> Operation {
    Operation {
        name: name.into(),
        scheme: Scheme::Http,
        method: Method::Get,
        path: "/{user}".into(),
        query: vec![],
        form: vec![],
        body: None,
        headers: vec![],
        redirects: 0,
        expect: Expect {
            status: vec![200],
            title: None,
            contains: vec![],
            absent: vec![],
            markers_every: 0,
            bytes: None,
            json: Vec::new(),
        },
        extract: vec![],
        embedded: vec![],
        limit: Limit::None,
        timeout_ns: 1,
        usual_bytes: None,
        endings: vec![],
        set: vec![],
        uploads: vec![],
        before: vec![],
        after: vec![],
        images: None,
        websocket: Vec::new(),
    }
}

fn workload(mix: Mix) -> Workload {
    let state = |(operation, name): (u32, &&str)| State {
        name: (*name).into(),
        operation,
        pause: if *name == "b" { Pause::None } else { Pause::Drawn },
        least_pause_ns: 0,
        when: Vec::new(),
        set: vec![Field { name: "last".into(), value: format!("{name}-{{user}}") }],
    };
    let names = ["a", "b", "c"];
    let user = GeneratorKind::User { per_session: 3, first: 1, digits: 2, any: false };
    Workload {
        name: "test".into(),
        values: vec![Generator { name: "user".into(), scope: Scope::Session, states: vec![], kind: user }],
        operations: names.iter().map(|name| operation(name)).collect(),
        states: (0..).zip(&names).map(state).collect(),
        mix,
        pacing: Pacing { kind: PacingKind::Think, distribution: Distribution::Fixed, mean_ns: 7, cap_ns: None },
        connections: Connections {
            protocol: Protocol::Http1,
            parallel: 1,
            page_bytes_per_s: None,
            embedded_bytes_per_s: None,
            requests_each: None,
            kept_between_users: false,
            full_handshakes: 0.0,
            warm_caches: None,
            source_addresses: 1,
        },
        mailboxes: None,
    }
}

fn row(to: &[(u32, f64)], finish: f64) -> Row {
    Row { to: to.iter().map(|&(state, probability)| Edge { state, probability }).collect(), finish }
}

fn matrix() -> Mix {
    // a: b 0.5, leaves 0.5; b: c; c: ends.
    Mix::Matrix { start: 0, rows: vec![row(&[(1, 0.5)], 0.0), row(&[(2, 1.0)], 0.0), row(&[], 1.0)] }
}

/// States and pauses of one user session, and how it ended.
fn visit(session: &mut Session, script: &Script) -> (Vec<(usize, Option<u64>)>, Departure) {
    session.begin(script);
    let mut steps = Vec::new();
    loop {
        match session.next(script) {
            Step::Perform { state, pause } => {
                session.prepare(script);
                steps.push((state, pause));
            }
            Step::End(departure) => return (steps, departure),
        }
    }
}

#[test]
fn a_matrix_walks_its_rows_and_what_is_missing_leaves() {
    let script = Script::compile(&workload(matrix())).expect("valid");
    let mut left = 0;
    for seed in 0..2000 {
        let (steps, departure) = visit(&mut Session::new(&script, seed, 0), &script);
        match departure {
            Departure::Abandoned => {
                left += 1;
                assert_eq!(steps, [(0, None)]);
            }
            // No pause before the first, none before `b`, the drawn one before `c`.
            Departure::Finished => assert_eq!(steps, [(0, None), (1, None), (2, Some(7))]),
        }
    }
    assert!((850..1150).contains(&left), "{left} of 2000 left at a chance of one half");
}

#[test]
fn a_sequence_is_played_in_order_and_ends() {
    let script = Script::compile(&workload(Mix::Sequence { states: vec![2, 0, 2] })).expect("valid");
    let (steps, departure) = visit(&mut Session::new(&script, 1, 1), &script);
    assert_eq!(steps, [(2, None), (0, Some(7)), (2, Some(7))]);
    assert_eq!(departure, Departure::Finished);
}

#[test]
fn what_depends_on_an_unknown_value_is_passed_over() {
    let mut workload = workload(Mix::Sequence { states: vec![0, 2, 1, 2] });
    workload.operations[1].extract = vec![extract("ticket")];
    workload.states[2].when = vec!["{ticket}".into(), "{user}".into()];
    let script = Script::compile(&workload).expect("valid");
    let ticket = script.slots.get("ticket").expect("a value");
    let mut session = Session::new(&script, 1, 1);
    for _ in 0..3 {
        session.begin(&script);
        let mut performed = Vec::new();
        while let Step::Perform { state, .. } = session.next(&script) {
            session.prepare(&script);
            performed.push(state);
            if state == 1 {
                session.values.set(ticket, "7"); // as the answer tells it
            }
        }
        assert_eq!(performed, [0, 1, 2], "the first time nobody has a ticket");
        assert_eq!(session.operations(), 3);
    }
}

#[test]
fn only_later_steps_of_sequences_may_be_passed_over() {
    for (mix, state) in [(Mix::Sequence { states: vec![1, 0] }, 1), (matrix(), 2)] {
        let mut workload = workload(mix);
        workload.states[state].when = vec!["{user}".into()];
        let said = Script::compile(&workload).expect_err("refused").to_string();
        assert!(said.contains("only a sequence's later steps"), "{said}");
    }
}

fn extract(value: &str) -> Extract {
    let json = serde_json::json!({ "value": value, "json": "/ticket" });
    serde_json::from_value(json).expect("an extraction")
}

#[test]
fn a_flat_mix_has_its_shares_and_ends_after_its_operations() {
    let mix = Mix::Flat { shares: vec![1.0, 2.0, 1.0], operations_per_session: Some(4000) };
    let script = Script::compile(&workload(mix)).expect("valid");
    let (steps, _) = visit(&mut Session::new(&script, 1, 1), &script);
    let of_b = steps.iter().filter(|(state, _)| *state == 1).count();
    assert_eq!(steps.len(), 4000);
    assert!((1850..2150).contains(&of_b), "{of_b} of 4000 at a share of one half");
}

#[test]
fn the_same_seed_gives_the_same_session_and_another_session_is_another() {
    let mix = Mix::Flat { shares: vec![1.0, 1.0, 1.0], operations_per_session: Some(100) };
    let script = Script::compile(&workload(mix)).expect("valid");
    let played = |seed, id| visit(&mut Session::new(&script, seed, id), &script).0;
    assert_eq!(played(1, 1), played(1, 1));
    assert_ne!(played(1, 1), played(1, 2));
    assert_ne!(played(1, 1), played(2, 1));
}

#[test]
fn every_visit_is_the_next_user_and_states_set_values() {
    let script = Script::compile(&workload(Mix::Sequence { states: vec![0] })).expect("valid");
    let mut session = Session::new(&script, 1, 2);
    let slot = script.slots.get("last").expect("known");
    for user in ["a-07", "a-08", "a-09", "a-07"] {
        visit(&mut session, &script);
        assert_eq!(session.values.get(slot), user);
    }
}

#[test]
fn broken_plans_are_refused() {
    let refused = |mix| Script::compile(&workload(mix)).is_err();
    assert!(refused(Mix::Sequence { states: vec![9] }));
    assert!(refused(Mix::Sequence { states: vec![] }));
    assert!(refused(Mix::Flat { shares: vec![1.0], operations_per_session: None }));
    assert!(refused(Mix::Matrix { start: 0, rows: vec![row(&[(1, 0.7)], 0.7), row(&[], 1.0), row(&[], 1.0)] }));
    assert!(refused(Mix::Matrix { start: 5, rows: vec![row(&[], 1.0), row(&[], 1.0), row(&[], 1.0)] }));
}

#[test]
fn values_are_drawn_where_they_are_needed_and_held_where_they_are_told_to() {
    let value = |name: &str, scope, states, kind| Generator { name: name.into(), scope, states, kind };
    let number = || GeneratorKind::Uniform { min: 1, max: 1_000_000, digits: 0 };
    let mut made = workload(Mix::Sequence { states: vec![0, 1, 2] });
    let product = GeneratorKind::Text { text: "p{number}".into() };
    made.values.push(value("number", Scope::Operation, vec![], number()));
    made.values.push(value("product", Scope::States, vec![1], product));
    made.values.push(value("unused", Scope::Operation, vec![], number()));
    let script = Script::compile(&made).expect("valid");
    let get = |session: &Session, name: &str| session.values.get(script.slots.get(name).expect("known")).to_owned();
    let mut session = Session::new(&script, 1, 1);
    session.begin(&script);
    let mut seen = Vec::new();
    while let Step::Perform { .. } = session.next(&script) {
        session.prepare(&script);
        seen.push((get(&session, "number"), get(&session, "product")));
    }
    assert_eq!(seen[0], (String::new(), String::new())); // nothing refers to them before the first state
    assert_eq!(seen[1].1, format!("p{}", seen[1].0)); // drawn for the text that needs it
    assert_eq!(seen[2], seen[1]); // and held
    assert_eq!(get(&session, "unused"), "");
}

#[test]
fn what_an_arriving_session_does_depends_on_its_number_alone() {
    let script = Script::compile(&workload(matrix())).expect("valid");
    let mut fresh = Session::new(&script, 1, 0);
    let mut used = Session::new(&script, 1, 9);
    for arrival in [7, 3, 11] {
        let mut played = [Vec::new(), Vec::new()];
        for (session, steps) in [&mut fresh, &mut used].into_iter().zip(&mut played) {
            session.arrive(5, arrival, 4);
            session.begin(&script);
            while let Step::Perform { state, .. } = session.next(&script) {
                session.prepare(&script);
                steps.push((state, session.values.get(0).to_owned()));
            }
        }
        assert_eq!(played[0], played[1]);
        // Owner 3 of 4 has the ids 10 to 12; the second arrival for it is its second user.
        let expected = 1 + (arrival % 4) * 3 + arrival / 4;
        assert_eq!(played[0][0].1, format!("{expected:02}"));
    }
}

#[test]
fn a_mix_without_an_end_is_endless_and_paces_its_first_operation() {
    let endless = Mix::Flat { shares: vec![1.0, 0.0, 0.0], operations_per_session: None };
    let script = Script::compile(&workload(endless)).expect("valid");
    assert!(script.is_endless());
    let mut session = Session::new(&script, 1, 1);
    session.begin(&script);
    assert_eq!(session.next(&script), Step::Perform { state: 0, pause: Some(7) });
    let ending = Mix::Flat { shares: vec![1.0, 0.0, 0.0], operations_per_session: Some(1) };
    assert!(!Script::compile(&workload(ending)).expect("valid").is_endless());
}

#[test]
fn values_that_any_text_of_an_operation_holds_are_drawn() {
    let number = |name: &str| Generator {
        name: name.into(),
        scope: Scope::Operation,
        states: vec![],
        kind: GeneratorKind::Uniform { min: 1, max: 9, digits: 0 },
    };
    let field = |value: &str| Field { name: "f".into(), value: value.into() };
    type Put = fn(&mut Operation, Field);
    let places: [(&str, Put); 8] = [
        ("query", |operation, field| operation.query.push(field)),
        ("form", |operation, field| operation.form.push(field)),
        ("headers", |operation, field| operation.headers.push(field)),
        ("body", |operation, field| operation.body = Some(field.value)),
        ("title", |operation, field| operation.expect.title = Some(field.value)),
        ("contains", |operation, field| operation.expect.contains.push(field.value)),
        ("absent", |operation, field| operation.expect.absent.push(field.value)),
        ("bytes", |operation, field| operation.expect.bytes = Some(field.value)),
    ];
    for (place, put) in places {
        let mut changed = workload(Mix::Sequence { states: vec![1] });
        changed.values.push(number("wanted"));
        put(&mut changed.operations[1], field("x{wanted}"));
        let script = Script::compile(&changed).expect("valid");
        let mut session = Session::new(&script, 1, 1);
        visit(&mut session, &script);
        assert_ne!(session.values.get(script.slots.get("wanted").expect("known")), "", "{place}");
    }
}

#[test]
fn owners_of_data_take_turns_and_a_broken_session_is_followed_by_the_next_user() {
    let script = Script::compile(&workload(Mix::Sequence { states: vec![0] })).expect("valid");
    let mut session = Session::new(&script, 1, 0);
    let user = |session: &Session| session.values.get(script.slots.get("user").expect("known")).to_owned();
    session.arrive(5, 14, 4);
    session.begin(&script);
    // Owner 2 of 4 has the ids 7 to 9, and this is its fourth user: the first one again.
    assert_eq!(user(&session), "07");
    for expected in ["08", "09", "07"] {
        session.break_off();
        session.begin(&script);
        assert_eq!(user(&session), expected);
    }
}
