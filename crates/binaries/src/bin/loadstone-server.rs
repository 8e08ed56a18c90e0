//! The reference servers; everything is in the `loadstone-servers` crate.

fn main() -> std::process::ExitCode {
    loadstone_servers::main()
}
