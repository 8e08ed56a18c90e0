//! Making a machine unlike every other that was restored from the same saved state: its random numbers and its clock.

use std::ffi::c_int;
use std::fs::OpenOptions;

use anyhow::{ensure, Context, Result};
use rustix::ioctl;
use rustix::time::{clock_gettime, clock_settime, ClockId, Timespec};

/// Bytes of entropy that a seed has: as many as the key of the kernel's generator.
const SEED_BYTES: usize = 32;
const NANOSECONDS: i128 = 1_000_000_000;
/// Drawn from the generator when it is read for the first time, so that two machines with one generator have one.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// `struct rand_pool_info` of linux/random.h.
#[repr(C)]
struct PoolInfo {
    entropy_bits: c_int,
    size_bytes: c_int,
    bytes: [u8; SEED_BYTES],
}

/// `RNDADDENTROPY`, which is declared with the size of two integers alone.
const ADD_ENTROPY: ioctl::Opcode = ioctl::opcode::write::<[c_int; 2]>(b'R', 3);
/// `RNDRESEEDCRNG`.
const RESEED: ioctl::Opcode = ioctl::opcode::none(b'R', 7);

/// Has the kernel draw from other random numbers at once; returns the identifier that it then gives itself.
pub fn seed(entropy: &str) -> Result<String> {
    let bytes = bytes_of(entropy).with_context(|| format!("a seed has {SEED_BYTES} bytes in hexadecimal"))?;
    let file = OpenOptions::new().write(true).open("/dev/urandom")?;
    let pool = PoolInfo { entropy_bits: 8 * SEED_BYTES as c_int, size_bytes: SEED_BYTES as c_int, bytes };
    // SAFETY: the kernel reads as many bytes after both integers as the second one says.
    let add = unsafe { ioctl::Setter::<ADD_ENTROPY, PoolInfo>::new(pool) };
    // SAFETY: as above.
    unsafe { ioctl::ioctl(&file, add) }.context("the kernel takes no entropy")?;
    // SAFETY: RNDRESEEDCRNG takes no argument.
    let reseed = unsafe { ioctl::NoArg::<RESEED>::new() };
    // SAFETY: as above.
    unsafe { ioctl::ioctl(&file, reseed) }.context("the kernel does not use the entropy")?;
    Ok(std::fs::read_to_string(BOOT_ID)?.trim().to_owned())
}

fn bytes_of(text: &str) -> Result<[u8; SEED_BYTES]> {
    ensure!(text.is_ascii() && text.len() == 2 * SEED_BYTES, "it has another length");
    let mut bytes = [0; SEED_BYTES];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16)?;
    }
    Ok(bytes)
}

/// Sets the wall clock by a difference, which no delay of the request can spoil.
pub fn shift_clock(by_ns: i64) -> Result<()> {
    let now = clock_gettime(ClockId::Realtime);
    let wanted_ns = i128::from(now.tv_sec) * NANOSECONDS + i128::from(now.tv_nsec) + i128::from(by_ns);
    let wanted = Timespec {
        tv_sec: wanted_ns.div_euclid(NANOSECONDS) as i64,
        tv_nsec: wanted_ns.rem_euclid(NANOSECONDS) as i64,
    };
    clock_settime(ClockId::Realtime, wanted).context("the clock cannot be set")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_of_another_length_or_of_other_letters_is_refused() {
        assert_eq!(bytes_of(&"0a".repeat(SEED_BYTES)).expect("a seed"), [10; SEED_BYTES]);
        for wrong in ["", "0a", &"zz".repeat(SEED_BYTES), &"ä".repeat(SEED_BYTES)] {
            assert!(bytes_of(wrong).is_err(), "{wrong}");
        }
    }
}
