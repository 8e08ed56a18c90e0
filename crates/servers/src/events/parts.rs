//! Forms in parts (RFC 7578): texts and files.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::ready;

use anyhow::{Context, Result};
use bytes::Bytes;
use futures_util::stream::once;
use http::header;
use multer::Multipart;

use crate::front::Request;

/// Parts of a form at most.
const MOST_PARTS: usize = 64;

/// What a form in parts held, by the names of its fields.
#[derive(Debug, Default)]
pub struct Parts(HashMap<String, Bytes>);

impl Parts {
    /// Reads a request's body.
    pub async fn of(request: &mut Request) -> Result<Self> {
        let kind = request.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let boundary = multer::parse_boundary(kind).context("this is not a multipart form")?;
        let body = Bytes::from(std::mem::take(&mut request.body));
        let mut parts = Multipart::new(once(ready(Ok::<_, Infallible>(body))), boundary);
        let mut read = HashMap::new();
        while let Some(field) = parts.next_field().await.context("the form is broken")? {
            let Some(name) = field.name().map(str::to_owned) else { continue };
            read.insert(name, field.bytes().await.context("the form is broken")?);
            anyhow::ensure!(read.len() <= MOST_PARTS, "the form has too many parts");
        }
        Ok(Parts(read))
    }

    /// A text of at most so many characters; empty where it was not sent.
    pub fn text(&self, name: &str, most: usize) -> String {
        let text = self.0.get(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
        text.chars().filter(|letter| *letter != '\0').take(most).collect()
    }

    /// A file; none where it was not sent.
    pub fn file(&self, name: &str) -> Option<Bytes> {
        self.0.get(name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue, Method};

    fn request(kind: &str, body: &str) -> Request {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).expect("a kind"));
        let (path, query) = ("/".to_owned(), String::new());
        Request { method: Method::POST, path, query, headers, body: body.into(), secure: false }
    }

    #[tokio::test]
    async fn fields_and_files_are_read_by_their_names() {
        let body =
            "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--x\r\nContent-Disposition: form-data; \
                    name=\"f\"; filename=\"f.jpg\"\r\nContent-Type: image/jpeg\r\n\r\nbytes\r\n--x--\r\n";
        let parts = Parts::of(&mut request("multipart/form-data; boundary=x", body)).await.expect("a form");
        assert_eq!((parts.text("a", 2), parts.text("b", 2)), ("on".to_owned(), String::new()));
        assert_eq!(parts.file("f").as_deref(), Some(&b"bytes"[..]));
    }

    #[tokio::test]
    async fn what_is_no_form_in_parts_is_an_error() {
        assert!(Parts::of(&mut request("text/plain", "a=b")).await.is_err());
        assert!(Parts::of(&mut request("multipart/form-data; boundary=x", "--x\r\nContent-Dis")).await.is_err());
    }
}
