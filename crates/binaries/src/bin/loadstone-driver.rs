//! The load driver; everything is in the `loadstone-driver` crate.

fn main() -> std::process::ExitCode {
    loadstone_driver::main()
}
