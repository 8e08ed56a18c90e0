//! Answers that an application keeps for a while: in its own memory, or in a memcached or Redis that several servers
//! share. What cannot be kept or found there is made anew, and standard error says why.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{bail, Result};

/// How long an answer is good at most, when nothing that changes it drops it before (docs/applications.md, Events).
const GOOD_FOR: Duration = Duration::from_secs(1800);
/// Answers kept in a server's own memory.
const MOST_WITHIN: u64 = 10_000;
/// Longest wait for a cache elsewhere.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where answers are kept.
#[derive(Clone)]
pub enum Cache {
    Nowhere,
    Within(moka::sync::Cache<String, Arc<str>>),
    Memcached(Arc<memcache::Client>),
    Redis(Arc<Redis>),
}

/// Connections that nobody uses right now; each request takes one, or opens one more.
pub struct Redis {
    client: redis::Client,
    idle: Mutex<Vec<redis::Connection>>,
}

impl Cache {
    /// `within`, memcached://HOST:PORT, redis://HOST:PORT, or nothing. An error for anything else.
    pub fn parse(place: Option<&str>) -> Result<Self> {
        Ok(match place {
            None => Cache::Nowhere,
            Some("within") => {
                let kept = moka::sync::Cache::builder().max_capacity(MOST_WITHIN).time_to_live(GOOD_FOR);
                Cache::Within(kept.build())
            }
            Some(place) if place.starts_with("redis://") => {
                Cache::Redis(Arc::new(Redis { client: redis::Client::open(place)?, idle: Mutex::default() }))
            }
            Some(place) => {
                let Some(at) = place.strip_prefix("memcached://") else {
                    bail!("`{place}` is not a valid cache; use within, memcached://HOST:PORT or redis://HOST:PORT")
                };
                let seconds = PATIENCE.as_secs();
                let url = format!("memcache://{at}?protocol=ascii&timeout={seconds}&connect_timeout={seconds}");
                Cache::Memcached(Arc::new(memcache::Client::connect(url)?))
            }
        })
    }

    /// What is kept by that name, which has no spaces.
    pub async fn get(&self, name: &str) -> Option<String> {
        let (cache, name) = match self {
            Cache::Nowhere => return None,
            Cache::Within(kept) => return kept.get(name).map(|text| text.to_string()),
            elsewhere => (elsewhere.clone(), name.to_owned()),
        };
        elsewhere(move || match &cache {
            Cache::Memcached(client) => Ok(client.get::<String>(&name)?),
            Cache::Redis(redis) => redis.ask(|line| redis::cmd("GET").arg(&name).query::<Option<String>>(line)),
            _ => Ok(None),
        })
        .await
        .flatten()
    }

    /// Keeps an answer by a name.
    pub async fn put(&self, name: &str, answer: String) {
        let (cache, name) = match self {
            Cache::Nowhere => return,
            Cache::Within(kept) => return kept.insert(name.to_owned(), answer.into()),
            elsewhere => (elsewhere.clone(), name.to_owned()),
        };
        elsewhere(move || match &cache {
            Cache::Memcached(client) => Ok(client.set(&name, answer.as_str(), GOOD_FOR.as_secs() as u32)?),
            Cache::Redis(redis) => redis.ask(|line| {
                redis::cmd("SET").arg(&name).arg(&answer).arg("EX").arg(GOOD_FOR.as_secs()).query::<()>(line)
            }),
            _ => Ok(()),
        })
        .await;
    }

    /// What is kept by these names is no longer true.
    pub async fn forget(&self, names: Vec<String>) {
        if let Cache::Within(kept) = self {
            return names.iter().for_each(|name| kept.invalidate(name));
        }
        let cache = self.clone();
        elsewhere(move || match &cache {
            Cache::Memcached(client) => Ok(names.iter().try_for_each(|name| client.delete(name).map(drop))?),
            Cache::Redis(redis) => redis.ask(|line| redis::cmd("DEL").arg(&names).query::<()>(line)),
            _ => Ok(()),
        })
        .await;
    }

    /// Nothing that is kept is true any longer. Whether all of it is gone: a cache elsewhere may not answer.
    #[must_use]
    pub async fn empty(&self) -> bool {
        if let Cache::Within(kept) = self {
            kept.invalidate_all();
            return true;
        }
        let cache = self.clone();
        elsewhere(move || match &cache {
            Cache::Memcached(client) => Ok(client.flush()?),
            Cache::Redis(redis) => redis.ask(|line| redis::cmd("FLUSHDB").query::<()>(line)),
            _ => Ok(()),
        })
        .await
        .is_some()
    }
}

/// Asks a cache elsewhere, on a thread that may wait.
async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Option<T> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()));
    done.inspect_err(|error| eprintln!("loadstone-server: the cache: {error:#}")).ok()
}

impl Redis {
    /// One question over a connection, which is closed where that fails.
    fn ask<T>(&self, question: impl FnOnce(&mut redis::Connection) -> redis::RedisResult<T>) -> Result<T> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let mut line = match idle {
            Some(line) => line,
            None => self.open()?,
        };
        let answer = question(&mut line)?;
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(line);
        }
        Ok(answer)
    }

    fn open(&self) -> Result<redis::Connection> {
        let line = self.client.get_connection_with_timeout(PATIENCE)?;
        line.set_read_timeout(Some(PATIENCE))?;
        line.set_write_timeout(Some(PATIENCE))?;
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_kept_is_found_until_it_is_forgotten() {
        let cache = Cache::parse(Some("within")).expect("a cache");
        assert_eq!(cache.get("home").await, None);
        cache.put("home", "<p>Hello</p>".into()).await;
        assert_eq!(cache.get("home").await.as_deref(), Some("<p>Hello</p>"));
        cache.forget(vec!["other".into(), "home".into()]).await;
        assert_eq!(cache.get("home").await, None);
    }

    #[tokio::test]
    async fn without_a_cache_nothing_is_kept() {
        let cache = Cache::parse(None).expect("none");
        cache.put("home", "<p>Hello</p>".into()).await;
        assert_eq!(cache.get("home").await, None);
    }

    #[tokio::test]
    async fn a_cache_that_is_not_there_finds_nothing_and_stops_nobody() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port").port();
        let cache = Cache::parse(Some(&format!("redis://127.0.0.1:{port}"))).expect("an address");
        cache.put("home", "<p>Hello</p>".into()).await;
        assert_eq!(cache.get("home").await, None);
        assert!(!cache.empty().await, "it may have something yet");
    }

    #[test]
    fn other_addresses_are_refused() {
        let error = Cache::parse(Some("http://127.0.0.1")).err().expect("no cache").to_string();
        assert!(error.contains("not a valid cache"), "{error}");
    }
}
