//! The supplier emulator: takes orders for parts as XML, and delivers some time later by a request of its own.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::works::PartsOrder;

/// Paths of the emulator and of the company that it delivers to.
pub const ORDERS: &str = "/supplier/orders";
/// Where suppliers send their deliveries to.
pub const DELIVERIES: &str = "/works/deliveries";

/// Time from an order to its delivery.
const DELIVERY: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(20);
/// Times a delivery is tried; the company takes each in once only.
const TRIES: u32 = 5;

/// How company and suppliers write to each other.
#[derive(Clone)]
pub struct Post(Client<HttpConnector, Full<Bytes>>);

impl Default for Post {
    fn default() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Post(Client::builder(TokioExecutor::new()).build(connector))
    }
}

impl Post {
    /// Sends a document; raises anything but a success.
    async fn send(&self, to: &str, document: String) -> Result<()> {
        let request = http::Request::post(to).header("content-type", "application/xml").body(document.into())?;
        let exchange = async {
            let response = self.0.request(request).await?;
            let status = response.status();
            response.into_body().collect().await?;
            ensure!(status.is_success(), "{to} answers {status}");
            Ok(())
        };
        tokio::time::timeout(PATIENCE, exchange).await.with_context(|| format!("{to} does not answer"))?
    }

    /// Sends an order for parts to its supplier, who is at `host`.
    pub async fn order(&self, host: &str, order: &PartsOrder) -> Result<()> {
        let PartsOrder { id, supplier, part, quantity } = order;
        let document = format!(
            "<order id=\"{id}\"><supplier>{supplier}</supplier><part>{part}</part><quantity>{quantity}</quantity></order>"
        );
        self.send(&format!("http://{host}{ORDERS}"), document).await
    }

    /// Delivers, later; tried again when the company does not take it in.
    pub async fn deliver_later(self, host: String, id: String) {
        for _ in 0..TRIES {
            tokio::time::sleep(DELIVERY).await;
            let document = format!("<delivery order=\"{id}\"/>");
            match self.send(&format!("http://{host}{DELIVERIES}"), document).await {
                Ok(()) => return,
                Err(error) => eprintln!("loadstone-server dealership: delivery of {id}: {error:#}"),
            }
        }
    }
}

/// The value of an attribute of a document's first element.
pub fn attribute<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let start = document.find(&format!(" {name}=\""))? + name.len() + 3;
    document[start..].split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_and_missing_ones_are_not_made_up() {
        assert_eq!(attribute("<order id=\"a-7\"><part>3</part></order>", "id"), Some("a-7"));
        assert_eq!(attribute("<order/>", "id"), None);
    }
}
