//! The database role: a SQLite file that another machine's application asks over TCP. One JSON document a line, a
//! statement out and its rows back; one connection of the file for each of the application's. The network between
//! application and database is a private one: nothing is encrypted, and nobody is asked who they are.
//!
//! No wire protocol of a real database: the embedded pair needs one statement at a time, and who wants a real one takes
//! PostgreSQL.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::connection::{Access, Connection, SqlError};
use super::sqlite::Sqlite;
use super::value::{Row, Value};

/// Time a statement may take before its connection counts as lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the application asks.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Run { sql: String, values: Vec<Value> },
    Begin(Access),
    Commit,
    RollBack,
}

type Reply = Result<Vec<Row>, SqlError>;

/// The application's end.
pub struct Link {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Link {
    /// Connects to a database role; an error says what was not there.
    pub fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Link { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    fn ask(&mut self, word: &Word) -> Reply {
        say(&mut self.writer, word).map_err(|error| SqlError::Gone(error.to_string()))?;
        match hear::<Reply>(&mut self.reader) {
            Ok(Some(reply)) => reply,
            Ok(None) => Err(SqlError::Gone("it hung up".into())),
            Err(error) => Err(SqlError::Gone(error.to_string())),
        }
    }
}

impl Connection for Link {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, SqlError> {
        self.ask(&Word::Run { sql: sql.to_owned(), values: values.to_vec() })
    }

    fn begin(&mut self, access: Access) -> Result<(), SqlError> {
        self.ask(&Word::Begin(access)).map(drop)
    }

    fn commit(&mut self) -> Result<(), SqlError> {
        self.ask(&Word::Commit).map(drop)
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        self.ask(&Word::RollBack).map(drop)
    }
}

/// Serves a file for ever: a thread for each connection.
pub fn serve(listener: &TcpListener, file: &Path) {
    for stream in listener.incoming().flatten() {
        let file: PathBuf = file.to_owned();
        let spawned = std::thread::Builder::new().name("link".into()).spawn(move || {
            if let Err(error) = converse(&stream, &file) {
                eprintln!("loadstone-server database: {error:#}");
            }
        });
        if let Err(error) = spawned {
            eprintln!("loadstone-server database: no thread for a connection: {error}");
        }
    }
}

/// A transaction that its asker leaves open ends with the connection, changing nothing.
fn converse(stream: &TcpStream, file: &Path) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut connection = Sqlite::open(file)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream.try_clone()?;
    while let Some(word) = hear::<Word>(&mut reader)? {
        let reply: Reply = match word {
            Word::Run { sql, values } => connection.run(&sql, &values),
            Word::Begin(access) => connection.begin(access).map(|()| Vec::new()),
            Word::Commit => connection.commit().map(|()| Vec::new()),
            Word::RollBack => connection.roll_back().map(|()| Vec::new()),
        };
        say(&mut writer, &reply)?;
    }
    Ok(())
}

fn say(writer: &mut TcpStream, what: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    Ok(writer.write_all(&line)?)
}

/// What the other side says; none when it has hung up.
fn hear<T: DeserializeOwned>(reader: &mut BufReader<TcpStream>) -> Result<Option<T>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}
