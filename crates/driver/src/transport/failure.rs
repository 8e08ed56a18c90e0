//! Why an exchange did not work, by fault and in words.

use loadstone_record::Fault;

/// Why an exchange did not work.
#[derive(Clone, Debug)]
pub struct Failure {
    pub fault: Fault,
    pub detail: String,
    /// Whether it is certain that the server has not processed the request.
    pub is_unprocessed: bool,
}

impl Failure {
    /// A fault with what was seen of it, for people.
    pub fn new(fault: Fault, detail: impl Into<String>) -> Self {
        Failure { fault, detail: detail.into(), is_unprocessed: false }
    }

    /// The same of a file, by its path.
    pub fn of(self, path: &str) -> Self {
        Failure { detail: format!("{}: {path}", self.detail), ..self }
    }

    /// An operation that was given up after so many seconds.
    pub fn too_late(seconds: f64, was_connecting: bool) -> Self {
        match was_connecting {
            false => Failure::new(Fault::TimeOut, format!("no complete answer within {seconds} s")),
            true => Failure::new(Fault::Backlog, format!("the connection was not accepted within {seconds} s")),
        }
    }

    /// Names a system error, separating what the driver itself ran out of from what the server did.
    pub fn from_io(error: &std::io::Error) -> Self {
        use rustix::io::Errno;
        use std::io::ErrorKind;
        let fault = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::CONNREFUSED) => Fault::Refused,
            Some(Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED) => Fault::Reset,
            Some(Errno::TIMEDOUT) => Fault::TimeOut,
            Some(Errno::HOSTUNREACH | Errno::NETUNREACH) => Fault::Unreachable,
            Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => Fault::NoPorts,
            Some(Errno::MFILE | Errno::NFILE) => Fault::NoFiles,
            Some(_) => Fault::Driver,
            None => match error.kind() {
                ErrorKind::UnexpectedEof => Fault::ClosedEarly,
                ErrorKind::InvalidData => Fault::Tls,
                _ => Fault::Reset,
            },
        };
        Failure::new(fault, error.to_string())
    }
}
