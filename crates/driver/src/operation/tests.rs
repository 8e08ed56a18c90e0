use std::cell::RefCell;

use loadstone_record::outcome::Grade;
use loadstone_record::Fault;
use loadstone_schedule::plan::{Limit, Workload};
use loadstone_schedule::session::Script;
use loadstone_schedule::slots::{Slots, Values};
use loadstone_schedule::template::Template;
use serde_json::{json, Value};

use super::request::{MOST_PAYLOAD, PING_BYTES};
use super::*;
use crate::client::cookies::{Jar, Origin};
use crate::inspect::Inspector;
use crate::transport::Answer;

/// An operation with these fields beside the usual ones, and a script that knows the values `user` and `token`.
fn compiled(fields: Value) -> (Compiled, Values) {
    let mut operation = json!({
        "name": "page", "scheme": "http", "method": "GET", "path": "/of/{user}", "query": [], "form": [],
        "body": null, "headers": [], "redirects": 0, "extract": [], "embedded": [],
        "expect": {
            "status": [200], "title": null, "contains": [], "absent": [], "markers_every": 0, "bytes": null,
        },
        "limit": { "kind": "none" }, "timeout_ns": 1, "images": null, "uploads": [], "set": [],
    });
    merge(&mut operation, &fields);
    let field = |name: &str, value: &str| json!({ "name": name, "value": value });
    let workload: Workload = serde_json::from_value(json!({
        "name": "test", "values": [], "operations": [operation],
        "states": [{
            "name": "page", "operation": 0, "pause": "drawn",
            "set": [field("user", "a b&c"), field("token", "")],
        }],
        "mix": { "kind": "sequence", "states": [0] },
        "pacing": { "kind": "think", "distribution": "fixed", "mean_ns": 0, "cap_ns": null },
        "connections": {
            "protocol": "http1", "parallel": 1, "page_bytes_per_s": null, "embedded_bytes_per_s": null,
            "requests_each": null, "kept_between_users": true, "full_handshakes": 0.0,
        },
    }))
    .expect("a workload");
    let script = Script::compile(&workload).expect("a script");
    let (mut all, _) = Compiled::all(&workload.operations, &script).expect("an operation");
    let mut session = loadstone_schedule::session::Session::new(&script, 1, 0);
    session.begin(&script);
    session.next(&script);
    session.prepare(&script);
    (all.remove(0), session.values)
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            from.iter().for_each(|(key, value)| merge(&mut into[key], value));
        }
        (into, from) => *into = from.clone(),
    }
}

fn request(fields: Value, elsewhere: Option<&[u8]>) -> String {
    let (operation, values) = compiled(fields);
    let mut out = Vec::new();
    let with = Sending { values: &values, host: "shop.example", is_secure: false, jar: &RefCell::default(), from: 0 };
    operation.write_request(&with, elsewhere, &mut out);
    String::from_utf8(out).expect("text")
}

fn seen(body: &str) -> Inspector {
    let mut inspector = Inspector::new();
    inspector.reset(0, crate::inspect::HEAD_BYTES);
    inspector.take(body.as_bytes());
    inspector
}

fn answer(status: u16) -> Answer {
    Answer { status, bytes: 0, body_bytes: 0, first_byte_ns: 0, end_ns: 0, keep_alive: true }
}

/// What is found wrong with an answer of 200 with this body.
fn fault(fields: Value, body: &str) -> Option<Fault> {
    let (operation, values) = compiled(fields);
    operation.check(&answer(200), &seen(body), &values).err().map(|failure| failure.fault)
}

#[test]
fn a_get_has_what_cannot_stand_in_its_path_encoded_and_its_query_as_a_form() {
    let query = json!([{ "name": "q", "value": "{user}" }, { "name": "n", "value": "1" }]);
    let text = request(json!({ "query": query }), None);
    assert!(text.starts_with("GET /of/a%20b&c?q=a+b%26c&n=1 HTTP/1.1\r\nHost: shop.example\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\n") && !text.contains("Content-Length"), "{text}");
}

#[test]
fn a_query_follows_that_of_its_path() {
    let query = json!([{ "name": "q", "value": "1" }]);
    let text = request(json!({ "path": "/of?ids=3&ids=4", "query": query }), None);
    assert!(text.starts_with("GET /of?ids=3&ids=4&q=1 HTTP/1.1\r\n"), "{text}");
}

#[test]
fn a_value_never_begins_a_header_of_its_own() {
    let (operation, mut values) = compiled(json!({ "headers": [{ "name": "X-Name", "value": "{token}" }] }));
    let token = operation.headers[0].1.slots().next().expect("a value");
    values.set(token, "one\r\nX-Injected: yes");
    let mut out = Vec::new();
    let with = Sending { values: &values, host: "h", is_secure: false, jar: &RefCell::default(), from: 0 };
    operation.write_request(&with, None, &mut out);
    let text = String::from_utf8(out).expect("text");
    assert!(text.ends_with("\r\nX-Name: one  X-Injected: yes\r\n\r\n"), "{text}");
}

#[test]
fn a_form_is_sent_with_its_length_and_kind_unless_a_header_names_another() {
    let form = json!([{ "name": "who", "value": "{user}" }]);
    let text = request(json!({ "method": "POST", "form": form }), None);
    assert!(text.contains("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\nwho=a+b%26c"), "{text}");
    let headers = json!([{ "name": "CONTENT-TYPE", "value": "text/plain" }]);
    let text = request(json!({ "method": "POST", "body": "{user}", "headers": headers }), None);
    assert!(!text.contains("x-www-form-urlencoded") && text.ends_with("\r\n\r\na b&c"), "{text}");
}

/// The lines of a request that begin with this name, whatever its case.
fn lines(text: &str, name: &str) -> Vec<String> {
    let is = |line: &&str| line.split(':').next().is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    text.lines().filter(is).map(str::to_owned).collect()
}

#[test]
fn fields_that_a_workload_declares_take_the_place_of_the_drivers() {
    let headers = json!([
        { "name": "host", "value": "virtual.example" }, { "name": "USER-AGENT", "value": "Mozilla" },
        { "name": "Accept", "value": "application/json" }, { "name": "Cookie", "value": "consent={user}" },
        { "name": "Content-Length", "value": "99" }, { "name": "Content-Type", "value": "text/plain" },
    ]);
    for fields in [json!({ "headers": headers, "method": "POST", "body": "x" }), json!({ "headers": headers })] {
        let text = request(fields, None);
        assert!(text.contains(" HTTP/1.1\r\nHost: virtual.example\r\n"), "{text}");
        for (name, line) in [
            ("user-agent", "USER-AGENT: Mozilla"),
            ("accept", "Accept: application/json"),
            ("cookie", "Cookie: consent=a b&c"),
        ] {
            assert_eq!(lines(&text, name), [line], "{text}");
        }
        assert!(lines(&text, "content-length").len() < 2 && !text.contains("99"), "{text}");
    }
}

#[test]
fn a_get_that_a_page_leads_to_says_nothing_of_a_body() {
    let headers = json!([{ "name": "Content-Type", "value": "text/plain" }, { "name": "X-Kept", "value": "1" }]);
    let (operation, values) = compiled(json!({ "method": "POST", "headers": headers }));
    let (mut out, jar) = (Vec::new(), RefCell::default());
    let with = Sending { values: &values, host: "h", is_secure: false, jar: &jar, from: 0 };
    operation.write_get(&with, None, &mut out, |out| out.extend_from_slice(b"/f"));
    let text = String::from_utf8(out).expect("text");
    assert!(text.contains("X-Kept: 1\r\n") && !text.contains("Content-Type"), "{text}");
}

#[test]
fn an_upload_has_the_boundary_of_the_driver_alone() {
    let uploads = json!([{ "field": "f", "file_name": "a", "content": "filler", "bytes": 3 }]);
    let headers = json!([{ "name": "Content-Type", "value": "multipart/form-data; boundary=other" }]);
    let text = request(json!({ "method": "POST", "uploads": uploads, "headers": headers }), None);
    assert_eq!(lines(text.split("\r\n\r\n").next().expect("a head"), "content-type").len(), 1, "{text}");
    assert!(!text.contains("boundary=other"), "{text}");
}

#[test]
fn a_post_without_anything_still_says_that_it_has_no_body() {
    assert!(request(json!({ "method": "POST" }), None).contains("Content-Length: 0\r\n"));
}

#[test]
fn a_redirected_post_keeps_its_body_and_leaves_its_own_path() {
    let query = json!([{ "name": "q", "value": "1" }]);
    let text = request(json!({ "method": "POST", "query": query, "body": "x" }), Some(b"/there"));
    assert!(text.starts_with("POST /there HTTP/1.1\r\n") && text.ends_with("\r\n\r\nx"), "{text}");
}

#[test]
fn a_conditional_get_says_since_when() {
    let (operation, values) = compiled(json!({}));
    let (mut out, jar) = (b"old".to_vec(), RefCell::default());
    let with = Sending { values: &values, host: "h", is_secure: false, jar: &jar, from: 0 };
    operation.write_get(&with, Some("Thu"), &mut out, |out| out.extend_from_slice(b"/f"));
    let text = String::from_utf8(out).expect("text");
    assert!(text.starts_with("GET /f HTTP/1.1\r\n") && text.ends_with("If-Modified-Since: Thu\r\n\r\n"), "{text}");
}

#[test]
fn an_echo_is_as_long_as_is_expected_back_within_bounds() {
    let length = |bytes: Value| {
        let (operation, values) = compiled(json!({ "expect": { "bytes": bytes } }));
        let mut out = Vec::new();
        operation.write_payload(&values, &mut out);
        out.len()
    };
    assert_eq!([json!("1000"), json!(null), json!("99999999999")].map(length), [1000, PING_BYTES, MOST_PAYLOAD]);
}

#[test]
fn every_check_finds_its_own_fault_and_nothing_else() {
    let title = json!({ "expect": { "title": "Hello {user}" } });
    assert_eq!(fault(title.clone(), "<title> Hello a b&c </title>"), None);
    assert_eq!(fault(title.clone(), "<title>Hello</title>"), Some(Fault::Title));
    assert_eq!(fault(title.clone(), "Hello a b&c"), Some(Fault::Title));
    for body in [
        "<TITLE>Hello a b&amp;c</TITLE>",
        "<title data-x=\"1\">Hello a b&c</title >",
        "<head><title>\n  Hello a\n b&#38;c\t</title></head>",
        "<titlebar>no</titlebar><Title\nid=t>Hello a b&c</tiTLE>",
    ] {
        assert_eq!(fault(title.clone(), body), None, "{body}");
    }
    for body in ["<TITLE>Other</TITLE><title>Hello a b&c</title>", "<title>Hello a b&c", "<titles>Hello a b&c</title>"]
    {
        assert_eq!(fault(title.clone(), body), Some(Fault::Title), "{body}");
    }
    let contains = json!({ "expect": { "contains": ["cart of {user}"] } });
    assert_eq!(fault(contains.clone(), "the cart of a b&c"), None);
    assert_eq!(fault(contains, "the cart"), Some(Fault::Content));
    let absent = json!({ "expect": { "absent": ["error"] } });
    assert_eq!(fault(absent.clone(), "fine"), None);
    assert_eq!(fault(absent, "an error"), Some(Fault::Content));
    let bytes = json!({ "expect": { "bytes": "4" } });
    assert_eq!(fault(bytes.clone(), "four"), None);
    assert_eq!(fault(bytes, "five!"), Some(Fault::Length));
}

#[test]
fn a_wrong_status_is_one_however_good_the_body() {
    let (operation, values) = compiled(json!({ "expect": { "status": [200, 201] } }));
    let failed = |status| operation.check(&answer(status), &seen(""), &values).err().map(|failure| failure.fault);
    assert_eq!([200, 201, 404].map(failed), [None, None, Some(Fault::Status)]);
}

#[test]
fn a_value_is_taken_from_between_its_texts_or_missed() {
    let extract = json!([{ "value": "token", "after": "id=\"", "before": "\"" }]);
    let (operation, mut values) = compiled(json!({ "extract": extract, "body": "{token}" }));
    operation.extract(&seen("<a id=\"17\" id=\"18\">"), (&[], &Jar::default()), &mut values).expect("it is there");
    let mut out = Vec::new();
    operation.write_payload(&values, &mut out);
    assert_eq!(out, b"17");
    let pick = json!([{ "value": "token", "after": "id=\"", "before": "\"", "pick": "4" }]);
    let (picking, mut picked) = compiled(json!({ "extract": pick, "body": "{token}" }));
    picking
        .extract(&seen("<a id=\"17\" id=\"18\" id=\"19\">"), (&[], &Jar::default()), &mut picked)
        .expect("it is there");
    let mut chosen = Vec::new();
    picking.write_payload(&picked, &mut chosen);
    assert_eq!(chosen, b"18", "the fourth, counted round from 0");
    let missed =
        operation.extract(&seen("<a id=\"17"), (&[], &Jar::default()), &mut values).expect_err("it has no end");
    assert_eq!(missed.fault, Fault::Extract);
}

/// What a rule takes out of an answer; none where it misses.
fn taken(rule: Value, body: &str, told: &[(usize, String)]) -> Option<String> {
    let mut whole = rule;
    whole["value"] = json!("token");
    let (operation, mut values) = compiled(json!({ "extract": [whole], "body": "{token}" }));
    let mut jar = Jar::default();
    jar.take("XSRF=a%3Db; Path=/", &Origin::of(b"GET / HTTP/1.1\r\nHost: h\r\n", false));
    operation.extract(&seen(body), (told, &jar), &mut values).ok()?;
    let mut out = Vec::new();
    operation.write_payload(&values, &mut out);
    Some(String::from_utf8(out).expect("text"))
}

#[test]
fn a_value_is_taken_from_json_by_a_pointer() {
    let body = r#"{"items": [{"id": 7}, {"id": "a/b"}], "none": null}"#;
    let at = |pointer: &str| taken(json!({ "json": pointer }), body, &[]);
    assert_eq!(at("/items/1/id").as_deref(), Some("a/b"));
    assert_eq!(at("/items/0/id").as_deref(), Some("7"));
    assert_eq!(at("/items").as_deref(), Some(r#"{"id":7}"#), "the first of a list");
    assert_eq!(taken(json!({ "json": "/items", "pick": "3" }), body, &[]).as_deref(), Some(r#"{"id":"a/b"}"#));
    assert_eq!([at("/none"), at("/else")], [None, None]);
    assert_eq!(taken(json!({ "json": "/a" }), "<html>", &[]), None);
}

#[test]
fn a_value_is_taken_from_a_form_whatever_the_order_and_quotes_of_its_attributes() {
    let page = "<meta name=csrf content='m&amp;m'><input value=\"a&quot;b\" type=hidden name='token'><!-- name=no -->";
    let named = |name: &str| taken(json!({ "field": name }), page, &[]);
    assert_eq!(named("token").as_deref(), Some("a\"b"));
    assert_eq!(named("csrf").as_deref(), Some("m&m"));
    assert_eq!(named("no"), None);
}

#[test]
fn a_value_is_taken_by_a_pattern_or_from_a_header_and_decoded() {
    let body = "cart 12 of 3, cart 13 of 4; to=/a%20b&amp;c\"";
    let by = |rule: Value| taken(rule, body, &[(0, "Bearer x".to_owned())]);
    assert_eq!(by(json!({ "regex": "cart (\\d+)" })).as_deref(), Some("12"));
    assert_eq!(by(json!({ "regex": "of \\d", "pick": "1" })).as_deref(), Some("of 4"));
    assert_eq!(by(json!({ "regex": "cart x" })), None);
    assert_eq!(by(json!({ "header": "Authorization" })).as_deref(), Some("Bearer x"));
    assert_eq!(by(json!({ "header": "Authorization", "after": "Bearer " })).as_deref(), Some("x"));
    assert_eq!(by(json!({ "header": "Authorization", "after": "Basic " })), None);
    let led = [(0, "/orders/8f/pay?a=1".to_owned()), (0, "/carts/7".to_owned())];
    let in_location = |after: &str, before: &str| {
        taken(json!({ "header": "Location", "after": after, "before": before }), body, &led)
    };
    assert_eq!(in_location("/orders/", "/").as_deref(), Some("8f"));
    assert_eq!(in_location("/carts/", "").as_deref(), Some("7"), "of several, the first that has it");
    assert_eq!(in_location("/carts/", "/"), None);
    assert_eq!(by(json!({ "cookie": "XSRF", "decode": "url" })).as_deref(), Some("a=b"));
    assert_eq!(by(json!({ "cookie": "other" })), None);
    let between = |how: &str| json!({ "after": "to=", "before": "\"", "decode": how });
    assert_eq!(by(between("html")).as_deref(), Some("/a%20b&c"));
    assert_eq!(by(between("url")).as_deref(), Some("/a b&amp;c"));
    let told = |text: &str, how: &str| taken(json!({ "after": "[", "before": "]", "decode": how }), text, &[]);
    assert_eq!(told("[a\\/b\\u002bc]", "json").as_deref(), Some("a/b+c"));
    assert_eq!(told("[YS9iPz4_]", "base64").as_deref(), Some("a/b?>?"));
    assert_eq!(told("[YQ==]", "base64").as_deref(), Some("a"));
}

#[test]
fn a_value_is_taken_from_the_element_that_a_css_selector_finds_in_the_page_as_browsers_build_it() {
    let page = "<table><tr><td class='price sale'> 12 &euro; <b>net</b></td></table><a rel=next href='/p?a=1&amp;b=2'>on</a><a rel=next href=/last>";
    let by = |rule: Value| taken(rule, page, &[]);
    assert_eq!(by(json!({ "css": "table > tbody .sale" })).as_deref(), Some("12 € net"));
    assert_eq!(by(json!({ "css": "a[rel=next]", "attribute": "href" })).as_deref(), Some("/p?a=1&b=2"));
    assert_eq!(by(json!({ "css": "a", "attribute": "href", "pick": "1" })).as_deref(), Some("/last"));
    assert_eq!(by(json!({ "css": ".gone" })), None);
}

#[test]
fn pictures_that_a_page_names_are_found_once_each() {
    let images = json!({ "after": "<img src=\"", "before": "\"", "least_bytes": 10 });
    let (operation, _) = compiled(json!({ "images": images }));
    let page = "<img src=\"/a.jpg\"> <img src=\"/b.jpg\"> <img src=\"/a.jpg\"> <img src=\"http://else/c.jpg\"> <img src=\"/cut";
    assert_eq!(operation.named_images(&seen(page)), ["/a.jpg".into(), "/b.jpg".into()]);
    let images = operation.images.expect("declared");
    let check = |status, body: &str| check_image(&images, &answer(status), &seen(body)).map_err(|one| one.fault);
    assert_eq!(check(200, "ten bytes!"), Ok(()));
    assert_eq!(check(200, "nine byte"), Err(Fault::Length));
    assert_eq!(check(404, "ten bytes!"), Err(Fault::Status));
}

#[test]
fn a_form_with_files_is_sent_in_parts() {
    let form = json!([{ "name": "title", "value": "{user}" }]);
    let uploads = json!([
        { "field": "picture", "file_name": "p.jpg", "content": "filler", "bytes": 5 },
        { "field": "picture", "file_name": "q.png", "content": "filler", "content_type": "image/png", "bytes": 5 },
    ]);
    let text = request(json!({ "method": "POST", "form": form, "uploads": uploads }), None);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("Content-Type: multipart/form-data; boundary="), "{head}");
    assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(body.contains("name=\"title\"\r\n\r\na b&c\r\n"), "{body}");
    assert!(body.contains("name=\"picture\"; filename=\"p.jpg\"\r\nContent-Type: application/octet-stream\r\n\r\n"));
    assert!(body.contains("name=\"picture\"; filename=\"q.png\"\r\nContent-Type: image/png\r\n\r\n"), "{body}");
    assert!(body.ends_with("--\r\n"), "{body}");
}

#[test]
fn what_is_set_is_known_after_the_answer_alone() {
    let (operation, mut values) =
        compiled(json!({ "set": [{ "name": "token", "value": "of {user}" }], "body": "{token}" }));
    let payload = |values: &Values| {
        let mut out = Vec::new();
        operation.write_payload(values, &mut out);
        String::from_utf8(out).expect("text")
    };
    assert_eq!(payload(&values), "");
    operation.extract(&seen(""), (&[], &Jar::default()), &mut values).expect("nothing to extract");
    assert_eq!(payload(&values), "of a b&c");
}

#[test]
fn an_answer_as_late_as_its_limit_is_still_good() {
    let limit = Limit::Time { good_ns: 10, tolerable_ns: 20 };
    assert_eq!(
        [10, 11, 20, 21].map(|response_ns| grade(&limit, response_ns, 0)),
        [Grade::Good, Grade::Tolerable, Grade::Tolerable, Grade::Fail],
    );
    assert_eq!([None, Some(7)].map(|bytes| allowed_ns(&limit, bytes)), [Some(20); 2]);
}

#[test]
fn a_download_is_graded_by_its_speed() {
    let limit = Limit::Rate { good_bytes_per_s: 100.0, tolerable_bytes_per_s: 50.0 };
    let second = 1_000_000_000;
    assert_eq!([Some(150), None].map(|bytes| allowed_ns(&limit, bytes)), [Some(3 * second), None]);
    assert_eq!(
        [100, 99, 50, 49].map(|bytes| grade(&limit, second, bytes)),
        [Grade::Good, Grade::Tolerable, Grade::Tolerable, Grade::Fail],
    );
    assert_eq!(grade(&Limit::None, u64::MAX, 0), Grade::Good);
}

#[test]
fn an_embedded_file_may_be_unchanged_only_where_that_was_asked() {
    let file = EmbeddedFile {
        path: Template::compile("/f", &Slots::default(), "here").expect("a path"),
        bytes: Some(4),
        conditional: 1.0,
        markers_every: 0,
        memory: None,
        file: None,
        status: vec![302],
    };
    let check = |asked, status, body: &str| {
        check_embedded(&file, asked, &answer(status), &seen(body)).map_err(|failure| failure.fault)
    };
    assert_eq!(check(true, 304, ""), Ok(true));
    assert_eq!(check(false, 304, ""), Err(Fault::Status));
    assert_eq!(check(true, 200, "four"), Ok(false));
    assert_eq!(check(true, 200, "five!"), Err(Fault::Length));
    assert_eq!(check(false, 302, ""), Ok(false));
    assert_eq!(check(false, 301, ""), Err(Fault::Status));
    let file = EmbeddedFile { bytes: None, ..file };
    for status in [200, 204, 206] {
        assert_eq!(check_embedded(&file, false, &answer(status), &seen("")).ok(), Some(false));
    }
    assert!(check_embedded(&file, false, &answer(404), &seen("")).is_err());
}
