//! Any bytes as a plan: it is refused, or its sessions can be played.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_driver::operation::Compiled;
use loadstone_schedule::arrivals::{check, Arrivals};
use loadstone_schedule::plan::{Load, Plan};
use loadstone_schedule::session::{Script, Session, Step};

const STEPS: usize = 200;

fuzz_target!(|data: &[u8]| {
    let Ok(plan) = serde_json::from_slice::<Plan>(data) else { return };
    for part in &plan.parts {
        let Ok(script) = Script::compile(&part.workload) else { continue };
        if Compiled::all(&part.workload.operations, &script).is_err() {
            continue;
        }
        if let Load::Arrivals { process, path, .. } = &part.load {
            if check(path).is_ok() {
                let instants: Vec<_> = Arrivals::new(*process, path, plan.seed, 0).take(STEPS).collect();
                assert!(instants.is_sorted());
            }
        }
        let mut session = Session::new(&script, plan.seed, 0);
        session.begin(&script);
        let (mut started, mut ended) = (0, 0);
        for _ in 0..STEPS {
            match session.next(&script) {
                Step::Perform { pause, .. } => {
                    session.prepare(&script);
                    let start = pause.map_or(ended, |pause| part.workload.pacing.next_start(pause, started, ended));
                    (started, ended) = (start, start.saturating_add(1));
                }
                Step::End(_) => session.begin(&script),
            }
        }
    }
});
