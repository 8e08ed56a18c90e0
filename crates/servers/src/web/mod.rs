//! The web role: bank, shop and support site of the web workloads, with their file sets.

mod bank;
pub mod form;
mod page;
mod sessions;
mod shop;
pub mod store;
mod support;

use std::sync::Arc;

use anyhow::Result;
use http::{Method, StatusCode};

use crate::backend::client::BackendClient;
use crate::content::Page;
use crate::front::answer::{html, refusal, Answer};
use crate::front::{Request, Role};
use crate::site::Site;
use form::Form;
use sessions::Sessions;
use store::FileStore;

pub use shop::image_bytes as shop_image_bytes;
pub use support::{download_bytes as support_download_bytes, downloads};

const FRONT_PAGE_BYTES: usize = 1024;

/// Everything the three sites need.
pub struct Web {
    bank: bank::Bank,
    shop: shop::Shop,
    support: support::Support,
    sessions: Arc<Sessions>,
    backend: BackendClient,
}

impl Web {
    /// `backend` is the `host:port` of the back-end simulator, `store` what keeps the downloads where it is another.
    pub fn new(backend: &str, store: Option<FileStore>) -> Result<Self> {
        let sessions = Arc::new(Sessions::default());
        let backend = BackendClient::new(backend);
        Ok(Web {
            bank: bank::Bank::new(Site::banking()?, sessions.clone(), backend.clone()),
            shop: shop::Shop::new(Site::shopping()?, sessions.clone(), backend.clone()),
            support: support::Support::new(Site::support()?, backend.clone(), store),
            sessions,
            backend,
        })
    }

    /// Forgets all sessions and resets the back end with the given load.
    async fn reset(&self, form: &Form) -> Answer {
        self.sessions.clear();
        let load = form.get("sessions").unwrap_or("0").to_owned();
        for workload in 1..=3 {
            if self.backend.ask(workload, 0, &["0", &load]).await.is_err() {
                return refusal(StatusCode::BAD_GATEWAY);
            }
        }
        html(Page::new("Reset", 0).finish(0))
    }
}

impl Role for Web {
    async fn answer(&self, request: Request) -> Answer {
        if !matches!(request.method, Method::GET | Method::HEAD | Method::POST) {
            return refusal(StatusCode::METHOD_NOT_ALLOWED);
        }
        let form = Form::of(&request);
        let path = request.path.trim_start_matches('/');
        let (site, rest) = path.split_once('/').unwrap_or((path, ""));
        let answer = match site {
            "bank" => self.bank.answer(rest, &request, &form).await,
            "shop" => self.shop.answer(rest, &request, &form).await,
            "support" => self.support.answer(rest, &request, &form).await,
            "" => return html(front_page()),
            "reset" if request.method == Method::POST => return self.reset(&form).await,
            _ => return refusal(StatusCode::NOT_FOUND),
        };
        answer.unwrap_or_else(|error| {
            eprintln!("loadstone-server web: {}: {error:#}", request.path);
            refusal(StatusCode::BAD_GATEWAY)
        })
    }
}

/// The page at `/`, for the one-page workload: 1 KiB.
fn front_page() -> bytes::Bytes {
    let mut page = Page::new("Reference server", FRONT_PAGE_BYTES);
    page.put("<h1>Reference server</h1>\n<p>The bank, the shop and the support site are below this page.</p>\n");
    page.finish(FRONT_PAGE_BYTES)
}
