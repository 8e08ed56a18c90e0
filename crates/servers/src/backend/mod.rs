//! The back-end simulator: stands in for application servers and databases, spoken to over HTTP.
//!
//! A request is `GET /?workload&command&parameter&...`, values by position (docs/web-workloads.md, Back end). The
//! answer is a small page: an echo of the request, then `<pre>`, a status line (0 done, 1 error), and one row a line
//! with fields separated by `&`. All data are computed from the ids; nothing is stored, so a reset only notes the load.

pub mod bank;
pub mod client;
#[cfg(feature = "all-roles")]
pub mod responder;
mod rows;
pub mod shop;
pub mod support;

use std::sync::Mutex;

use bytes::Bytes;
use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;

use crate::front::answer::{html, refusal, Answer};
use crate::front::{Request, Role};
pub use rows::Rows;

/// Command 0 of every workload.
const RESET: &str = "0";

/// The back end's role: stateless but for what it was last reset with.
#[derive(Debug, Default)]
pub struct Backend {
    reset: Mutex<Option<Vec<String>>>,
}

impl Role for Backend {
    async fn answer(&self, request: Request) -> Answer {
        if request.method != Method::GET || request.path != "/" {
            return refusal(StatusCode::NOT_FOUND);
        }
        let parts: Vec<String> =
            request.query.split('&').map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned()).collect();
        html(render(&request.query, &self.perform(&parts)))
    }
}

impl Backend {
    fn perform(&self, parts: &[String]) -> Rows {
        let [workload, command, parameters @ ..] = parts else {
            return Err("needs a workload and a command");
        };
        if command == RESET {
            return self.reset(parameters);
        }
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        match workload.as_str() {
            "1" => bank::perform(command, &parameters),
            "2" => shop::perform(command, &parameters),
            "3" => support::perform(command, &parameters),
            _ => Err("unknown workload"),
        }
    }

    fn reset(&self, parameters: &[String]) -> Rows {
        let mut held = self.reset.lock().map_err(|_| "internal error")?;
        *held = Some(parameters.to_vec());
        Ok(vec![parameters.to_vec()])
    }
}

fn render(query: &str, rows: &Rows) -> Bytes {
    let echo = crate::content::escape(query);
    let mut page = format!(
        "<!doctype html><html><head><title>Back end</title></head><body>\n<p>loadstone-server back end</p>\n\
         <p>query: {echo}</p>\n<pre>\n"
    );
    match rows {
        Ok(rows) => {
            page.push_str("0\n");
            for row in rows {
                page.push_str(&row.join("&"));
                page.push('\n');
            }
        }
        Err(reason) => {
            page.push_str("1\n");
            page.push_str(reason);
            page.push('\n');
        }
    }
    page.push_str("</pre></body></html>\n");
    Bytes::from(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Rows {
        let parts: Vec<String> = query.split('&').map(str::to_owned).collect();
        Backend::default().perform(&parts)
    }

    #[test]
    fn every_bank_command_answers_and_nonsense_does_not() {
        let user = "0000000017";
        for (command, parameters) in [
            ("1", vec![]),
            ("2", vec![]),
            ("3", vec![]),
            ("4", vec!["000003"]),
            ("5", vec![]),
            ("6", vec!["01", "n", "s", "c", "st", "z", "p"]),
            ("7", vec!["01", "2026-01-01", "20.00"]),
            ("8", vec!["2026-01-01", "2026-02-01"]),
            ("9", vec![]),
            ("10", vec!["s", "c", "st", "z", "e", "p"]),
            ("11", vec!["000000001701", "3", "100"]),
            ("12", vec!["000000001701", "000000001702", "5.00", "2026-01-01"]),
        ] {
            let query = [&["1", command, user], parameters.as_slice()].concat().join("&");
            assert!(asked(&query).is_ok(), "{query}");
        }
        assert!(asked("1&4&0000000017").is_err());
        assert!(asked("1&99&0000000017").is_err());
        assert!(asked("9&1").is_err());
        assert!(asked("").is_err());
    }
}
