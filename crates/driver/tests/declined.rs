//! Requests that an HTTP/2 server declares unprocessed are sent again (RFC 9113, section 8.7), and counted.

mod common;

use std::net::SocketAddr;

use bytes::Bytes;
use common::{counted, event, plan, play, population};
use h2::server::SendResponse;
use h2::Reason;
use http::Response;
use serde_json::json;

/// How a server declines the third of each three requests of a connection.
#[derive(Clone, Copy)]
enum Decline {
    Stream,
    Connection,
    /// It declines all requests.
    All,
}

/// A server of HTTP/2 that answers requests, as far as it does not decline them.
fn server(decline: Decline) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    listener.set_nonblocking(true).expect("a socket");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, decline));
            }
        });
    });
    address
}

async fn serve(stream: tokio::net::TcpStream, decline: Decline) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let mut count = 0;
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        count += 1;
        match decline {
            Decline::Stream if count % 3 == 0 => respond.send_reset(Reason::REFUSED_STREAM),
            Decline::All => respond.send_reset(Reason::REFUSED_STREAM),
            Decline::Connection if count == 3 => {
                answer(&mut respond);
                connection.graceful_shutdown(); // GOAWAY
            }
            _ => answer(&mut respond),
        }
    }
}

fn answer(respond: &mut SendResponse<Bytes>) {
    if let Ok(mut body) = respond.send_response(Response::new(()), false) {
        let _ = body.send_data(Bytes::from_static(b"loadstone"), true); // a client that is gone needs none
    }
}

/// Requests, kinds of error, and how many requests were declined, of posts to a server.
fn posted(decline: Decline) -> (u64, Vec<(String, u64)>, u64) {
    let mut plan = plan(server(decline), population(3), 1.0);
    let workload = &mut plan["parts"][0]["workload"];
    workload["connections"]["protocol"] = json!("http2");
    workload["operations"][0]["method"] = json!("POST");
    workload["pacing"]["mean_ns"] = json!(5_000_000);
    let events = play(plan);
    let (requests, errors) = counted(&events);
    (requests, errors, event(&events, "totals")["connections"]["declined"].as_u64().expect("a number"))
}

#[test]
fn refused_streams_are_sent_again() {
    let (requests, errors, declined) = posted(Decline::Stream);
    assert!(requests > 20 && errors.is_empty() && declined > 5, "{requests} {errors:?} {declined}");
}

#[test]
fn a_connection_that_is_given_up_by_goaway_is_replaced() {
    let (requests, errors, _) = posted(Decline::Connection);
    assert!(requests > 20 && errors.is_empty(), "{requests} {errors:?}");
}

#[test]
fn a_server_that_refuses_all_is_named() {
    let (requests, errors, _) = posted(Decline::All);
    assert!(requests > 0 && errors.len() == 1 && errors[0] == ("refused".to_owned(), requests), "{errors:?}");
}
