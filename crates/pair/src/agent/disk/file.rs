//! The file that a disk is in, and copies of it that are made while it is written to.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use crate::agent::threads::lock;
use crate::agent::transmission::{Ask, Request};

/// What is copied at once, and noted as written.
pub const BLOCK: u64 = 64 << 10;

/// A disk's file.
pub struct DiskFile {
    file: File,
    length: u64,
    /// Blocks that were written since a copy began.
    written: Mutex<Option<BTreeSet<u64>>>,
    /// How many copies were begun: an earlier one is given up.
    copies: AtomicU64,
}

impl DiskFile {
    /// The file at `path`, which must be there, opened with these flags of open(2) besides those for reading and writing.
    pub fn open(path: &Path, flags: libc::c_int) -> io::Result<DiskFile> {
        DiskFile::of(OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?)
    }

    /// A file that is open.
    pub fn of(file: File) -> io::Result<DiskFile> {
        let length = file.metadata()?.len();
        Ok(DiskFile { file, length, written: Mutex::new(None), copies: AtomicU64::new(0) })
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Does it to the file.
    pub fn perform(&self, request: &Request) -> io::Result<Vec<u8>> {
        match &request.ask {
            Ask::Read(length) => {
                let mut bytes = vec![0; *length as usize];
                self.file.read_exact_at(&mut bytes, request.at)?;
                return Ok(bytes);
            }
            Ask::Write(bytes) => {
                let written = self.file.write_all_at(bytes, request.at);
                // Not before: a copy that begins in between has read what was there, or finds the note.
                self.note(request.at, bytes.len());
                written?;
            }
            Ask::Flush => self.file.sync_data()?,
            Ask::Other => return Err(io::ErrorKind::InvalidInput.into()),
        }
        Ok(Vec::new())
    }

    /// Copies all of it while it is written to; `copy_written` brings what was written meanwhile.
    pub fn copy(&self, to: &Path) -> io::Result<()> {
        let number = self.copies.fetch_add(1, Ordering::AcqRel) + 1;
        *lock(&self.written) = Some(BTreeSet::new());
        let copy = OpenOptions::new().write(true).create_new(true).open(to)?;
        copy.set_len(self.length)?;
        for block in 0..self.length.div_ceil(BLOCK) {
            if self.copies.load(Ordering::Acquire) != number {
                return Err(io::Error::other("another copy was begun"));
            }
            self.copy_block(block, &copy, true)?;
        }
        Ok(())
    }

    /// Copies what was written since the copy began. Nothing writes meanwhile.
    pub fn copy_written(&self, to: &Path) -> io::Result<()> {
        let copy = OpenOptions::new().write(true).open(to)?;
        while let Some(block) = self.next_written() {
            self.copy_block(block, &copy, false)?;
            lock(&self.written).as_mut().map(|written| written.remove(&block));
        }
        Ok(())
    }

    fn next_written(&self) -> Option<u64> {
        lock(&self.written).as_ref()?.first().copied()
    }

    /// The copy is complete, or wanted no more.
    pub fn forget_written(&self) {
        *lock(&self.written) = None;
    }

    fn copy_block(&self, block: u64, copy: &File, is_new: bool) -> io::Result<()> {
        let at = block * BLOCK;
        let mut bytes = vec![0; BLOCK.min(self.length - at) as usize];
        self.file.read_exact_at(&mut bytes, at)?;
        if is_new && bytes.iter().all(|byte| *byte == 0) {
            return Ok(()); // a new file is empty, and takes no space
        }
        copy.write_all_at(&bytes, at)
    }

    fn note(&self, at: u64, count: usize) {
        if let Some(written) = lock(&self.written).as_mut() {
            written.extend(at / BLOCK..(at + count as u64).div_ceil(BLOCK));
        }
    }
}

impl AsFd for DiskFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
