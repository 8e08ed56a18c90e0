//! The machinery of fault-tolerant pairs; everything is in the `loadstone-pair` crate.

fn main() -> std::process::ExitCode {
    loadstone_pair::main()
}
