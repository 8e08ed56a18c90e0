//! What a user's client remembers of its server between connections. It takes no memory before there is something to
//! remember: the library's own store takes 1.9 KiB, which thousands of users would have at once.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::NamedGroup;

/// Most tickets of TLS 1.3 that are held for one server, as in the library's store.
const MOST_TICKETS: usize = 8;

/// The memory of one user, who uses one server.
#[derive(Debug, Default)]
pub struct SessionMemory(Mutex<Option<Box<Remembered>>>);

/// What is known of the server that was used last.
#[derive(Debug)]
struct Remembered {
    server: ServerName<'static>,
    group: Option<NamedGroup>,
    session: Option<Tls12ClientSessionValue>,
    /// The oldest first.
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl SessionMemory {
    fn lock(&self) -> MutexGuard<'_, Option<Box<Remembered>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known of a server; what is known of another one is forgotten.
    fn change(&self, server: ServerName<'static>, change: impl FnOnce(&mut Remembered)) {
        let mut known = self.lock();
        if known.as_ref().is_some_and(|known| known.server != server) {
            *known = None;
        }
        let new = || Box::new(Remembered { server, group: None, session: None, tickets: VecDeque::new() });
        change(known.get_or_insert_with(new));
    }

    /// Looks up or takes something of a server that is known.
    fn find<T>(&self, server: &ServerName<'_>, find: impl FnOnce(&mut Remembered) -> Option<T>) -> Option<T> {
        self.lock().as_deref_mut().filter(|known| known.server == *server).and_then(find)
    }
}

impl ClientSessionStore for SessionMemory {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.change(server, |known| known.group = Some(group));
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.find(server, |known| known.group)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.change(server, |known| known.session = Some(session));
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.find(server, |known| known.session.clone())
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.find(server, |known| known.session.take());
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.change(server, |known| {
            if known.tickets.len() == MOST_TICKETS {
                known.tickets.pop_front();
            }
            known.tickets.push_back(ticket);
        });
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.find(server, |known| known.tickets.pop_back())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_server_is_forgotten_with_the_next_server() {
        let name = |text: &'static str| ServerName::try_from(text).expect("a name");
        let memory = SessionMemory::default();
        assert_eq!(memory.kx_hint(&name("bank.example")), None);
        memory.set_kx_hint(name("bank.example"), NamedGroup::X25519);
        memory.set_kx_hint(name("bank.example"), NamedGroup::secp256r1);
        assert_eq!(memory.kx_hint(&name("bank.example")), Some(NamedGroup::secp256r1));
        assert_eq!(memory.kx_hint(&name("shop.example")), None);
        memory.set_kx_hint(name("shop.example"), NamedGroup::X25519);
        assert_eq!(memory.kx_hint(&name("bank.example")), None);
        assert!(memory.tls12_session(&name("shop.example")).is_none());
        assert!(memory.take_tls13_ticket(&name("shop.example")).is_none());
    }
}
