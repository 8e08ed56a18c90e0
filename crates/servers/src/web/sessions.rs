//! Logged-in users and carts, by cookie; those not seen for a while expire.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use loadstone_schedule::rng::scramble;

/// Life of an idle session; the published servers used 600 to 900 s for the bank and the shop.
const LIFE: Duration = Duration::from_secs(900);
const SHARDS: usize = 64;
/// Sessions of a shard between two sweeps for expired ones.
const SWEEP_AT: usize = 1024;

/// What the server knows of a visitor.
#[derive(Clone, Debug, Default)]
pub struct Visitor {
    pub user: String,
    pub region: String,
    pub cart: Vec<String>,
}

#[derive(Debug, Default)]
struct Shard {
    held: HashMap<u64, (Instant, Visitor)>,
    sweep_at: usize,
}

/// All sessions of a server.
#[derive(Debug)]
pub struct Sessions {
    shards: Vec<Mutex<Shard>>,
    next: AtomicU64,
    salt: u64,
}

impl Default for Sessions {
    fn default() -> Self {
        let salt =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        Sessions { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), next: AtomicU64::new(0), salt }
    }
}

impl Sessions {
    /// Starts a session; returns its key as the cookie carries it.
    pub fn start(&self, visitor: Visitor) -> String {
        let key = scramble(self.salt ^ self.next.fetch_add(1, Ordering::Relaxed));
        let mut shard = self.shard(key);
        if shard.held.len() >= shard.sweep_at.max(SWEEP_AT) {
            shard.held.retain(|_, (seen, _)| seen.elapsed() < LIFE);
            shard.sweep_at = shard.held.len() * 2;
        }
        shard.held.insert(key, (Instant::now(), visitor));
        format!("{key:016x}")
    }

    /// The visitor behind a cookie, if the session lives.
    pub fn find(&self, cookie: Option<&str>) -> Option<Visitor> {
        self.change(cookie, |_| ())
    }

    /// Changes a session; returns it as it is afterwards.
    pub fn change(&self, cookie: Option<&str>, change: impl FnOnce(&mut Visitor)) -> Option<Visitor> {
        let key = u64::from_str_radix(cookie?, 16).ok()?;
        let mut shard = self.shard(key);
        let (seen, visitor) = shard.held.get_mut(&key).filter(|(seen, _)| seen.elapsed() < LIFE)?;
        *seen = Instant::now();
        change(visitor);
        Some(visitor.clone())
    }

    pub fn end(&self, cookie: Option<&str>) {
        if let Some(key) = cookie.and_then(|text| u64::from_str_radix(text, 16).ok()) {
            self.shard(key).held.remove(&key);
        }
    }

    pub fn clear(&self) {
        (0..SHARDS as u64).for_each(|key| self.shard(key).held.clear());
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Shard> {
        let lock = &self.shards[key as usize % SHARDS];
        lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
