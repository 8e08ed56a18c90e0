//! A machine's line: frames from its network to it, and from it to its agent.
//!
//! What the machine sends comes over a stream that QEMU's filter writes (a length of four bytes, big-endian, before each
//! frame); what it is to receive goes to QEMU as datagrams. The network itself is a tap.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, ensure, Context, Result};
use rustix::thread::{move_into_link_name_space, LinkNameSpaceType};

/// Longest frame that a network without jumbo frames carries, its tags included; QEMU adds nothing.
const LONGEST: usize = 65_536;
/// Bytes of the length before each frame of a machine.
pub const FRAME_HEAD_BYTES: usize = 4;
/// Longest wait for room in the machine; frames queue in the network meanwhile.
const PATIENCE: Duration = Duration::from_millis(20);
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const IFF_TAP: i16 = 0x0002;
const IFF_NO_PI: i16 = 0x1000;
/// RARP, by which a machine that moved says where it is (RFC 903).
const RARP: [u8; 2] = [0x80, 0x35];

/// `struct ifreq` as far as a tap is named by it (netdevice(7)).
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    unused: [u8; 22],
}

/// A network's file, shared by those who read from it and those who write.
pub type Tap = Arc<File>;

/// A tap by its name, which must be there.
pub fn tap(name: &str) -> Result<File> {
    ensure!(!name.is_empty() && name.len() < 16, "`{name}` is not a valid interface name");
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun").context("/dev/net/tun")?;
    let mut request = InterfaceRequest { name: [0; 16], flags: IFF_TAP | IFF_NO_PI, unused: [0; 22] };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the request is as long as the kernel's and lives through the call.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) };
    ensure!(done == 0, "the tap {name} cannot be used: {}", std::io::Error::last_os_error());
    Ok(file)
}

/// The same in another network namespace: a file of it that is open stays of use from everywhere.
pub fn tap_in(namespace: &Path, name: &str) -> Result<File> {
    let there = File::open(namespace).with_context(|| namespace.display().to_string())?;
    let (name, place) = (name.to_owned(), namespace.display().to_string());
    // A thread of its own goes there, and ends there.
    let opened = std::thread::spawn(move || {
        move_into_link_name_space(there.as_fd(), Some(LinkNameSpaceType::Network)).context(place)?;
        tap(&name)
    });
    opened.join().map_err(|_| anyhow!("the thread that opens the tap panicked"))?
}

/// The way to a machine.
pub struct Inlet {
    socket: UnixDatagram,
    to: PathBuf,
}

impl Inlet {
    /// To QEMU's socket, which need not be there yet.
    pub fn new(to: &Path) -> Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Inlet { socket, to: to.to_owned() })
    }

    /// Gives the machine a frame; one that it has no room for is lost, as on any line.
    pub fn give(&self, frame: &[u8]) {
        let _ = self.socket.send_to(frame, &self.to);
    }
}

/// The next frame that a machine sent; an error when it is gone.
pub fn next_frame(stream: &mut UnixStream) -> Result<Vec<u8>> {
    let mut length = [0; FRAME_HEAD_BYTES];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    ensure!(length <= LONGEST, "a frame of {length} bytes");
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}

/// Reads frames from a tap until it is gone.
pub fn each_frame(mut tap: &File, mut take: impl FnMut(&[u8])) {
    let mut frame = vec![0; LONGEST];
    loop {
        match tap.read(&mut frame) {
            Ok(length) => take(&frame[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Sends a frame; one that the network refuses is lost.
pub fn put(mut tap: &File, frame: &[u8]) {
    let _ = tap.write(frame);
}

/// A frame by which every switch learns where a machine is now.
pub fn announcement(mac: [u8; 6]) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend_from_slice(&mac);
    frame.extend_from_slice(&RARP);
    frame.extend_from_slice(&[0, 1, 8, 0, 6, 4, 0, 3]); // Ethernet, IPv4, a request for one's own address
    frame.extend_from_slice(&mac);
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(&mac);
    frame.resize(60, 0);
    frame
}

/// Reads `52:54:00:12:34:56`.
pub fn read_mac(text: &str) -> Result<[u8; 6], String> {
    let bytes: Result<Vec<u8>, _> = text.split(':').map(|part| u8::from_str_radix(part, 16)).collect();
    let wrong = || format!("`{text}` is not a valid hardware address; use one such as 52:54:00:12:34:56");
    bytes.map_err(|_| wrong())?.try_into().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_a_whole_frame_from_the_machine_to_all() {
        let mac = read_mac("52:54:0a:c8:00:02").expect("an address");
        let frame = announcement(mac);
        assert_eq!(frame.len(), 60);
        assert_eq!((&frame[..6], &frame[6..12], &frame[12..14]), (&[0xff; 6][..], &mac[..], &RARP[..]));
        assert!(read_mac("52:54").is_err() && read_mac("zz:54:00:12:34:56").is_err());
    }
}
