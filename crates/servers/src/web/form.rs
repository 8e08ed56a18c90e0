//! Parameters of a request, from its query and its form body, and its cookies.

use http::header;
use percent_encoding::percent_decode_str;

use crate::front::Request;

/// Names and values in the order they came.
#[derive(Debug)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// The fields of a request's query and body.
    pub fn of(request: &Request) -> Self {
        let body = String::from_utf8_lossy(&request.body);
        Form(request.query.split('&').chain(body.split('&')).filter(|pair| !pair.is_empty()).map(decode).collect())
    }

    /// A field; none when it was not sent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    /// A whole number; none when it is missing or no number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }

    /// A value, empty when it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or("")
    }
}

/// A cookie's value.
pub fn cookie<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let all = request.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(held, _)| *held == name).map(|(_, value)| value)
}

fn decode(pair: &str) -> (String, String) {
    let plain = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    (plain(name), plain(value))
}
