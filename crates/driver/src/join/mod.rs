//! Several drivers play one plan: one leads, the others join it over TCP, start at the same instant and send it their
//! events, which it merges with its own.
//!
//! Only who knows the run's token is let in (`secure`). The leader sends the plan with the joiner's share of it, compares
//! clocks by four time stamps a few times (the shortest round trip tells the difference best), and says at what instant of
//! the joiner's clock to start. Either end notices within seconds when the other is gone (`line`).

mod door;
mod follower;
mod joiner;
mod leader;
mod line;
mod member;
mod members;
#[cfg(test)]
mod merging;
mod network;
mod secure;
mod setting;
#[cfg(test)]
mod tests;

pub use joiner::Joiner;
pub use leader::{Leader, Share, StartWord};
pub use members::Members;
pub use secure::Token;
pub use setting::Setting;
