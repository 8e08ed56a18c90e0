//! The support site: no state between pages, and downloads of up to 38 MB.

use anyhow::Result;
use http::StatusCode;

use super::form::Form;
use super::page::{begin, end, fixed_file};
use super::store::FileStore;
use crate::backend::client::BackendClient;
use crate::content::escape;
use crate::front::answer::{file, refusal, Answer};
use crate::front::Request;
use crate::site::Site;

/// Back-end workload number.
const SUPPORT: u8 = 3;

/// Files, first size and step in bytes of each download class (docs/web-workloads.md, File sets).
const CLASSES: [(u64, u64, u64); 6] = [
    (5, 104_858, 104_858),
    (3, 629_146, 125_829),
    (4, 1_048_576, 492_831),
    (2, 4_194_304, 1_352_663),
    (1, 9_992_929, 0),
    (1, 37_748_736, 0),
];

pub struct Support {
    site: Site,
    backend: BackendClient,
    /// Where the downloads come from; made here when there is none.
    store: Option<FileStore>,
}

impl Support {
    pub fn new(site: Site, backend: BackendClient, store: Option<FileStore>) -> Self {
        Support { site, backend, store }
    }

    /// Answers a request below `/support/`.
    pub async fn answer(&self, script: &str, request: &Request, form: &Form) -> Result<Answer> {
        if let Some(answer) = fixed_file(&self.site, request) {
            return Ok(answer);
        }
        if let Some(path) = script.strip_prefix("downloads/") {
            // What is no download's name leads nowhere, least of all out of a folder.
            let Some(length) = download_bytes(path) else { return Ok(refusal(StatusCode::NOT_FOUND)) };
            return match &self.store {
                Some(store) => store.fetch(&request.path, &request.headers).await,
                None => Ok(file(&request.headers, &request.path, length)),
            };
        }
        let id = form.text("id");
        let (name, title, command, parameters) = match script {
            "index" => ("home", "Support: home".to_owned(), 1, vec![]),
            "search" => ("search", "Support: search results".to_owned(), 2, vec![form.text("q")]),
            "catalog" => ("catalog", format!("Support: category {id}"), 3, vec![id]),
            "product" => ("product", format!("Support: product {id}"), 4, vec![id]),
            "file_catalog" => {
                let parameters = vec![id, form.text("category"), form.text("os"), form.text("lang")];
                ("fileCatalog", format!("Support: files for {id}"), 5, parameters)
            }
            "file" => ("file", format!("Support: file {id}"), 6, vec![id]),
            _ => return Ok(refusal(StatusCode::NOT_FOUND)),
        };
        let rows = self.backend.ask(SUPPORT, command, &parameters).await?;
        let facts = self.site.page(name);
        let mut page = begin(&title, &facts);
        for parameter in parameters {
            page.put(&format!("<p>You asked for {}</p>\n", escape(parameter)));
        }
        page.table(&rows);
        Ok(end(page, &facts))
    }
}

/// Length of a download: `dirNNNNNNNNNN/downloadC_F`.
pub fn download_bytes(path: &str) -> Option<u64> {
    let (directory, name) = path.strip_prefix("dir")?.split_once('/')?;
    let is_number = directory.len() == 10 && directory.bytes().all(|byte| byte.is_ascii_digit());
    let (class, number) = name.strip_prefix("download")?.split_once('_')?;
    let &(files, first, step) = CLASSES.get(class.parse::<usize>().ok()?)?;
    let number: u64 = number.parse().ok().filter(|&number| number < files)?;
    is_number.then_some(first + step * number)
}

/// Names, below a directory, of all its downloads.
pub fn downloads() -> impl Iterator<Item = String> {
    let classes = CLASSES.iter().enumerate();
    classes.flat_map(|(class, &(files, _, _))| (0..files).map(move |number| format!("download{class}_{number}")))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;

    #[test]
    fn a_directory_of_downloads_has_the_published_size() {
        let total: u64 = downloads().filter_map(|name| download_bytes(&format!("dir0000000001/{name}"))).sum();
        assert_eq!((downloads().count(), total), (16, 68_472_021)); // docs/web-workloads.md, File sets
    }

    #[test]
    fn other_names_are_no_downloads() {
        for path in ["dir1/download0_0", "dir0000000001/download0_5", "dir0000000001/x", "dir000000000x/download0_0"] {
            assert_eq!(download_bytes(path), None, "{path}");
        }
    }

    #[tokio::test]
    async fn a_folder_of_downloads_is_not_left() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("secret"), "x").expect("written");
        let store = FileStore::Folder(folder.path().join("site"));
        let backend = BackendClient::new("127.0.0.1:1");
        let support = Support::new(Site::support().expect("declared"), backend, Some(store));
        let script = "downloads/../../../secret";
        let (path, query, headers, body) = (format!("/support/{script}"), String::new(), HeaderMap::new(), Vec::new());
        let request = Request { method: Method::GET, path, query, headers, body, secure: false };
        let answer = support.answer(script, &request, &Form::of(&request)).await.expect("answered");
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    }
}
