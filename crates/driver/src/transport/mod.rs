//! How bytes reach the other side: one file a protocol.

pub mod http1;
pub mod stream;
pub mod tls;

use loadstone_record::Fault;

/// Why an exchange did not work.
#[derive(Clone, Debug)]
pub struct Failure {
    pub fault: Fault,
    pub detail: String,
}

impl Failure {
    pub fn new(fault: Fault, detail: impl Into<String>) -> Self {
        Failure { fault, detail: detail.into() }
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
