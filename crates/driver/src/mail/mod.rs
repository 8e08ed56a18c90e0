//! Mail users: what they share, the commands they know, and in `user` what each does with its mailboxes.

pub mod client;
mod incoming;
mod link;
mod mailbox;
mod message;
pub mod populate;
mod smtp;
mod user;
mod workload;

pub use workload::MailWorkload;
