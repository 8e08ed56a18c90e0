//! The support site's back end. No command list of it is published, so these are ours:
//! 1 categories, 2 search(words), 3 models(category), 4 model(id), 5 files(model, category, system, language), 6 file(id).

use loadstone_schedule::rng::scramble;

use super::rows::{row, Rows};
use crate::content::seed_of;

/// Answers a command.
pub fn perform(command: &str, parameters: &[&str]) -> Rows {
    match (command, parameters) {
        ("1", []) => Ok((1..=20).map(|n| row([&format!("{n:02}"), "category"])).collect()),
        ("2", [words]) => Ok(models(words, 8)),
        ("3", [category]) => Ok(models(category, 12)),
        ("4", [model]) => Ok(vec![row([model, "20", "10", "30"])]),
        ("5", [model, category, system, language]) => Ok(files(&format!("{model}{category}{system}{language}"))),
        ("6", [file]) => Ok(vec![row([file, &size(file), "2026-01-01"])]),
        _ => Err("unknown command or wrong number of parameters"),
    }
}

fn models(about: &str, count: u64) -> Vec<Vec<String>> {
    (0..count)
        .map(|n| {
            let id = scramble(seed_of(about) ^ n) % 500 + 1;
            row([&format!("{id:04}"), &format!("Model {id}")])
        })
        .collect()
}

fn files(about: &str) -> Vec<Vec<String>> {
    (0..8)
        .map(|n| {
            let id = format!("{:04}", scramble(seed_of(about) ^ n) % 9999 + 1);
            row([&id, &size(&id), "Driver package"])
        })
        .collect()
}

fn size(about: &str) -> String {
    (seed_of(about) % 38_000_000).to_string()
}
