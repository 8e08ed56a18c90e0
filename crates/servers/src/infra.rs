//! The infra role: back-end simulator and store of the files that the web role gives out, on one address.

use http::{Method, StatusCode};

use crate::backend::Backend;
use crate::front::answer::{file, refusal, Answer};
use crate::front::{Request, Role};
use crate::web::support_download_bytes;

/// Where the support site's downloads are, here and on the web role.
pub const DOWNLOADS: &str = "/support/downloads/";

/// Back-end simulator and file store behind one port.
#[derive(Debug, Default)]
pub struct Infra(Backend);

impl Role for Infra {
    async fn answer(&self, request: Request) -> Answer {
        let Some(name) = request.path.strip_prefix(DOWNLOADS) else { return self.0.answer(request).await };
        match support_download_bytes(name) {
            Some(length) if request.method == Method::GET => file(&request.headers, &request.path, length),
            _ => refusal(StatusCode::NOT_FOUND),
        }
    }
}
