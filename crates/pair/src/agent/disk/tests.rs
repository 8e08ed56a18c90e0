use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file::BLOCK;
use super::*;

/// Counts failures; of a disk that is nobody else's.
struct Counting(Arc<AtomicUsize>);

impl Decider for Counting {
    fn failed(&self, _: &io::Error) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn may_write(&self) -> bool {
        unreachable!("its own disk")
    }

    fn waits(&self, _: &io::Error) {
        unreachable!("its own disk")
    }

    fn is_fenced(&self) {
        unreachable!("its own disk")
    }

    fn diverged(&self, why: String) {
        unreachable!("{why}")
    }

    fn has_read(&self, _: u64) {
        unreachable!("its own disk")
    }

    fn is_live(&self) -> bool {
        false
    }
}

const LENGTH: usize = 4 * BLOCK as usize + 512;

/// A disk that is served, and whoever asks it.
fn served(path: &Path, failures: &Arc<AtomicUsize>) -> (Arc<Disk>, nbd::client::NbdClient<UnixStream>) {
    let disk = Arc::new(Disk::open(path, Backing::Replica).expect("a file"));
    let client = serve(&disk, path, failures);
    (disk, client)
}

fn serve(disk: &Arc<Disk>, path: &Path, failures: &Arc<AtomicUsize>) -> nbd::client::NbdClient<UnixStream> {
    let socket = path.with_extension("socket");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let (serving, decider) = (disk.clone(), Counting(failures.clone()));
    std::thread::spawn(move || serving.serve(&listener, &decider));
    let mut stream = UnixStream::connect(&socket).expect("a connection");
    let export = nbd::client::handshake(&mut stream, b"").expect("an export");
    nbd::client::NbdClient::new(stream, &export)
}

fn write(client: &mut nbd::client::NbdClient<UnixStream>, at: u64, bytes: &[u8]) -> io::Result<()> {
    client.seek(SeekFrom::Start(at))?;
    client.write_all(bytes)
}

#[test]
fn what_is_written_is_read_and_a_copy_has_what_was_written_while_it_was_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("disk"), folder.path().join("copy"));
    std::fs::write(&path, vec![0; LENGTH]).expect("written");
    let failures = Arc::new(AtomicUsize::new(0));
    let (disk, mut client) = served(&path, &failures);
    write(&mut client, 100, &[1; 70_000]).expect("written");
    disk.copy(&copy).expect("copied");
    write(&mut client, 3 * BLOCK - 1, &[2, 3]).expect("written");
    write(&mut client, 0, &[0; 200]).expect("written");
    client.flush().expect("on the disk");
    assert!(disk.copy_rest(&copy).expect("copied"));
    assert!(std::fs::read(&path).expect("read") == std::fs::read(&copy).expect("read"));
    write(&mut client, LENGTH as u64 - 4, &[9; 4]).expect("written");
    assert!(disk.copy_rest(&copy).expect("copied"));
    let mut read = [0; 4];
    client.seek(SeekFrom::Start(LENGTH as u64 - 4)).expect("a place");
    client.read_exact(&mut read).expect("read");
    assert_eq!(read, [9; 4]);
    assert!(std::fs::read(&path).expect("read") == std::fs::read(&copy).expect("read"));
    assert_eq!(failures.load(Ordering::SeqCst), 0);
}

#[test]
fn what_a_copy_could_not_take_is_copied_the_next_time_and_an_earlier_copy_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("disk"), folder.path().join("copy"));
    std::fs::write(&path, vec![0; LENGTH]).expect("written");
    let (disk, mut client) = served(&path, &Arc::default());
    disk.copy(&copy).expect("copied");
    write(&mut client, 0, &[7; 10]).expect("written");
    assert!(disk.copy_rest(&folder.path().join("elsewhere").join("copy")).is_err());
    assert!(disk.copy_rest(&copy).expect("copied"));
    assert!(std::fs::read(&path).expect("read") == std::fs::read(&copy).expect("read"));
    assert!(disk.copy(&copy).is_err(), "a copy is a new file");
}

#[test]
fn a_disk_with_a_request_under_way_is_not_at_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("disk"), folder.path().join("copy"));
    std::fs::write(&path, vec![0; LENGTH]).expect("written");
    let disk = Disk::open(&path, Backing::Replica).expect("a file");
    disk.copy(&copy).expect("copied");
    disk.work(true);
    assert!(!disk.copy_rest(&copy).expect("no error"));
    disk.work(false);
    assert!(disk.copy_rest(&copy).expect("copied"));
}

#[test]
fn a_file_that_cannot_take_what_is_written_is_told_before_whoever_wrote_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk");
    std::fs::write(&path, vec![0; LENGTH]).expect("written");
    let file = File::open(&path).expect("readable, and no more");
    let disk = Arc::new(Disk {
        file: DiskFile::of(file).expect("a file"),
        ..Disk::open(&path, Backing::Replica).expect("a file")
    });
    let failures = Arc::default();
    let mut client = serve(&disk, &path, &failures);
    assert!(write(&mut client, 0, &[1; 1000]).is_err());
    assert_eq!(failures.load(Ordering::SeqCst), 1);
    let mut read = [1; 4];
    client.read_exact(&mut read).expect("the line goes on");
    assert_eq!(read, [0; 4]);
    assert!(client.seek(SeekFrom::Start(LENGTH as u64 - 2)).is_ok_and(|_| client.read_exact(&mut read).is_err()));
    assert_eq!(failures.load(Ordering::SeqCst), 1, "what is beyond the end is no failure of the file");
}
