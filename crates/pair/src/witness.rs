//! A witness: the generations of a pair whose sides are on hosts of their own, on a third. It answers those alone that show
//! a certificate of the pair's authority, one question a connection, a JSON object each way.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::agent::admission::admit;
use crate::agent::event::{Event, Order};
use crate::agent::lease::Lease;
use crate::agent::places::{Place, Places, GREETING};
use crate::agent::report::report;
use crate::agent::sealed::{Papers, Seals};
use crate::store::{Claim, Folder, Generations};

/// Longest time until a witness takes a connection: who waits for it holds all its outputs.
const CONNECTED: Duration = Duration::from_millis(500);
/// Longest time for a whole question and its answer, after that.
const ANSWERED: Duration = Duration::from_secs(3);
/// Longest question or answer, in bytes; names are short.
const LONGEST: u64 = 4096;
/// Conversations at once with sides that have proved that they are of the pair's authority.
const MOST_PROVED: usize = 256;

/// Between two looks whether the lease is over.
const LEASE_LOOK: Duration = Duration::from_millis(100);

/// How a witness is started.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Folder for the generations, which it need not have made
    #[arg(long)]
    pub folder: PathBuf,
    /// Address that it answers at; a free port where it has none
    #[arg(long)]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub papers: Papers,
    /// Socket that the witness creates, at which one keeper after another reads reports. Default: standard input and output
    #[arg(long)]
    pub control: Option<PathBuf>,
    /// Seconds without a keeper after which the witness ends; 0: at once. Default: never
    #[arg(long, requires = "control")]
    pub lease_s: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    Claim { own: String, generation: u64 },
    Owner { generation: u64 },
    Generation,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Answer {
    Won,
    Lost { owner: String },
    Owner(Option<String>),
    Generation(u64),
    Failed { why: String },
}

/// Answers until the standard input ends; with a control socket, until the lease does.
pub fn run(options: &Options) -> Result<()> {
    let seals = options.papers.read()?.context("a witness needs --certificate, --key and --authority")?;
    let folder = Folder::at(&options.folder);
    folder.generation().with_context(|| options.folder.display().to_string())?;
    let listener = TcpListener::bind(options.listen).with_context(|| options.listen.to_string())?;
    let (sender, events) = channel();
    if let Some(path) = &options.control {
        admit(path, sender)?;
    }
    report(&serde_json::json!({ "event": "listening", "address": listener.local_addr()?.to_string() }));
    std::thread::Builder::new().name("listener".into()).spawn(move || serve(&listener, &seals, &folder))?;
    match &options.control {
        Some(path) => {
            wait_for_end(&events, options.lease_s.map(Duration::from_secs));
            fs::remove_file(path)?;
        }
        None => drop(io::copy(&mut io::stdin().lock(), &mut io::sink())?),
    }
    Ok(())
}

/// Waits until a keeper orders the end, or none has come within the lease.
fn wait_for_end(events: &Receiver<Event>, length: Option<Duration>) {
    let mut lease = Lease::beginning(length, Instant::now());
    while !lease.is_over(Instant::now()) {
        match events.recv_timeout(LEASE_LOOK) {
            Ok(Event::Kept(number)) => lease.begin_keeping(number),
            Ok(Event::Unkept(number)) => drop(lease.stop_keeping(number, Instant::now())),
            Ok(Event::Order(Order::Stop)) => return,
            Ok(_) | Err(_) => {}
        }
    }
}

fn serve(listener: &TcpListener, seals: &Seals, folder: &Folder) {
    let (places, proved) = (Arc::new(Places::default()), Arc::new(AtomicUsize::new(0)));
    for tcp in listener.incoming().filter_map(io::Result::ok) {
        let Ok(place) = places.take(&tcp) else { continue }; // it is gone already
        let (proved, seals, folder) = (proved.clone(), seals.clone(), folder.clone());
        // A thread that cannot be started drops the connection and its place.
        let _ = std::thread::Builder::new().name("question".into()).spawn(move || {
            if let Err(error) = converse(&tcp, place, &proved, (&seals, &folder)) {
                report(&serde_json::json!({ "event": "turned_away", "why": format!("{error:#}") }));
            }
        });
    }
}

/// Answers one question. A stranger has its place until it has proved who it is.
fn converse(tcp: &TcpStream, place: Place, proved: &AtomicUsize, (seals, folder): (&Seals, &Folder)) -> Result<()> {
    tcp.set_nodelay(true)?;
    let mut stream = seals.answering(tcp, Instant::now() + GREETING)?;
    drop(place);
    let _counted = Counted::new(proved)?;
    let question = serde_json::from_str(&line(&mut stream)?)?;
    let answer = answer(folder, &question).unwrap_or_else(|error| Answer::Failed { why: error.to_string() });
    tell(&mut stream, &answer)?;
    stream.conn.send_close_notify();
    Ok(stream.flush()?)
}

fn answer(folder: &Folder, question: &Question) -> io::Result<Answer> {
    Ok(match question {
        Question::Claim { own, generation } => {
            if own.is_empty() || !own.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                return Err(io::Error::other(format!("`{own}` is not a valid name of a side")));
            }
            match folder.claim(own, *generation)? {
                Claim::Won => Answer::Won,
                Claim::Lost { owner } => Answer::Lost { owner },
                Claim::Unavailable(error) => return Err(error),
            }
        }
        Question::Owner { generation } => Answer::Owner(folder.owner(*generation)?),
        Question::Generation => Answer::Generation(folder.generation()?),
    })
}

/// A witness as the sides see it.
#[derive(Clone)]
pub struct Witness {
    pub address: SocketAddr,
    pub seals: Seals,
}

impl Witness {
    fn ask(&self, question: &Question) -> io::Result<Answer> {
        let answered = || -> Result<Answer> {
            let tcp = TcpStream::connect_timeout(&self.address, CONNECTED)?;
            tcp.set_nodelay(true)?;
            let mut stream = self.seals.asking(&tcp, self.address.ip(), Instant::now() + ANSWERED)?;
            tell(&mut stream, question)?;
            Ok(serde_json::from_str(&line(&mut stream)?)?)
        };
        match answered() {
            Ok(Answer::Failed { why }) => Err(io::Error::other(why)),
            Ok(answer) => Ok(answer),
            Err(error) => Err(io::Error::other(format!("the witness at {}: {error:#}", self.address))),
        }
    }
}

impl Generations for Witness {
    fn claim(&self, own: &str, generation: u64) -> io::Result<Claim> {
        match self.ask(&Question::Claim { own: own.to_owned(), generation })? {
            Answer::Won => Ok(Claim::Won),
            Answer::Lost { owner } => Ok(Claim::Lost { owner }),
            other => Err(unexpected(&other)),
        }
    }

    fn owner(&self, generation: u64) -> io::Result<Option<String>> {
        match self.ask(&Question::Owner { generation })? {
            Answer::Owner(owner) => Ok(owner),
            other => Err(unexpected(&other)),
        }
    }

    fn generation(&self) -> io::Result<u64> {
        match self.ask(&Question::Generation)? {
            Answer::Generation(generation) => Ok(generation),
            other => Err(unexpected(&other)),
        }
    }
}

fn unexpected(answer: &Answer) -> io::Error {
    io::Error::other(format!("the witness answers {answer:?}"))
}

/// One of the conversations that are counted, until it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Result<Self> {
        let before = count.fetch_add(1, Ordering::AcqRel);
        let counted = Counted(count);
        ensure!(before < MOST_PROVED, "{MOST_PROVED} questions are being answered");
        Ok(counted)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn tell(stream: &mut impl Write, what: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec(what)?;
    text.push(b'\n');
    stream.write_all(&text)?;
    Ok(stream.flush()?)
}

fn line(stream: &mut impl Read) -> Result<String> {
    let mut text = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut text)?;
    ensure!(text.ends_with('\n'), "no whole line within {LONGEST} bytes");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::places;
    use crate::agent::sealed::papers;
    use crate::store::Store;

    /// A witness of a folder at a free port, and the seals of a side and of a stranger.
    fn witness(folder: &std::path::Path) -> (SocketAddr, Seals, Seals) {
        let [ours, others] = [(); 2].map(|()| papers::authority());
        let sealed = |authority, name| papers::sealed_by(authority, folder, name);
        let (own, side, stranger) = (sealed(&ours, "w"), sealed(&ours, "a"), sealed(&others, "s"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let generations = folder.join("generations");
        std::fs::create_dir(&generations).expect("a folder");
        std::thread::spawn(move || serve(&listener, &own, &Folder::at(&generations)));
        (address, side, stranger)
    }

    #[test]
    fn of_two_sides_that_ask_a_witness_one_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let (address, seals, _) = witness(folder.path());
        let [a, b] = ["a", "b"].map(|own| Store::at(Arc::new(Witness { address, seals: seals.clone() }), own));
        assert_eq!(a.generation().expect("an answer"), 0);
        assert!(matches!(a.claim(1), Claim::Won));
        assert!(matches!(a.claim(1), Claim::Won), "asked again it says the same");
        assert!(matches!(b.claim(1), Claim::Lost { owner } if owner == "a"));
        assert_eq!((a.is_own(1).expect("told"), b.is_own(1).expect("told")), (Some(true), Some(false)));
        assert_eq!((a.is_own(2).expect("told"), b.generation().expect("told")), (None, 1));
        let other = Store::at(Arc::new(Witness { address, seals }), "../elsewhere");
        assert!(matches!(other.claim(2), Claim::Unavailable(_)));
    }

    #[test]
    fn strangers_and_a_witness_that_is_gone_or_mute_give_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (address, seals, stranger) = witness(folder.path());
        let stranger = Store::at(Arc::new(Witness { address, seals: stranger }), "s");
        assert!(matches!(stranger.claim(1), Claim::Unavailable(_)));
        let mute = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let nobody = mute.local_addr().expect("an address");
        let asked = Store::at(Arc::new(Witness { address: nobody, seals: seals.clone() }), "a");
        let begun = std::time::Instant::now();
        assert!(matches!(asked.claim(1), Claim::Unavailable(_)));
        assert!(begun.elapsed() < 10 * (CONNECTED + ANSWERED));
        drop(mute);
        assert!(matches!(asked.claim(1), Claim::Unavailable(_)));
        let side = Store::at(Arc::new(Witness { address, seals }), "a");
        assert_eq!(side.generation().expect("told"), 0, "who was turned away has changed nothing");
    }

    #[test]
    fn a_witness_ends_with_its_lease_or_by_an_order_and_a_keeper_renews_it() {
        let (short, long) = (Some(Duration::from_millis(300)), Some(Duration::from_secs(3600)));
        let (sender, events) = channel();
        for event in [Event::Kept(1), Event::Order(Order::Stop)] {
            sender.send(event).expect("somebody receives it");
        }
        wait_for_end(&events, long);
        for event in [Event::Kept(1), Event::Kept(2), Event::Unkept(1)] {
            sender.send(event).expect("somebody receives it");
        }
        let left = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(900));
            let left = Instant::now();
            sender.send(Event::Unkept(2)).expect("somebody receives it");
            left
        });
        wait_for_end(&events, short);
        let ended = Instant::now();
        assert!(ended - left.join().expect("it ends") >= Duration::from_millis(300), "the second keeper was there");
    }

    #[test]
    fn strangers_in_all_places_keep_nobody_out() {
        let _alone = places::ALONE.lock();
        let folder = tempfile::tempdir().expect("a folder");
        let (address, seals, _) = witness(folder.path());
        let side = Store::at(Arc::new(Witness { address, seals }), "a");
        let record = [22, 3, 1, 64, 0, 1, 0, 63, 252]; // the beginning of a handshake, which never ends
        let mut held: Vec<TcpStream> = Vec::new();
        for generation in 1..=5 {
            held.retain_mut(|stream| stream.write_all(&[0]).is_ok());
            while held.len() < places::MOST + 16 {
                let mut slow = TcpStream::connect(address).expect("a line");
                let begin: &[u8] = if held.len().is_multiple_of(2) { &record } else { b"GET / HTTP/1.1\r\n" };
                let _ = slow.write_all(begin);
                held.push(slow);
            }
            assert!(matches!(side.claim(generation), Claim::Won), "{generation}");
        }
    }

    #[test]
    fn a_stranger_is_let_go_when_its_time_is_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let (address, ..) = witness(folder.path());
        let mut slow = TcpStream::connect(address).expect("a line");
        let begun = Instant::now();
        while slow.write_all(&[22]).is_ok() {
            assert!(begun.elapsed() < 10 * GREETING);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
