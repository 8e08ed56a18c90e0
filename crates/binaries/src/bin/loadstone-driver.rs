//! The load driver; everything is in the `loadstone-driver` crate.

fn main() -> std::process::ExitCode {
    loadstone_binaries::raise_file_limit();
    loadstone_driver::main()
}
