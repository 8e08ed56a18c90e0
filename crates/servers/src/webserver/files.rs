//! Files, of which the cache keeps those that fit: by number, by bytes, and for so long.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{header, HeaderValue, StatusCode};
use http_body_util::{Either, Full};
use moka::sync::Cache;

use super::options::Options;
use crate::front::answer::{refusal, Answer};
use crate::front::Request;

/// A file as it was when it was read.
#[derive(Clone)]
struct Held {
    bytes: Bytes,
    changed: SystemTime,
    changed_text: HeaderValue,
}

/// The folder and its cache.
pub struct Files {
    folder: PathBuf,
    cache: Option<Cache<String, Held>>,
    most_bytes: u64,
}

impl Files {
    /// Empty.
    pub fn new(options: &Options) -> Self {
        let cache = (options.cache_entries > 0).then(|| {
            // Each weighs at least its share of the entries, so that neither limit is passed.
            let least = (options.cache_bytes / options.cache_entries).max(1);
            Cache::builder()
                .max_capacity(options.cache_bytes)
                .weigher(move |_: &String, held: &Held| {
                    u32::try_from((held.bytes.len() as u64).max(least)).unwrap_or(u32::MAX)
                })
                .time_to_live(Duration::from_secs(options.cache_age))
                .build()
        });
        Files { folder: options.folder.clone(), cache, most_bytes: options.cache_file_bytes }
    }

    /// The file of a path, or that it has not changed since.
    pub async fn answer(&self, request: &Request) -> Answer {
        if let Some(held) = self.cache.as_ref().and_then(|cache| cache.get(&request.path)) {
            return answer(request, held);
        }
        let path = self.folder.join(request.path.trim_start_matches('/'));
        match read(&path).await {
            Ok(held) => {
                if let Some(cache) = self.cache.as_ref().filter(|_| held.bytes.len() as u64 <= self.most_bytes) {
                    cache.insert(request.path.clone(), held.clone());
                }
                answer(request, held)
            }
            Err(_) => refusal(StatusCode::NOT_FOUND),
        }
    }
}

async fn read(path: &Path) -> std::io::Result<Held> {
    let bytes = tokio::fs::read(path).await?;
    let changed = tokio::fs::metadata(path).await?.modified()?;
    let text = HeaderValue::from_str(&httpdate::fmt_http_date(changed)).map_err(std::io::Error::other)?;
    Ok(Held { bytes: Bytes::from(bytes), changed, changed_text: text })
}

fn answer(request: &Request, held: Held) -> Answer {
    let is_known = has_it(request, held.changed);
    let mut answer = Answer::new(Either::Left(Full::new(if is_known { Bytes::new() } else { held.bytes })));
    if is_known {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let kind = if request.path.ends_with(".html") { "text/html" } else { "application/octet-stream" };
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(header::LAST_MODIFIED, held.changed_text);
    answer
}

/// By whole seconds, which is what a date in a header has.
fn has_it(request: &Request, changed: SystemTime) -> bool {
    let since = request.headers.get(header::IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
    let since = since.and_then(|text| httpdate::parse_http_date(text).ok());
    since.is_some_and(|since| changed.duration_since(since).is_ok_and(|later| later.as_secs() == 0) || changed <= since)
}
