//! Files and pictures of a page, fetched over all connections of its user at once.

use std::cell::{Cell, RefCell};

use loadstone_record::detail::FileSample;
use loadstone_schedule::plan::Scheme;
use loadstone_schedule::slots::Values;
use loadstone_schedule::template::Encoding;

use super::connection::{ClientConnection, UserContext};
use super::progress::Progress;
use crate::job::Dates;
use crate::operation::{check_embedded, check_image, Compiled, EmbeddedFile, Sending};
use crate::shared::Shared;
use crate::transport::{Body, Failure};

/// A file of the page under way.
#[derive(Clone, Copy)]
pub(super) struct File {
    pub(super) what: What,
    pub(super) bytes: u64,
}

/// What a page's file is, by its place.
#[derive(Clone, Copy)]
pub(super) enum What {
    /// Declared as part of the page; whether it is asked for conditionally.
    Embedded { at: usize, asks: bool },
    /// Named by the page.
    Image { at: usize },
}

/// A page whose embedded files are being fetched, over all connections at once.
pub(super) struct Page<'a> {
    /// Of its operation.
    pub(super) number: usize,
    pub(super) operation: &'a Compiled,
    pub(super) values: &'a Values,
    pub(super) host: &'a str,
    pub(super) scheme: Scheme,
    pub(super) user: UserContext<'a>,
    pub(super) files: &'a RefCell<Vec<File>>,
    pub(super) images: &'a [Box<str>],
    pub(super) dates: Option<&'a Dates>,
    pub(super) next: Cell<usize>,
    pub(super) progress: &'a Progress,
}

impl Page<'_> {
    /// The date that a file is known by.
    fn date(&self, file: &EmbeddedFile) -> Option<&str> {
        self.dates?[file.memory?].as_deref()
    }

    /// Fetches the next file over `connection` until there is none left.
    pub(super) async fn fetch(&self, shared: &Shared, connection: &mut ClientConnection) -> Result<(), Failure> {
        connection.line.set_rate(shared.job.policy().embedded_bytes_per_s);
        loop {
            let number = self.next.replace(self.next.get() + 1);
            let Some(File { what, .. }) = self.files.borrow().get(number).copied() else { return Ok(()) };
            let bytes = match what {
                What::Embedded { at, asks } => self.fetch_embedded(shared, connection, at, asks).await?,
                What::Image { at } => self.fetch_image(shared, connection, &self.images[at]).await?,
            };
            self.files.borrow_mut()[number].bytes = bytes;
        }
    }

    async fn fetch_embedded(
        &self,
        shared: &Shared,
        connection: &mut ClientConnection,
        at: usize,
        asks: bool,
    ) -> Result<u64, Failure> {
        let (file, begun_ns) = (&self.operation.embedded[at], shared.now());
        let date = if asks { self.date(file) } else { None };
        let path = |out: &mut Vec<u8>| file.path.render(self.values, Encoding::Target, out);
        self.operation.write_get(&self.sending(), date, &mut connection.request, path);
        connection.inspector.reset(file.markers_every, 0);
        let answer = connection.exchange(shared, self.user, Body::Expected).await?;
        self.progress.take(&answer);
        let checked = check_embedded(file, date.is_some(), &answer, &connection.inspector);
        let not_modified = checked.map_err(|wrong| wrong.of(&file.path.text(self.values)))?;
        self.progress.embedded(date.is_some(), not_modified);
        let (operation, bytes, end_ns) = (self.number, answer.bytes, answer.end_ns);
        let sample = FileSample { operation, file: at, begun_ns, end_ns, bytes, not_modified };
        shared.recorder.borrow_mut().file(&sample);
        Ok(answer.bytes)
    }

    async fn fetch_image(
        &self,
        shared: &Shared,
        connection: &mut ClientConnection,
        path: &str,
    ) -> Result<u64, Failure> {
        let Some(images) = &self.operation.images else { return Ok(0) };
        let write_path = |out: &mut Vec<u8>| out.extend_from_slice(path.as_bytes());
        self.operation.write_get(&self.sending(), None, &mut connection.request, write_path);
        connection.inspector.reset(0, 0);
        let answer = connection.exchange(shared, self.user, Body::Expected).await?;
        self.progress.take(&answer);
        check_image(images, &answer, &connection.inspector)?;
        self.progress.loaded(connection.inspector.bytes());
        Ok(answer.bytes)
    }

    fn sending(&self) -> Sending<'_> {
        let is_secure = self.scheme == Scheme::Https;
        Sending { values: self.values, host: self.host, is_secure, jar: self.user.jar, from: 0 }
    }
}
