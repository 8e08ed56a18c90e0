//! Servers that break the rules: each becomes an error of a known kind, and none crashes, hangs or grows the driver.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{counted, event, hear, parrot, plan, play, population, server};
use serde_json::json;

/// Plays two sessions against a server and returns the kinds of error; nothing else may happen.
fn kinds(address: std::net::SocketAddr) -> Vec<String> {
    kinds_within(address, 60_000)
}

/// The kinds of error where an answer may take so many milliseconds.
fn kinds_within(address: std::net::SocketAddr, timeout_ms: u64) -> Vec<String> {
    let begun = Instant::now();
    let mut plan = plan(address, population(2), 1.0);
    plan["parts"][0]["workload"]["operations"][0]["timeout_ns"] = json!(timeout_ms * 1_000_000);
    let events = play(plan);
    assert!(begun.elapsed() < Duration::from_secs(20), "the driver hangs");
    assert_eq!(event(&events, "end")["reason"], "completed");
    let (requests, errors) = counted(&events);
    assert!(requests > 0, "nothing was counted");
    assert_eq!(requests, errors.iter().map(|(_, count)| count).sum::<u64>(), "some answers passed");
    errors.into_iter().map(|(kind, _)| kind).collect()
}

/// A server that writes on and on after each request.
fn endless(head: &'static [u8], piece: &'static [u8], pause: Duration) -> std::net::SocketAddr {
    server(move |mut stream: TcpStream| {
        if hear(&mut stream) && stream.write_all(head).is_ok() {
            while stream.write_all(piece).is_ok() {
                std::thread::sleep(pause);
            }
        }
    })
}

const NO_PAUSE: Duration = Duration::ZERO;
static ZEROS: [u8; 65_536] = [b'0'; 65_536];

#[test]
fn answers_that_are_no_http_are_malformed() {
    for answer in [
        b"SSH-2.0-OpenSSH_9.2\r\n".as_slice(),
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nloadstone",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nloadstone",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\nloadstone",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nloadstone",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    ] {
        assert_eq!(kinds(parrot(answer)), ["malformed"], "{}", String::from_utf8_lossy(answer));
    }
}

#[test]
fn an_answer_that_is_cut_off_was_closed_early() {
    let cut = |answer: &'static [u8]| {
        kinds(server(move |mut stream| {
            if hear(&mut stream) {
                let _ = stream.write_all(answer);
            }
        }))
    };
    assert_eq!(cut(b""), ["closed_early"]);
    assert_eq!(cut(b"HTTP/1.1 200 OK\r\nConte"), ["closed_early"]);
    assert_eq!(cut(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nloadstone"), ["closed_early"]);
    assert_eq!(cut(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nloadst"), ["closed_early"]);
}

#[test]
fn a_kept_connection_that_ends_under_a_request_is_no_error_and_a_new_one_is() {
    let answered = |times: usize| {
        server(move |mut stream| {
            for _ in 0..times {
                if !hear(&mut stream)
                    || stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nloadstone").is_err()
                {
                    return;
                }
            }
            hear(&mut stream); // and hangs up without a word
        })
    };
    for method in ["GET", "POST"] {
        let mut kept = plan(answered(3), population(2), 1.0);
        kept["parts"][0]["workload"]["operations"][0]["method"] = json!(method);
        let events = play(kept);
        let (requests, errors) = counted(&events);
        assert!(requests > 20 && errors.is_empty(), "{method}: {requests} {errors:?}");
        let resent = connections(&events, "resent");
        assert!(resent > 5 && connections(&events, "reconnects") == 0, "{method}: {resent} of {requests}");
    }
    assert_eq!(kinds(answered(0)), ["closed_early"]);
}

/// What the totals say of connections.
fn connections(events: &[serde_json::Value], count: &str) -> u64 {
    event(events, "totals")["connections"][count].as_u64().expect("a number")
}

#[test]
fn an_answer_that_comes_before_the_end_of_an_upload_counts() {
    let refusing = |lingers: bool| {
        server(move |mut stream| {
            let mut piece = [0; 1024];
            let _ = stream.read(&mut piece);
            let _ = stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\nloadstone");
            if lingers {
                std::thread::sleep(Duration::from_millis(300));
            }
        })
    };
    for lingers in [false, true] {
        let mut upload = plan(refusing(lingers), population(2), 1.0);
        let operation = &mut upload["parts"][0]["workload"]["operations"][0];
        operation["method"] = json!("POST");
        operation["expect"]["status"] = json!([413]);
        operation["uploads"] = json!([{ "field": "f", "file_name": "a", "content": "filler", "bytes": 16 << 20 }]);
        operation["timeout_ns"] = json!(5_000_000_000u64);
        let (requests, errors) = counted(&play(upload));
        assert!(requests > 2 && errors.is_empty(), "{requests} {errors:?}");
    }
}

#[test]
fn a_server_may_answer_while_it_reads() {
    let echo = server(|mut stream| {
        let mut piece = vec![0; 1 << 16];
        let (mut is_begun, mut left) = (false, 8u64 << 20);
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            if !is_begun {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\nloadstone");
                (is_begun, left) = (true, left - 9);
            }
            let echoed = (count as u64).min(left);
            if stream.write_all(&piece[..echoed as usize]).is_err() {
                return;
            }
            left -= echoed;
        }
    });
    let mut upload = plan(echo, population(1), 1.0);
    let operation = &mut upload["parts"][0]["workload"]["operations"][0];
    operation["method"] = json!("POST");
    operation["body"] = json!("x".repeat(8 << 20));
    operation["timeout_ns"] = json!(10_000_000_000u64);
    let (requests, errors) = counted(&play(upload));
    assert!(requests > 0 && errors.is_empty(), "{requests} {errors:?}");
}

#[test]
fn a_body_of_json_must_say_what_is_declared_and_no_more() {
    let answers = |body: &'static str, json: serde_json::Value| {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let mut plan = plan(parrot(answer.leak().as_bytes()), population(2), 1.0);
        plan["parts"][0]["workload"]["operations"][0]["expect"]["contains"] = json!([]);
        plan["parts"][0]["workload"]["operations"][0]["expect"]["json"] = json;
        counted(&play(plan)).1.into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    let is = |pointer: &str, text: &str| json!({ "pointer": pointer, "is": text });
    let absent = json!({ "pointer": "/errors", "is": null });
    let body = r#"{"data":{"user":{"name":"Ann \u00e4","age":7}},"errors":null}"#;
    let told = json!([is("/data/user/name", "Ann ä"), is("/data/user/age", "7"), absent]);
    assert!(answers(body, told).is_empty());
    assert_eq!(answers(body, json!([is("/data/user/name", "Ben")])), ["content"]);
    assert_eq!(answers(body, json!([is("/data/nobody", "Ann")])), ["content"]);
    assert_eq!(answers(r#"{"errors":[{"message":"no"}]}"#, json!([absent])), ["content"]);
    assert_eq!(answers("<html>", json!([absent])), ["content"]);
}

#[test]
fn bytes_behind_the_end_of_an_answer_are_blamed_on_its_operation_and_a_farewell_is_not() {
    let ahead = |unasked: &'static [u8]| {
        server(move |mut stream| {
            while hear(&mut stream)
                && stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nloadstone").is_ok()
            {
                std::thread::sleep(Duration::from_millis(30));
                let _ = stream.write_all(unasked);
            }
        })
    };
    let mut paced = plan(ahead(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nloadstone"), population(2), 1.0);
    // What is said 30 ms after an answer meets no request on its way, and is read with no answer by a driver that is late.
    paced["parts"][0]["workload"]["pacing"]["distribution"] = json!("fixed");
    paced["parts"][0]["workload"]["pacing"]["mean_ns"] = json!(90_000_000);
    let events = play(paced.clone());
    let (requests, errors) = counted(&events);
    assert!(requests > 5 && errors.is_empty() && connections(&events, "trailing") > 5, "{requests} {errors:?}");
    let trouble = event(&events, "trouble");
    assert!(trouble["operation"] == "page" && trouble["detail"].as_str().expect("text").contains("behind the end"));
    let farewell = ahead(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    paced["parts"][0]["targets"][0]["http"]["port"] = json!(farewell.port());
    let (requests, errors) = counted(&play(paced));
    assert!(requests > 5 && errors.is_empty(), "{requests} {errors:?}");
}

#[test]
fn a_server_that_hangs_up_at_once_is_named() {
    for kind in kinds(server(drop)) {
        assert!(["closed_early", "reset"].contains(&kind.as_str()), "{kind}");
    }
}

#[test]
fn silence_drops_and_endless_answers_end_at_the_time_out() {
    let silent = server(|mut stream| while hear(&mut stream) {});
    assert_eq!(kinds_within(silent, 400), ["time_out"]);
    let drips = endless(b"HTTP/1.1 200 OK\r\nX: ", b"a", Duration::from_millis(20));
    assert_eq!(kinds_within(drips, 400), ["time_out"]);
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n";
    assert_eq!(kinds_within(endless(chunked, &ZEROS, NO_PAUSE), 400), ["time_out"]);
    assert_eq!(kinds_within(endless(b"HTTP/1.1 200 OK\r\n\r\n", &ZEROS, NO_PAUSE), 400), ["time_out"]);
    let long = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n";
    assert_eq!(kinds_within(endless(long, &ZEROS, NO_PAUSE), 400), ["time_out"]);
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
    assert_eq!(kinds_within(endless(b"", interim, NO_PAUSE), 400), ["time_out"]);
}

#[test]
fn heads_without_end_are_too_large() {
    assert_eq!(kinds(endless(b"HTTP/1.1 200 OK\r\nX: ", &ZEROS, NO_PAUSE)), ["head_too_large"]);
    let trailer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nloadstone\r\n0\r\nX: ";
    assert_eq!(kinds(endless(trailer, &ZEROS, NO_PAUSE)), ["head_too_large"]);
}

#[test]
fn wrong_pages_and_redirect_circles_are_validation_errors() {
    assert_eq!(kinds(parrot(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")), ["status"]);
    assert_eq!(kinds(parrot(b"HTTP/1.1 302 There\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")), ["redirect"]);
    let elsewhere = b"HTTP/1.1 302 There\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(kinds(parrot(elsewhere)), ["redirect"]);
}

#[test]
fn what_is_no_tls_is_a_tls_error() {
    let mut plan = plan(parrot(b"HTTP/1.1 400 Bad Request\r\n\r\n"), population(2), 1.0);
    plan["parts"][0]["targets"][0]["https"] = plan["parts"][0]["targets"][0]["http"].take();
    plan["parts"][0]["workload"]["operations"][0]["scheme"] = json!("https");
    plan["parts"][0]["workload"]["operations"][0]["timeout_ns"] = json!(400_000_000);
    // The server of this test waits for the end of a head, which a TLS greeting may or may not look like.
    let (_, errors) = counted(&play(plan));
    assert!(errors.iter().all(|(kind, _)| kind == "tls" || kind == "time_out"), "{errors:?}");
    assert!(!errors.is_empty());
}

#[test]
fn a_server_that_is_not_there_refuses() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let mut plan = plan(address, population(2), 1.0);
    plan["parts"][0]["workload"]["pacing"]["mean_ns"] = json!(50_000_000);
    assert_eq!(counted(&play(plan)).1.iter().map(|(kind, _)| kind.as_str()).collect::<Vec<_>>(), ["refused"]);
}

#[test]
fn a_full_queue_of_the_listener_is_named() {
    // A listener that never accepts; its queue holds two connections, what comes behind them waits in vain.
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
    let socket = socket.expect("a socket");
    let free = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0);
    rustix::net::bind(&socket, &free).expect("a free port");
    rustix::net::listen(&socket, 1).expect("a listener");
    let listener = std::net::TcpListener::from(socket);
    let address = listener.local_addr().expect("bound");
    let keep: Vec<_> = (0..4).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(100))).collect();
    let mut plan = plan(address, population(4), 1.5);
    plan["parts"][0]["workload"]["operations"][0]["timeout_ns"] = json!(400_000_000);
    let (_, errors) = counted(&play(plan));
    drop(keep);
    assert!(errors.iter().any(|(kind, _)| kind == "backlog"), "{errors:?}");
}

/// Operations that were overdue at the end of a second in which two sessions asked for downloads.
fn overdue(address: std::net::SocketAddr, bytes: serde_json::Value) -> u64 {
    let mut plan = plan(address, population(2), 1.0);
    let operation = &mut plan["parts"][0]["workload"]["operations"][0];
    operation["expect"]["bytes"] = bytes;
    operation["timeout_ns"] = json!(60_000_000_000u64);
    operation["limit"] = json!({ "kind": "rate", "good_bytes_per_s": 100.0, "tolerable_bytes_per_s": 90.0 });
    event(&play(plan), "totals")["operations"][0]["tally"]["overdue"].as_u64().expect("a number")
}

#[test]
fn downloads_that_never_come_are_overdue_once_they_cannot_be_fast_enough() {
    let silent = || server(|mut stream| while hear(&mut stream) {});
    assert_eq!(overdue(silent(), json!("9")), 2);
    assert_eq!(overdue(silent(), json!("900000")), 0);
    // Where nobody says how large they are, as large as those before.
    let once = server(|mut stream| {
        if hear(&mut stream) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nloadstone");
            while hear(&mut stream) {}
        }
    });
    assert_eq!(overdue(once, json!(null)), 2);
}

/// The word that pages of these tests must hold, by gzip.
const PACKED: &[u8] =
    &[31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 201, 79, 76, 41, 46, 201, 207, 75, 5, 0, 35, 44, 51, 52, 9, 0, 0, 0];

fn packed(coding: &str, body: &[u8]) -> &'static [u8] {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
    Box::leak([head.as_bytes(), body].concat().into_boxed_slice())
}

#[test]
fn a_body_that_comes_compressed_is_checked_as_what_it_stands_for() {
    let events = play(plan(parrot(packed("gzip", PACKED)), population(2), 1.0));
    let (requests, errors) = counted(&events);
    assert!(requests > 20 && errors.is_empty(), "{requests} {errors:?}");
    let operation = &event(&events, "totals")["operations"][0];
    assert_eq!(
        operation["tally"]["body_bytes"].as_u64(),
        operation["counts"]["requests"].as_u64().map(|count| 9 * count)
    );
}

#[test]
fn a_coding_that_browsers_do_not_know_is_passed_over() {
    for coding in ["aws-chunked", "utf-8", "none"] {
        let (requests, errors) = counted(&play(plan(parrot(packed(coding, b"loadstone")), population(2), 1.0)));
        assert!(requests > 20 && errors.is_empty(), "{coding}: {requests} {errors:?}");
    }
}

#[test]
fn bodies_in_a_coding_that_cannot_be_read_are_faults_of_the_coding() {
    assert_eq!(kinds(parrot(packed("br", b"loadstone"))), ["coding"]);
    assert_eq!(kinds(parrot(packed("gzip, br", b"loadstone"))), ["coding"]);
    assert_eq!(kinds(parrot(packed("gzip", &PACKED[..20]))), ["coding"]);
}
