//! How the web role gets files that another machine keeps: asked for over HTTP, or read from a folder that it shares,
//! and handed on as they come.

use std::io::{ErrorKind, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use futures_util::stream;
use http::{header, HeaderMap, Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Either, Empty, StreamBody};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::front::answer::{file_with, refusal, Answer, Elsewhere};

/// Bytes that are read of a folder's file at a time.
const PIECE: u64 = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(20);
/// What of a request decides about the answer, and what of the answer is the file's own.
const ASKED: [header::HeaderName; 2] = [header::IF_MODIFIED_SINCE, header::RANGE];
const TOLD: [header::HeaderName; 4] =
    [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_RANGE, header::LAST_MODIFIED];

/// A store of files.
#[derive(Clone, Debug)]
pub enum FileStore {
    /// At `host:port`.
    There { base: String, client: Client<HttpConnector, Empty<Bytes>> },
    /// A folder below which files have their paths.
    Folder(PathBuf),
}

impl FileStore {
    /// One that is asked over HTTP.
    pub fn there(base: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        FileStore::There { base: base.to_owned(), client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// The store's answer for a path, its body still on the way. The caller has seen that it is the path of a file that
    /// there may be: what it leads to is sent.
    pub async fn fetch(&self, path: &str, headers: &HeaderMap) -> Result<Answer> {
        match self {
            FileStore::There { base, client } => ask(base, client, path, headers).await,
            FileStore::Folder(folder) => read(folder, path, headers).await,
        }
    }
}

async fn ask(
    base: &str,
    client: &Client<HttpConnector, Empty<Bytes>>,
    path: &str,
    headers: &HeaderMap,
) -> Result<Answer> {
    let mut request = Request::get(format!("http://{base}{path}")).body(Empty::new())?;
    copy(headers, request.headers_mut(), &ASKED);
    let asked = tokio::time::timeout(PATIENCE, client.request(request));
    let (head, body) = asked.await.context("the file store does not answer")??.into_parts();
    let body = body.map_err(std::io::Error::other).boxed_unsync();
    let mut answer = Answer::new(Either::Right(Either::Right(body)));
    *answer.status_mut() = head.status;
    copy(&head.headers, answer.headers_mut(), &TOLD);
    Ok(answer)
}

async fn read(folder: &Path, path: &str, headers: &HeaderMap) -> Result<Answer> {
    let file = match File::open(folder.join(path.trim_start_matches('/'))).await {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(refusal(StatusCode::NOT_FOUND)),
        opened => opened.context("the folder of files cannot be read")?,
    };
    let length = file.metadata().await?.len();
    let whole = (0, length.saturating_sub(1));
    Ok(file_with(headers, path, length, |part| Either::Right(pieces(file, part.unwrap_or(whole)))))
}

/// A file from one byte to another, both included, a piece at a time.
fn pieces(file: File, (first, last): (u64, u64)) -> Elsewhere {
    let sent = stream::try_unfold((file, first), move |(mut file, at): (File, u64)| async move {
        if at > last {
            return Ok::<_, std::io::Error>(None);
        }
        if at == first {
            file.seek(SeekFrom::Start(first)).await?;
        }
        let mut piece = vec![0; PIECE.min(last + 1 - at) as usize];
        file.read_exact(&mut piece).await?;
        let next = at + piece.len() as u64;
        Ok(Some((Frame::data(Bytes::from(piece)), (file, next))))
    });
    StreamBody::new(sent).boxed_unsync()
}

fn copy(from: &HeaderMap, to: &mut HeaderMap, names: &[header::HeaderName]) {
    for name in names {
        if let Some(value) = from.get(name) {
            to.insert(name, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fileset::{self, Set};

    async fn asked(store: &FileStore, path: &str, headers: &HeaderMap) -> (StatusCode, Bytes) {
        let answer = store.fetch(path, headers).await.expect("answered");
        (answer.status(), answer.into_body().collect().await.expect("sent").to_bytes())
    }

    #[tokio::test]
    async fn a_folder_gives_what_is_computed_elsewhere_whole_and_in_parts() {
        let folder = tempfile::tempdir().expect("a folder");
        fileset::write(Set::Downloads, 1, folder.path(), |_, _| ()).expect("written");
        let store = FileStore::Folder(folder.path().to_owned());
        let path = "/support/downloads/dir0000000001/download1_0";
        let (status, whole) = asked(&store, path, &HeaderMap::new()).await;
        let made = crate::content::FileBody::new(path, 629_146).collect().await.expect("made").to_bytes();
        assert_eq!(status, StatusCode::OK);
        assert!(whole == made);
        let part = HeaderMap::from_iter([(header::RANGE, http::HeaderValue::from_static("bytes=100000-200000"))]);
        let (status, bytes) = asked(&store, path, &part).await;
        assert_eq!(status, StatusCode::PARTIAL_CONTENT);
        assert!(bytes == made[100_000..=200_000]);
        let (status, _) = asked(&store, "/support/downloads/dir0000000002/download1_0", &part).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
}
