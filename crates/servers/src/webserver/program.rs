//! Programs by CGI (RFC 3875), started by stubs: as many as are under way, between a least and a most number.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};
use http_body_util::{Either, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;

use super::environment::environment;
use super::stub::Order;
use crate::front::answer::Answer;
use crate::front::Request;
use crate::serving::THIS_PROGRAM;

/// Longest output of a program.
const MOST_BYTES: u64 = 64 << 20;
/// Longest time that a program may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A stub that waits for an order. It ends with its input, at the latest with this process.
struct Stub {
    _child: Child,
    orders: ChildStdin,
    answers: ChildStdout,
    since: Instant,
}

/// The program, and the stubs that nobody uses at this moment.
pub struct Programs {
    program: PathBuf,
    idle: Arc<Mutex<Vec<Stub>>>,
    most: Semaphore,
}

impl Programs {
    /// Starts the least number of stubs; those beyond it end when they were idle for so long.
    pub fn new(program: PathBuf, least: usize, most: usize, idle_for: Duration) -> Result<Self> {
        let stubs = (0..least.min(most)).map(|_| Stub::start()).collect::<Result<Vec<_>>>()?;
        let idle = Arc::new(Mutex::new(stubs));
        tokio::spawn(end_idle(idle.clone(), least, idle_for));
        Ok(Programs { program, idle, most: Semaphore::new(most) })
    }

    /// What the program says to a request.
    pub async fn answer(&self, request: &Request) -> Result<Answer> {
        let _turn = self.most.acquire().await?;
        let kept = lock(&self.idle).pop();
        let mut stub = match kept {
            Some(stub) => stub,
            None => Stub::start()?,
        };
        let order = Order { program: self.program.clone(), environment: environment(request) };
        let said = tokio::time::timeout(PATIENCE, stub.carry_out(&order)).await.context("it takes too long")??;
        stub.since = Instant::now();
        lock(&self.idle).push(stub);
        read(Bytes::from(said))
    }
}

impl Stub {
    fn start() -> Result<Self> {
        let mut command = Command::new(THIS_PROGRAM);
        command.arg("stub").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("a stub cannot be started")?;
        let (orders, answers) = (child.stdin.take(), child.stdout.take());
        let (orders, answers) = (orders.context("it has no input")?, answers.context("it has no output")?);
        Ok(Stub { _child: child, orders, answers, since: Instant::now() })
    }

    async fn carry_out(&mut self, order: &Order) -> Result<Vec<u8>> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.orders.write_all(&line).await?;
        let length = self.answers.read_u64().await.context("its stub ended")?;
        ensure!(0 < length && length <= MOST_BYTES, "it could not be started, or failed");
        let mut said = vec![0; length as usize];
        self.answers.read_exact(&mut said).await?;
        Ok(said)
    }
}

fn lock(idle: &Mutex<Vec<Stub>>) -> std::sync::MutexGuard<'_, Vec<Stub>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends stubs beyond the least number that were idle for long; the last one used is at the end.
async fn end_idle(idle: Arc<Mutex<Vec<Stub>>>, least: usize, idle_for: Duration) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut stubs = lock(&idle);
        let spare = stubs.len().saturating_sub(least);
        let old = stubs.iter().take(spare).take_while(|stub| stub.since.elapsed() > idle_for).count();
        let ended: Vec<Stub> = stubs.drain(..old).collect();
        drop(stubs);
        drop(ended);
    }
}

/// The head and the body of what a program, or PHP, said (RFC 3875, section 6).
pub fn read(said: Bytes) -> Result<Answer> {
    let at = |mark: &[u8]| memchr::memmem::find(&said, mark).map(|at| (at, at + mark.len()));
    let (head, body) = match (at(b"\r\n\r\n"), at(b"\n\n")) {
        (Some(one), Some(other)) => one.min(other),
        (one, other) => one.or(other).context("it sent no header")?,
    };
    let mut answer = Answer::new(Either::Left(Full::new(said.slice(body..))));
    for line in std::str::from_utf8(&said[..head]).context("its header is not text")?.lines() {
        let (name, value) = line.split_once(':').with_context(|| format!("its header has `{line}`"))?;
        if name.eq_ignore_ascii_case("status") {
            let code = value.trim().split(' ').next().unwrap_or_default();
            *answer.status_mut() = StatusCode::from_bytes(code.as_bytes())?;
        } else {
            answer.headers_mut().append(HeaderName::try_from(name)?, HeaderValue::from_str(value.trim())?);
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_head_becomes_the_answers() {
        let answer =
            read(Bytes::from_static(b"Status: 404 No\r\nContent-Type: text/x\r\n\r\nbody\n\nmore")).expect("read");
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        assert_eq!(answer.headers()["content-type"], "text/x");
        assert!(read(Bytes::from_static(b"Content-Type: text/x\n\nbody")).is_ok());
        for wrong in [b"no head at all".as_slice(), b"no colon\n\nbody", b"Status: 9000\n\n", b"a b: c\n\n"] {
            assert!(read(Bytes::copy_from_slice(wrong)).is_err(), "{}", String::from_utf8_lossy(wrong));
        }
    }
}
