//! The shop's back end. No command list of it is published, so these are ours:
//! 1 search(segment, keyword, region), 2 lines(type, region), 3 products(line, near), 4 product(id, region),
//! 5 options(product, step), 6 price(product, region), 7 customer(id), 8 shipping(kind), 9 card(kind), 10 order(customer).

use loadstone_schedule::rng::scramble;

use super::rows::{row, Rows};
use crate::content::seed_of;

/// Answers a command.
pub fn perform(command: &str, parameters: &[&str]) -> Rows {
    match (command, parameters) {
        ("1", [segment, keyword, region]) => Ok(products(&format!("{segment}/{keyword}"), region, 8)),
        ("2", [kind, region]) => Ok((1..=20).map(|n| row([&format!("{n:02}-{region}"), kind])).collect()),
        ("3", [line, near]) => Ok(products(line, near, 10)),
        ("4" | "6", [product, region]) => Ok(vec![row([product, &price(product), region])]),
        ("5", [product, step]) => Ok((1..=6).map(|n| option(product, step, n)).collect()),
        ("7", [customer]) => Ok(vec![row([customer, "known", "Kelham"])]),
        ("8", [kind]) => Ok(vec![row([kind, &price(kind)])]),
        ("9", [card]) => Ok(vec![row([card, "accepted"])]),
        ("10", [customer]) => Ok(vec![row([customer, &format!("{:010}", seed_of(customer) % 10_000_000_000)])]),
        _ => Err("unknown command or wrong number of parameters"),
    }
}

fn products(about: &str, region: &str, count: u64) -> Vec<Vec<String>> {
    (0..count)
        .map(|n| {
            let name = format!("model-{:05}", scramble(seed_of(about) ^ n) % 100_000);
            row([&name, &price(&name), region])
        })
        .collect()
}

fn option(product: &str, step: &str, number: u64) -> Vec<String> {
    let name = format!("option {step}.{number}");
    row([&name, &price(&format!("{product}{name}"))])
}

fn price(what: &str) -> String {
    let cents = seed_of(what) % 200_000 + 999;
    format!("{}.{:02}", cents / 100, cents % 100)
}
