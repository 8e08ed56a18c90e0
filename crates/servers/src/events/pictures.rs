//! The store of pictures and papers: what was there at the beginning is one of each class, under as many names as there
//! are; what is added is a file. Kept here, or by a store at another address that speaks HTTP.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use bytes::Bytes;
use http::{header, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::schema::FIRST_ADDED;
use crate::front::answer::{refusal, text, Answer};
use crate::front::{Request, Role};

/// Below which the store's files are asked for.
pub const PATH: &str = "/events/store/";
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest file.
pub const MOST_BYTES: usize = 2 << 20;
/// Points of the pictures of the beginning, as those that users send, and of the small ones.
const POINTS: (u16, u16) = (1600, 1200);
pub const SMALL_POINTS: (u16, u16) = (133, 100);

/// Classes of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Person,
    PersonThumb,
    Event,
    EventThumb,
    Literature,
}

const CLASSES: [Class; 5] = [Class::Person, Class::PersonThumb, Class::Event, Class::EventThumb, Class::Literature];

impl Class {
    /// Its folder.
    pub fn name(self) -> &'static str {
        match self {
            Class::Person => "people",
            Class::PersonThumb => "people-small",
            Class::Event => "events",
            Class::EventThumb => "events-small",
            Class::Literature => "papers",
        }
    }

    /// Bytes of a file of the beginning (the public documents' own).
    fn bytes(self) -> usize {
        match self {
            Class::Person => 671_520,
            Class::PersonThumb => 5_758,
            Class::Event => 669_128,
            Class::EventThumb => 5_895,
            Class::Literature => 129_617,
        }
    }

    fn kind(self) -> &'static str {
        if self == Class::Literature {
            "application/pdf"
        } else {
            "image/jpeg"
        }
    }

    fn sample(self) -> Result<Bytes> {
        let (width, height) = match self {
            Class::Literature => return Ok(vec![b'.'; self.bytes()].into()),
            Class::PersonThumb | Class::EventThumb => SMALL_POINTS,
            Class::Person | Class::Event => POINTS,
        };
        Ok(loadstone_picture::jpeg(width, height, self.bytes())?.into())
    }
}

/// Where a file is asked for.
pub fn path(class: Class, id: i64) -> String {
    format!("{PATH}{}/{id}", class.name())
}

fn parse(path: &str) -> Option<(Class, i64)> {
    let (class, id) = path.strip_prefix(PATH)?.split_once('/')?;
    let class = CLASSES.into_iter().find(|one| one.name() == class)?;
    id.parse().ok().filter(|&id| id > 0).map(|id| (class, id))
}

/// The store as an application sees it.
#[derive(Debug)]
pub enum Pictures {
    Here(Folder),
    There { base: String, client: Client<HttpConnector, Full<Bytes>> },
}

impl Pictures {
    /// A folder of this machine, or the store at `host:port`.
    pub fn new(folder: PathBuf, base: Option<&str>) -> Result<Self> {
        let Some(base) = base else { return Ok(Pictures::Here(Folder::new(folder)?)) };
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Pictures::There { base: base.to_owned(), client })
    }

    /// A file's answer by its path.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        let Some((class, id)) = parse(path) else { return Ok(refusal(StatusCode::NOT_FOUND)) };
        let found = match self {
            Pictures::Here(folder) => folder.read(class, id).await?,
            Pictures::There { .. } => self.ask(Method::GET, path, Bytes::new()).await?,
        };
        Ok(found.map_or_else(|| refusal(StatusCode::NOT_FOUND), |bytes| text(StatusCode::OK, class.kind(), bytes)))
    }

    /// Keeps a file.
    pub async fn put(&self, class: Class, id: i64, content: Bytes) -> Result<()> {
        match self {
            Pictures::Here(folder) => folder.write(class, id, content).await,
            Pictures::There { .. } => {
                let kept = self.ask(Method::PUT, &path(class, id), content).await?;
                kept.map(drop).context("the file store keeps nothing")
            }
        }
    }

    async fn ask(&self, method: Method, path: &str, content: Bytes) -> Result<Option<Bytes>> {
        let Pictures::There { base, client } = self else { return Ok(None) };
        let request = http::Request::builder().method(method).uri(format!("http://{base}{path}"));
        let request = request.body(Full::new(content))?;
        let exchange = async {
            let answer = client.request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await;
            let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
            ensure!(status.is_success() || status == StatusCode::NOT_FOUND, "the file store answers {status}");
            Ok(status.is_success().then_some(body))
        };
        tokio::time::timeout(PATIENCE, exchange).await.context("the file store does not answer")?
    }
}

/// Files of this machine, or of another whose folder this one has mounted.
#[derive(Debug)]
pub struct Folder {
    /// The files of the beginning; none where the folder has them.
    samples: Option<[Bytes; CLASSES.len()]>,
    folder: PathBuf,
}

/// Puts the files of the beginning into a folder that several servers share.
pub fn fill(folder: &Path) -> Result<()> {
    for class in CLASSES {
        let place = sample_place(folder, class);
        std::fs::create_dir_all(place.parent().context("a place has a folder")?)?;
        std::fs::write(&place, class.sample()?).with_context(|| format!("cannot write {}", place.display()))?;
    }
    Ok(())
}

/// Where a folder has the file of the beginning that all of a class are.
fn sample_place(folder: &Path, class: Class) -> PathBuf {
    folder.join(class.name()).join("sample")
}

impl Folder {
    /// Makes the files of the beginning in memory, unless the folder was filled with them.
    pub fn new(folder: PathBuf) -> Result<Self> {
        if CLASSES.iter().all(|&class| sample_place(&folder, class).exists()) {
            return Ok(Folder { samples: None, folder });
        }
        let mut samples = Vec::new();
        for class in CLASSES {
            samples.push(class.sample()?);
        }
        let samples = samples.try_into().map_err(|_| anyhow::anyhow!("a sample is missing"))?;
        Ok(Folder { samples: Some(samples), folder })
    }

    /// No folder of a large store has too many entries.
    fn place(&self, class: Class, id: i64) -> PathBuf {
        let (first, second) = (id % 1000, id / 1_000_000 % 1000);
        self.folder.join(class.name()).join(format!("{first:03}")).join(format!("{second:03}")).join(id.to_string())
    }

    async fn read(&self, class: Class, id: i64) -> Result<Option<Bytes>> {
        let place = match &self.samples {
            Some(samples) if id < FIRST_ADDED => return Ok(Some(samples[class as usize].clone())),
            None if id < FIRST_ADDED => sample_place(&self.folder, class),
            _ => self.place(class, id),
        };
        match tokio::fs::read(place).await {
            Ok(content) => Ok(Some(content.into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn write(&self, class: Class, id: i64, content: Bytes) -> Result<()> {
        let place = self.place(class, id);
        let folder = place.parent().context("a place has a folder")?;
        tokio::fs::create_dir_all(folder).await?;
        let unfinished = place.with_extension("part");
        tokio::fs::write(&unfinished, &content).await?;
        Ok(tokio::fs::rename(unfinished, place).await?)
    }
}

/// The store as a service of its own.
#[derive(Debug)]
pub struct PictureStore(pub Folder);

impl PictureStore {
    async fn perform(&self, request: Request) -> Result<Answer> {
        let Some((class, id)) = parse(&request.path) else { return Ok(refusal(StatusCode::NOT_FOUND)) };
        if request.method == Method::PUT && id >= FIRST_ADDED {
            self.0.write(class, id, request.body.into()).await?;
            return Ok(text(StatusCode::CREATED, "text/plain", Bytes::from_static(b"kept\n")));
        }
        let found = if request.method == Method::GET { self.0.read(class, id).await? } else { None };
        let Some(bytes) = found else { return Ok(refusal(StatusCode::NOT_FOUND)) };
        let mut answer = text(StatusCode::OK, class.kind(), bytes);
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=86400"));
        Ok(answer)
    }
}

impl Role for PictureStore {
    const MOST_BODY_BYTES: usize = MOST_BYTES;

    async fn answer(&self, request: Request) -> Answer {
        self.perform(request).await.unwrap_or_else(|error| {
            eprintln!("loadstone-server pictures: {error:#}");
            refusal(StatusCode::INTERNAL_SERVER_ERROR)
        })
    }
}
