//! A line between two drivers: one JSON document a line over TLS. Each end says at least every half second that it is
//! there, so that the other notices a cut.

use std::io::ErrorKind;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use futures_util::StreamExt;
use loadstone_record::event::Event;
use loadstone_schedule::plan::Plan;
use serde::{Deserialize, Serialize};
use tokio::io::{split, AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinHandle;
use tokio::time::{interval, timeout};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

/// How often an end says that it is there.
const BEAT: Duration = Duration::from_millis(500);
/// Longest word: plans with the instants of a trace are the longest.
const MOST_WORD_BYTES: usize = 64 << 20;
/// Longest time for the plan, which may be as long, to come whole.
pub const PLAN: Duration = Duration::from_secs(60);
const PIECE_BYTES: usize = 64 << 10;
/// Pause between two tries to say something.
const LOOK: Duration = Duration::from_millis(1);
/// Words that wait to be sent; who has more to say waits.
const WAITING: usize = 256;

/// What a leader says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Plan(Box<Plan>),
    /// What does your monotonic clock say?
    Clock,
    /// Start at this instant of your monotonic clock.
    Start(u64),
    Stop,
    Alive,
}

/// What a driver that joined says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It is ready, and this is its monotonic clock: when it was asked, and when it answered.
    Now {
        schema: u32,
        heard_ns: u64,
        now_ns: u64,
    },
    Event(Box<Event>),
    Alive,
}

/// The end that hears.
pub struct Hearing<S> {
    lines: FramedRead<ReadHalf<S>, LinesCodec>,
    silence: Duration,
}

/// The end that says; what is said is sent in order by a task of its own.
pub struct Saying {
    words: mpsc::Sender<Vec<u8>>,
    sending: JoinHandle<()>,
}

/// Both ends of a connection; must be called in a runtime. `alive` is what is said when there is nothing to say, and
/// after `silence` the other end counts as lost.
pub fn line<S: AsyncRead + AsyncWrite + Send + 'static>(
    stream: S,
    alive: &impl Serialize,
    silence: Duration,
) -> Result<(Hearing<S>, Saying)> {
    let (reader, writer) = split(stream);
    let (words, waiting) = mpsc::channel(WAITING);
    let sending = tokio::spawn(send(writer, waiting, written(alive)?, silence));
    let lines = FramedRead::new(reader, LinesCodec::new_with_max_length(MOST_WORD_BYTES));
    Ok((Hearing { lines, silence }, Saying { words, sending }))
}

/// Sends what is to be said until nobody has more to say, or the other end takes nothing for too long.
async fn send<S: AsyncWrite>(
    mut writer: WriteHalf<S>,
    mut words: mpsc::Receiver<Vec<u8>>,
    alive: Vec<u8>,
    silence: Duration,
) {
    let mut beat = interval(BEAT);
    loop {
        let word = tokio::select! {
            word = words.recv() => match word {
                Some(word) => word,
                None => break,
            },
            _ = beat.tick() => alive.clone(),
        };
        if sent(&mut writer, &word, silence).await.is_err() {
            return; // who says more is told that the line is gone
        }
    }
    let _ = timeout(silence, writer.shutdown()).await;
}

/// Long words go piece by piece: each must be taken in time.
async fn sent<S: AsyncWrite>(writer: &mut WriteHalf<S>, word: &[u8], silence: Duration) -> Result<()> {
    for piece in word.chunks(PIECE_BYTES) {
        timeout(silence, writer.write_all(piece)).await??;
    }
    Ok(timeout(silence, writer.flush()).await??)
}

fn written(what: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    Ok(line)
}

impl<S: AsyncRead> Hearing<S> {
    /// The next word; an error when there is none for too long, or it is not understood. Nothing is lost when it is
    /// given up half-way.
    pub async fn hear<T: for<'a> Deserialize<'a>>(&mut self) -> Result<T> {
        self.hear_within(self.silence).await
    }

    /// The same, of a word that may take longer.
    pub async fn hear_within<T: for<'a> Deserialize<'a>>(&mut self, longest: Duration) -> Result<T> {
        let heard = timeout(longest, self.lines.next()).await;
        let line = heard.ok().with_context(|| format!("it sent nothing for {} s", longest.as_secs_f64()))?;
        let line = match line.context("the connection was closed")? {
            Err(LinesCodecError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                bail!("the connection was closed") // without TLS's own good-bye, as by one that was killed
            }
            line => line.context("the connection broke")?,
        };
        let beginning = || line.chars().take(80).collect::<String>();
        serde_json::from_str(&line).with_context(|| format!("the message is not valid: {}", beginning()))
    }
}

impl Saying {
    /// Says something; an error when the line is gone.
    pub async fn say(&self, what: &impl Serialize) -> Result<()> {
        self.words.send(written(what)?).await.ok().context("the connection is gone")
    }

    /// The same of a line that is written already, for who may not wait in another way than by holding its thread.
    pub fn say_line(&self, line: Vec<u8>) -> Result<()> {
        let mut waiting = line;
        loop {
            match self.words.try_send(waiting) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Closed(_)) => bail!("the connection is gone"),
                Err(TrySendError::Full(line)) => waiting = line,
            }
            std::thread::sleep(LOOK); // the line is given up when nobody takes anything for too long
        }
    }

    /// Waits until all is sent, and says no more.
    pub async fn finish(self) {
        drop(self.words);
        let _ = self.sending.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENCE: Duration = Duration::from_millis(2500);

    #[tokio::test(start_paused = true)]
    async fn who_is_there_says_so_and_who_is_not_is_missed() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (mut hearing, _saying) = line(near, &Word::Alive, SILENCE).expect("a line");
        let (other_hearing, other_saying) = line(far, &Said::Alive, SILENCE).expect("a line");
        for _ in 0..10 {
            assert!(matches!(hearing.hear().await.expect("a beat"), Said::Alive));
        }
        other_saying.say(&Said::Now { schema: 1, heard_ns: 2, now_ns: 3 }).await.expect("said");
        let mut heard: Said = hearing.hear().await.expect("a word");
        while matches!(heard, Said::Alive) {
            heard = hearing.hear().await.expect("a word");
        }
        assert!(matches!(heard, Said::Now { schema: 1, heard_ns: 2, now_ns: 3 }));
        other_saying.sending.abort();
        let error = loop {
            if let Err(error) = hearing.hear::<Said>().await {
                break error.to_string();
            }
        };
        assert_eq!(error, "it sent nothing for 2.5 s");
        drop(other_hearing);
    }

    #[tokio::test]
    async fn anything_but_a_word_is_named() {
        let (near, mut far) = tokio::io::duplex(1 << 16);
        let (mut hearing, _saying) = line(near, &Word::Alive, SILENCE).expect("a line");
        let cut = format!("{}\u{e9}{}\n", "x".repeat(79), "y".repeat(9)); // a letter of two bytes where it is cut
        far.write_all(format!("{{\"start\":7}}\n{{\"go\":1}}\n{cut}").as_bytes()).await.expect("written");
        assert!(matches!(hearing.hear().await.expect("a word"), Word::Start(7)));
        let mut refused = async || hearing.hear::<Word>().await.err().map_or(String::new(), |error| error.to_string());
        assert_eq!(refused().await, "the message is not valid: {\"go\":1}");
        assert!(refused().await.ends_with("x\u{e9}"));
        drop(far);
        assert_eq!(hearing.hear::<Word>().await.err().expect("closed").to_string(), "the connection was closed");
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_holds_nobody_up() {
        let (near, _far) = tokio::io::duplex(64);
        let (_hearing, saying) = line(near, &Word::Alive, SILENCE).expect("a line");
        let mut said = Ok(());
        for _ in 0..2 * WAITING {
            said = saying.say(&Word::Start(7)).await;
        }
        assert_eq!(said.expect_err("nobody takes it").to_string(), "the connection is gone");
    }
}
