//! How the web role gets files that another machine keeps: asked for over HTTP and handed on as they come.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{header, HeaderMap, Request};
use http_body_util::{Either, Empty};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::front::answer::Answer;

const PATIENCE: Duration = Duration::from_secs(20);
/// What of a request decides about the answer, and what of the answer is the file's own.
const ASKED: [header::HeaderName; 2] = [header::IF_MODIFIED_SINCE, header::RANGE];
const TOLD: [header::HeaderName; 4] =
    [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_RANGE, header::LAST_MODIFIED];

/// A store of files at `host:port`.
#[derive(Clone, Debug)]
pub struct FileStore {
    base: String,
    client: Client<HttpConnector, Empty<Bytes>>,
}

impl FileStore {
    pub fn new(base: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        FileStore { base: base.to_owned(), client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// The store's answer for a path, its body still on the way.
    pub async fn fetch(&self, path: &str, headers: &HeaderMap) -> Result<Answer> {
        let mut request = Request::get(format!("http://{}{path}", self.base)).body(Empty::new())?;
        copy(headers, request.headers_mut(), &ASKED);
        let asked = tokio::time::timeout(PATIENCE, self.client.request(request));
        let (head, body) = asked.await.context("the file store does not answer")??.into_parts();
        let mut answer = Answer::new(Either::Right(Either::Right(body)));
        *answer.status_mut() = head.status;
        copy(&head.headers, answer.headers_mut(), &TOLD);
        Ok(answer)
    }
}

fn copy(from: &HeaderMap, to: &mut HeaderMap, names: &[header::HeaderName]) {
    for name in names {
        if let Some(value) = from.get(name) {
            to.insert(name, value.clone());
        }
    }
}
