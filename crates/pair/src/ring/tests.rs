use super::*;

fn shared() -> (tempfile::TempDir, Shared) {
    let folder = tempfile::tempdir().expect("a folder");
    let shared = Shared::create(&folder.path().join("memory")).expect("made");
    (folder, shared)
}

#[test]
fn bytes_come_out_as_they_went_in_round_and_round() {
    let (folder, ours) = shared();
    let theirs = Shared::open(&folder.path().join("memory")).expect("there");
    let piece: Vec<u8> = (0..1_000_003_u32).map(|at| (at % 251) as u8).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..60).for_each(|_| assert!(ours.from_qemu().write_all(&piece, || false))));
        let (mut seen, mut held) = (0_usize, vec![0; 70_000]);
        while seen < 60 * piece.len() {
            let count = theirs.from_qemu().read_some(&mut held);
            for (offset, byte) in held[..count].iter().enumerate() {
                assert_eq!(*byte, piece[(seen + offset) % piece.len()]);
            }
            seen += count;
            theirs.from_qemu().wait(Duration::from_millis(1));
        }
    });
    assert_eq!((ours.from_qemu().unread(), ours.to_qemu().written()), (0, 0));
}

#[test]
fn a_writer_without_room_waits_and_may_give_up() {
    let (_folder, shared) = shared();
    let ring = shared.to_qemu();
    assert_eq!(ring.write_some(&vec![1; CAPACITY + 5]), CAPACITY);
    assert!(!ring.write_all(&[2], || true));
    let mut one = [0; 8];
    assert_eq!(ring.read_some(&mut one), 8);
    assert!(ring.write_all(&[2; 8], || true));
}

#[test]
fn a_reader_hears_news_at_once() {
    let (_folder, shared) = shared();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ring = shared.to_qemu();
            while shared.command() == Command::Run {
                let seen = ring.news();
                if shared.command() == Command::Run {
                    ring.wait_beyond(seen, Duration::from_secs(20));
                }
            }
        });
        std::thread::sleep(Duration::from_millis(20));
        shared.tell(Command::GoLive);
    });
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other");
    std::fs::write(&path, b"nothing").expect("written");
    assert!(Shared::open(&path).is_err());
    std::fs::write(&path, vec![0; LENGTH]).expect("written");
    assert!(Shared::open(&path).is_err());
}
