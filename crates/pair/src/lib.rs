//! A fault-tolerant pair: a machine that records every event that moves it, and a second one that replays them and goes
//! on in its place.
//!
//! `log` is the event log's format, `volume` counts its bytes by kind, `commit` decides when outputs leave, `machine` what a side does when something
//! happens: these are pure. `ring` is the memory that QEMU and its agent share, `store` decides who goes on alone,
//! `witness` does so for sides on hosts of their own, and `agent` is what runs beside QEMU.

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "agent")]
mod cli;
pub mod commit;
pub mod lag;
pub mod log;
pub mod machine;
pub mod ring;
pub mod store;
pub mod volume;
#[cfg(feature = "agent")]
mod witness;

#[cfg(feature = "agent")]
pub use cli::main;
