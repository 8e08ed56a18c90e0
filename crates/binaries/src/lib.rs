//! Holds the binaries; see `bin/`.
