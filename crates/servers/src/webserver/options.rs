//! What a web server alone serves, and how: its command line.

use std::path::PathBuf;

/// What it serves, and how.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Folder of the files to serve
    #[arg(long)]
    pub folder: PathBuf,
    /// Files kept in memory, 0 for none
    #[arg(long, default_value_t = 1024)]
    pub cache_entries: u64,
    /// Bytes of memory for files
    #[arg(long, default_value_t = 10 << 20)]
    pub cache_bytes: u64,
    /// Bytes of the largest file that is kept
    #[arg(long, default_value_t = 512 << 10)]
    pub cache_file_bytes: u64,
    /// Seconds after which a cached file is checked again
    #[arg(long, default_value_t = 30)]
    pub cache_age: u64,
    /// Program that prints the environment, started for each request (RFC 3875). Default: this process
    #[arg(long)]
    pub program: Option<PathBuf>,
    /// Processes that start programs, there from the start
    #[arg(long, default_value_t = 0)]
    pub least_stubs: usize,
    /// The same, at most
    #[arg(long, default_value_t = 16)]
    pub most_stubs: usize,
    /// Seconds after which an idle process ends
    #[arg(long, default_value_t = 30)]
    pub stub_idle: u64,
    /// Socket of PHP's process manager
    #[arg(long)]
    pub php: Option<PathBuf>,
    /// Connections to it that are kept
    #[arg(long, default_value_t = 0)]
    pub php_kept: usize,
}
