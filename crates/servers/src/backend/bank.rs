//! The bank's back end: commands 1 to 12 (docs/web-workloads.md, Back end). Accounts and checks are functions of the user.

use loadstone_schedule::rng::scramble;
use md5::{Digest, Md5};

use super::rows::{row, Rows};

/// Checks a user has; two images each.
pub const CHECKS: u64 = 10;
const KINDS: [&str; 10] =
    ["Power", "Water", "Rent", "Phone", "Insurance", "Credit card", "Car loan", "Gas", "Cable", "School"];

/// Answers a command; the first parameter is always the user.
pub fn perform(command: &str, parameters: &[&str]) -> Rows {
    let [user, rest @ ..] = parameters else {
        return Err("needs a user");
    };
    let id: u64 = user.parse().map_err(|_| "the user is not a number")?;
    match (command, rest) {
        ("1", []) => Ok(vec![row([&password_hash(&format!("pw-{user}"))])]),
        ("2", []) => Ok((1..=3).map(|n| row([&account(user, n), kind(n), &money(id, n)])).collect()),
        ("3", []) => Ok((1..=3).map(|n| summary(user, id, n)).collect()),
        ("4", [check]) => check_row(user, id, check),
        ("5", []) => Ok((0..KINDS.len()).map(|n| payee(id, n)).collect()),
        ("6", [_, _, _, _, _, _, _]) | ("10", [_, _, _, _, _, _]) => Ok(vec![row(["stored", user])]),
        ("7", [payee, date, amount]) => Ok(vec![row([&confirmation(id, payee), payee, date, amount])]),
        ("8", [start, end]) => Ok((0..4).map(|n| row([start, KINDS[n], end])).collect()),
        ("9", []) => Ok(vec![profile(user, id)]),
        ("11", [account, design, number]) => Ok(vec![row([&confirmation(id, account), design, number])]),
        ("12", [from, to, amount, _]) => Ok(vec![row([from, amount]), row([to, amount])]),
        ("1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "10" | "11" | "12", _) => {
            Err("wrong number of parameters")
        }
        _ => Err("unknown command"),
    }
}

/// The MD5 sum of a password, in hexadecimal (the bank compares such sums at login).
pub fn password_hash(password: &str) -> String {
    Md5::digest(password.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Length in bytes of a check's image: front 10,757 + 511 k, back 5,458 + 334 k, k = 1..10 (docs/web-workloads.md, File sets).
pub fn check_image_bytes(check: u64, front: bool) -> u64 {
    if front {
        10_757 + 511 * check
    } else {
        5_458 + 334 * check
    }
}

/// The check's number if it is one of the user's.
pub fn check_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| (1..=CHECKS).contains(number))
}

fn account(user: &str, number: u64) -> String {
    format!("{user}{number:02}")
}

fn kind(number: u64) -> &'static str {
    match number {
        1 => "01",
        2 => "02",
        _ => "03",
    }
}

fn money(id: u64, salt: u64) -> String {
    let cents = scramble(id ^ salt << 40) % 2_000_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn summary(user: &str, id: u64, number: u64) -> Vec<String> {
    let (balance, credit, debit) = (money(id, number), money(id, number + 10), money(id, number + 20));
    row([&account(user, number), kind(number), &balance, &credit, &debit, "2026-01-31", "open"])
}

fn check_row(user: &str, id: u64, check: &str) -> Rows {
    check_number(check).ok_or("no such check")?;
    let image = |side: &str| format!("/bank/check_image?check_no={check}+side={side}");
    Ok(vec![row([&account(user, 1), &image("front"), &image("back"), &money(id, 30)])])
}

fn payee(id: u64, number: usize) -> Vec<String> {
    row([&format!("{:02}", number + 1), KINDS[number], &money(id, number as u64 + 40)])
}

fn profile(user: &str, id: u64) -> Vec<String> {
    let house = format!("{} Chain Street", scramble(id) % 900 + 1);
    row([&house, "Kelham", "WA", "98101", "555-0100", &format!("user{user}@example.org")])
}

fn confirmation(id: u64, about: &str) -> String {
    format!("{:08x}", scramble(id ^ about.len() as u64) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_images_have_the_published_mean_length() {
        let total: u64 = (1..=CHECKS).map(|k| check_image_bytes(k, true) + check_image_bytes(k, false)).sum();
        assert_eq!(total as f64 / 20.0, 10_431.25); // 10,431 B of file data (docs/web-workloads.md, Files and access link)
    }

    #[test]
    fn password_hashes_are_md5() {
        assert_eq!(password_hash("abc"), "900150983cd24fb0d6963f7d28e17f72"); // RFC 1321, appendix A.5
    }
}
