//! Writing a workload's files to disk, for servers that serve files: the same bytes the reference server computes.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::backend::bank::{check_image_bytes, CHECKS};
use crate::content::FileBody;
use crate::site::Site;
use crate::web::{downloads, shop_image_bytes, support_download_bytes};

/// Which workload's files.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Set {
    Banking,
    Shopping,
    Support,
    /// The support site's files without its downloads, for servers that mount those.
    SupportPages,
    /// The support site's downloads of up to 6 MB, for tiles.
    Downloads,
    /// One for any number of sessions.
    Bookstore,
    /// One for any number of sessions, without pictures.
    Events,
    /// Of a web server alone; so many sessions are so many directories.
    StaticFiles,
}

/// Longest download of a tile (docs/consolidation.md, Web).
const LONGEST: u64 = 6_000_000;
/// Users a session owns (docs/web-workloads.md, File sets).
const USERS_PER_SESSION: u64 = 50;

/// Modification time of every file that is written, in seconds since 1970: 2020-01-01. A file with another one was changed.
const WRITTEN_S: u64 = 1_577_836_800;

/// Names (paths without their leading slash) and lengths of all files for a number of sessions.
pub fn files(set: Set, sessions: u64) -> Result<Box<dyn Iterator<Item = (String, u64)>>> {
    let site = match set {
        Set::Banking => Site::banking()?,
        Set::Shopping => Site::shopping()?,
        Set::Support | Set::SupportPages => Site::support()?,
        Set::Bookstore => return Ok(Box::new(Site::bookstore()?.files.into_iter())),
        Set::Downloads => return Ok(Box::new(download_files(sessions).filter(|(_, length)| *length <= LONGEST))),
        Set::Events => return Ok(Box::new(Site::events()?.files.into_iter())),
        Set::StaticFiles => return Ok(Box::new(static_files(sessions))),
    };
    let fixed = site.files.into_iter();
    Ok(match set {
        Set::Banking => Box::new(fixed.chain(check_images(sessions))),
        Set::Shopping => Box::new(fixed.chain(product_images(sessions))),
        Set::Support => Box::new(fixed.chain(download_files(sessions))),
        Set::SupportPages => Box::new(fixed),
        Set::Downloads | Set::Bookstore | Set::Events | Set::StaticFiles => unreachable!("they were given above"),
    })
}

/// Classes of size of static files, and files of each (docs/webserver.md, Files).
const CLASSES: u32 = 4;
const FILES_OF_CLASS: u64 = 9;

fn static_files(directories: u64) -> impl Iterator<Item = (String, u64)> {
    (1..=directories).flat_map(|directory| {
        (0..CLASSES).flat_map(move |class| {
            (1..=FILES_OF_CLASS).map(move |number| {
                (format!("/files/dir{directory:05}/class{class}_{number}"), static_bytes(class, number))
            })
        })
    })
}

/// Tenths of 1 KiB, of 10, of 100 and of 1,000, of the smallest class without their fraction.
pub fn static_bytes(class: u32, number: u64) -> u64 {
    number * 1024 * 10u64.pow(class) / 10
}

fn check_images(sessions: u64) -> impl Iterator<Item = (String, u64)> {
    (1..=USERS_PER_SESSION * sessions).flat_map(|user| {
        (1..=CHECKS).flat_map(move |check| {
            ["front", "back"].map(|side| {
                (format!("check/{user:010}/{check:06}/{side}.gif"), check_image_bytes(check, side == "front"))
            })
        })
    })
}

fn product_images(sessions: u64) -> impl Iterator<Item = (String, u64)> {
    let names = (1..=5 * sessions).flat_map(|directory| {
        ["small", "large", "extra"]
            .into_iter()
            .flat_map(move |kind| (0..10).map(move |number| format!("{kind}/{directory:07}-{number}.gif")))
    });
    names.filter_map(|name| shop_image_bytes(&name).map(|length| (format!("/shop/images/{name}"), length)))
}

fn download_files(sessions: u64) -> impl Iterator<Item = (String, u64)> {
    let directories = (sessions as f64 * 0.25).round().max(1.0) as u64;
    let names =
        (1..=directories).flat_map(|directory| downloads().map(move |name| format!("dir{directory:010}/{name}")));
    names.filter_map(|name| support_download_bytes(&name).map(|length| (format!("/support/downloads/{name}"), length)))
}

/// Writes the files below `folder`; reports bytes done of bytes in all, now and then. Unchanged files are kept.
pub fn write(set: Set, sessions: u64, folder: &Path, mut progress: impl FnMut(u64, u64)) -> Result<(u64, u64)> {
    let total: u64 = files(set, sessions)?.map(|(_, length)| length).sum();
    let (mut count, mut done) = (0, 0);
    for (name, length) in files(set, sessions)? {
        let path = folder.join(name.trim_start_matches('/'));
        write_file(&path, &name, length).with_context(|| format!("cannot write {}", path.display()))?;
        count += 1;
        done += length;
        progress(done, total);
    }
    Ok((count, done))
}

fn write_file(path: &Path, name: &str, length: u64) -> Result<()> {
    if is_unchanged(path, length) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension("part");
    let mut out = std::io::BufWriter::new(fs::File::create(&unfinished)?);
    FileBody::new(name, length).pieces().try_for_each(|piece| out.write_all(&piece))?;
    out.into_inner()?.set_modified(written_at())?;
    Ok(fs::rename(unfinished, path)?)
}

/// Whether a file has its length, and was not modified since it was written.
fn is_unchanged(path: &Path, length: u64) -> bool {
    let is_as_written = |held: fs::Metadata| held.is_file() && held.modified().is_ok_and(|at| at == written_at());
    fs::symlink_metadata(path).is_ok_and(|held| held.len() == length && is_as_written(held))
}

fn written_at() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(WRITTEN_S)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn files_that_were_removed_cut_or_changed_are_written_again_and_no_others() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("loadstone-fileset-{}", std::process::id()));
        let write_set = || write(Set::StaticFiles, 1, &folder, |_, _| ());
        let path = |name: &str| folder.join("files/dir00001").join(name);
        assert_eq!(write_set()?.0, 36);
        let first = fs::read(path("class0_1"))?;
        fs::remove_file(path("class0_1"))?;
        fs::write(path("class0_2"), "cut")?;
        fs::write(path("class0_3"), vec![0; static_bytes(0, 3) as usize])?;
        let inode = |name: &str| fs::metadata(path(name)).map(|held| held.ino());
        let untouched = inode("class0_4")?;
        write_set()?;
        assert_eq!(fs::read(path("class0_1"))?, first);
        assert!((2..4).all(|number| is_unchanged(&path(&format!("class0_{number}")), static_bytes(0, number))));
        assert_ne!(fs::read(path("class0_3"))?, vec![0; static_bytes(0, 3) as usize]);
        assert_eq!(inode("class0_4")?, untouched);
        fs::remove_dir_all(&folder)?;
        Ok(())
    }
}
