//! How the web role asks the back end: persistent connections kept by a pool.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{utf8_percent_encode, AsciiSet, NON_ALPHANUMERIC};
use tokio::sync::Semaphore;

const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');
const PATIENCE: Duration = Duration::from_secs(20);
/// Requests under way at once, and so connections; more would not make the back end faster, and files are needed for
/// visitors.
const MOST_AT_ONCE: usize = 256;

/// A client of one back end.
#[derive(Clone, Debug)]
pub struct BackendClient {
    base: String,
    client: Client<HttpConnector, Empty<Bytes>>,
    turns: Arc<Semaphore>,
}

impl BackendClient {
    /// `base` is `host:port`.
    pub fn new(base: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        BackendClient { base: base.to_owned(), client, turns: Arc::new(Semaphore::new(MOST_AT_ONCE)) }
    }

    /// Sends a command; returns the answer's rows.
    pub async fn ask(&self, workload: u8, command: u8, parameters: &[&str]) -> Result<Vec<Vec<String>>> {
        let mut uri = format!("http://{}/?{workload}&{command}", self.base);
        for parameter in parameters {
            uri.push('&');
            uri.extend(utf8_percent_encode(parameter, KEPT));
        }
        let exchange = async {
            let _turn = self.turns.acquire().await?;
            let response = self.client.get(uri.parse()?).await?;
            ensure!(response.status().is_success(), "the back end answers {}", response.status());
            Ok(response.into_body().collect().await?.to_bytes())
        };
        let body = tokio::time::timeout(PATIENCE, exchange).await.context("the back end does not answer")??;
        parse(&String::from_utf8_lossy(&body))
    }
}

fn parse(page: &str) -> Result<Vec<Vec<String>>> {
    let block = page.split("<pre>\n").nth(1).and_then(|rest| rest.split("</pre>").next());
    let mut lines = block.context("the back end's answer has no data")?.lines();
    let status = lines.next().unwrap_or("");
    ensure!(status == "0", "the back end refuses: {}", lines.next().unwrap_or(""));
    Ok(lines.map(|line| line.split('&').map(str::to_owned).collect()).collect())
}
