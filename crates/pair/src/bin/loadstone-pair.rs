//! The machinery of fault-tolerant pairs; everything is in the library.

fn main() -> std::process::ExitCode {
    loadstone_pair::main()
}
