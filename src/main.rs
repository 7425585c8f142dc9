//! The command `sweetspot`: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    sweetspot::main(std::env::args_os())
}
