//! The reference servers; everything is in the `loadstone-servers` crate.

fn main() -> std::process::ExitCode {
    loadstone_binaries::raise_file_limit();
    loadstone_servers::main()
}
