//! Pages and lists of the site, from what was found for them.

use anyhow::Result;
use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;

use super::look::ComingUp;
use super::pictures::{path, Class};
use crate::content::{escape, Page};
use crate::front::answer::{html, text, Answer};
use crate::sql::{Row, Value};

/// Between the two parts of the home page.
pub const BETWEEN: char = '\0';

/// Comments on an event, as they are answered.
#[derive(Serialize)]
pub struct Comments<'a> {
    pub event: i64,
    pub comments: Vec<Comment<'a>>,
}

/// A comment.
#[derive(Serialize)]
pub struct Comment<'a> {
    pub by: &'a str,
    pub rating: i64,
    pub words: &'a str,
}

/// Who comes to an event, as it is answered.
#[derive(Serialize)]
pub struct Attendees<'a> {
    pub event: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub you: Option<&'a str>,
    pub attendees: Vec<&'a str>,
}

/// Events as the pages list them.
pub fn listed(events: &[Row]) -> String {
    let line = |row: &Row| {
        let (title, picture) = (escape(row[1].text()), path(Class::EventThumb, row[0].int()));
        format!(
            "<a href=\"/events/event?id={0}\">{title}</a> <img class=\"of\" src=\"{picture}\" alt=\"\"> {1}<br>\n",
            row[0], row[2]
        )
    };
    events.iter().map(line).collect()
}

/// What the home page tells everybody, in two parts.
pub fn home_told(found: &ComingUp) -> String {
    let tag = |row: &Row| format!("<a href=\"/events/tag?name={0}\">{0}</a> ({1})\n", escape(row[0].text()), row[1]);
    let cloud: String = found.tags.iter().map(tag).collect();
    format!("<h1>Coming up: {} events</h1>\n{}{BETWEEN}{cloud}", found.count, listed(&found.events))
}

/// Adds values to a page, each a paragraph.
pub fn paragraphs(page: &mut Page, values: &[Value]) {
    for value in values {
        page.put(&format!("<p>{}</p>\n", escape(&value.to_string())));
    }
}

/// A page that says one thing.
pub fn small_page(title: &str, told: &str) -> Answer {
    let mut page = Page::new(title, 0);
    page.put(&format!("<h1>{told}</h1>\n"));
    html(page.finish(0))
}

/// A page with a form to fill in.
pub fn form_page(title: &str, asked: &str) -> Answer {
    let mut page = Page::new(title, 0);
    page.put(&format!("<h1>{asked}</h1>\n<form method=\"post\" enctype=\"multipart/form-data\">\n"));
    for field in ["name", "title", "summary", "street", "city", "zip", "country", "tags", "picture", "literature"] {
        page.put(&format!("<label>{field} <input name=\"{field}\"></label>\n"));
    }
    page.put("</form>\n");
    html(page.finish(0))
}

/// An answer in JSON.
pub fn json(told: &impl Serialize) -> Result<Answer> {
    Ok(text(StatusCode::OK, "application/json", Bytes::from(serde_json::to_vec(told)?)))
}
