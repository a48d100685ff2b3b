//! `cargo xtask packages`: builds the packages for other languages, and installs and tries them as
//! their users do.

mod npm;

use std::{path::Path, process::Command};

use super::{SuiteError, install::MissingSoftware};
use crate::options::TaskOptions;

/// Where packages are tried, below the workspace.
const FOLDER: &str = "target/packages";
/// What the engine says to many documents, one JSON object for each line. A package that finds the
/// table compares itself with it.
const CASES: &str = "target/packages/cases.jsonl";

pub(super) fn run(_: &TaskOptions) -> Result<(), SuiteError> {
    npm::run()
}

/// Runs a program in a folder; what it printed.
fn run_program(program: &str, arguments: &[&str], folder: &Path) -> Result<String, SuiteError> {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.map_err(|error| MissingSoftware(format!("{program}: {error}")))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let command = arguments.join(" ");
    Err(format!("{program} {command}: {}\n{printed}{complaint}", output.status).into())
}
