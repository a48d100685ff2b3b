//! Everything a change must pass, in the order in which failures are cheapest to learn.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{
    Outcome, clients, console, gateway, live, mcp, postgres, sdks, tidy, transcript, uis, workspace,
};

/// Runs all of it; the first failure ends it.
pub(crate) fn run() -> Outcome {
    cargo("format", &["fmt", "--all", "--check"], &[])?;
    cargo(
        "lints",
        &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"],
        &[],
    )?;
    postgres::with_server(|variables| {
        if has_nextest() {
            let mut arguments = vec!["nextest", "run", "--workspace"];
            // A server that tests a change tries a failed test once more and reports it as flaky.
            if env::var_os("CI").is_some() {
                arguments.extend(["--retries", "1", "--final-status-level", "flaky"]);
            }
            cargo("tests", &arguments, variables)
        } else {
            cargo("tests", &["test", "--workspace", "--lib", "--bins", "--tests"], variables)
        }
    })?;
    eprintln!("\n── sdks");
    sdks::run(&[])?;
    eprintln!("\n── clients");
    clients::run(&[])?;
    eprintln!("\n── console");
    console::run(&[])?;
    eprintln!("\n── uis");
    uis::run(&[])?;
    eprintln!("\n── gateway");
    gateway::run(&[])?;
    eprintln!("\n── live");
    live::run(&[])?;
    eprintln!("\n── mcp");
    mcp::run(&[])?;
    cargo("examples in documentation", &["test", "--workspace", "--doc", "--quiet"], &[])?;
    cargo(
        "documentation",
        &["doc", "--workspace", "--no-deps", "--quiet"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    eprintln!("\n── transcript");
    transcript::check()?;
    eprintln!("\n── tidy");
    tidy::run()?;
    eprintln!("\nall is well");
    Ok(())
}

/// Runs cargo in the workspace; its output is the user's to see.
fn cargo(step: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    eprintln!("\n── {step}: cargo {}", arguments.join(" "));
    let status = command()
        .args(arguments)
        .envs(variables.iter().copied())
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{step}: {status}")) }
}

fn has_nextest() -> bool {
    let mut command = command();
    command.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The binary of this workspace, built.
pub(crate) fn binary() -> Result<PathBuf, String> {
    let built = command().args(["build", "--quiet", "--package", "foxwedge"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the binary cannot be built".to_owned());
    }
    let here = env::current_exe().map_err(|error| error.to_string())?;
    Ok(here.with_file_name(format!("foxwedge{}", env::consts::EXE_SUFFIX)))
}

/// The cargo that runs us.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}
