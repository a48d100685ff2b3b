//! What a change must pass: `./test` is the developer's loop, `./test --all` what a server runs.
//!
//! Steps are in the order in which failures are cheapest to find. The first failure ends the run.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{Outcome, acceptance::SUITES, manual, picture, postgres, tidy, transcript, workspace};

/// Which steps run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestScope {
    /// Format, lints, tests, documentation, tidy. No server, no browser, no foreign software.
    Developer,
    /// The same with PostgreSQL, and the acceptance suites.
    All,
}

/// Runs the steps and prints how long each of them took.
pub(crate) fn run(scope: TestScope) -> Outcome {
    let mut steps = StepTimes::default();
    let outcome = run_steps(scope, &mut steps);
    steps.print();
    outcome.inspect(|()| eprintln!("\nall is well"))
}

fn run_steps(scope: TestScope, steps: &mut StepTimes) -> Outcome {
    steps.run("format", || cargo(&["fmt", "--all", "--check"], &[]))?;
    steps.run("lints", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"], &[])
    })?;
    steps.run("tests", || match scope {
        TestScope::Developer => tests(&[(postgres::VARIABLE, postgres::OFF)]),
        TestScope::All => postgres::with_server(tests),
    })?;
    steps.run("examples in documentation", || {
        cargo(&["test", "--workspace", "--doc", "--quiet"], &[])
    })?;
    steps.run("examples of crates", run_examples)?;
    steps.run("documentation", || {
        let strict = [("RUSTDOCFLAGS", "-D warnings")];
        cargo(&["doc", "--workspace", "--no-deps", "--quiet"], &strict)
    })?;
    steps.run("transcript", || transcript::check().and_then(|()| picture::check()))?;
    steps.run("manual", manual::build)?;
    steps.run("tidy", tidy::run)?;
    if scope == TestScope::Developer {
        return Ok(());
    }
    for suite in SUITES.iter().filter(|suite| suite.in_ci) {
        steps.run(suite.name, || suite.run(&[]))?;
    }
    Ok(())
}

fn tests(variables: &[(&str, &str)]) -> Outcome {
    if !has_nextest() {
        return cargo(&["test", "--workspace", "--lib", "--bins", "--tests"], variables);
    }
    // Half of the time a test waits for a process, a disk or a clock.
    let threads = thread::available_parallelism().map_or(2, |cores| 2 * cores.get()).to_string();
    let mut arguments = vec!["nextest", "run", "--workspace", "--test-threads", &threads];
    // A server that tests a change tries a failed test once more and reports it as flaky.
    if env::var_os("CI").is_some() {
        arguments.extend(["--retries", "1", "--final-status-level", "flaky"]);
    }
    cargo(&arguments, variables)
}

/// Runs every example that needs no arguments: `crates/NAME/examples/EXAMPLE.rs`.
fn run_examples() -> Outcome {
    // Built together, with the dependencies as the tests have them.
    cargo(&["build", "--workspace", "--examples", "--quiet"], &[])?;
    let here = env::current_exe().map_err(|error| error.to_string())?;
    for file in workspace::files()? {
        let parts: Vec<&str> = file.path.split('/').collect();
        let ["crates", _, "examples", example] = parts.as_slice() else { continue };
        // Measures a file that is named.
        if *example == "call_time.rs" {
            continue;
        }
        let example = example.trim_end_matches(".rs");
        eprintln!("examples/{example}");
        let program = here.with_file_name("examples").join(example);
        let status = Command::new(program).current_dir(workspace::root()).status();
        let status = status.map_err(|error| format!("{example} cannot be started: {error}"))?;
        if !status.success() {
            return Err(format!("{example}: {status}"));
        }
    }
    Ok(())
}

/// How long each step took.
#[derive(Default)]
struct StepTimes(Vec<(&'static str, Duration)>);

impl StepTimes {
    fn run(&mut self, name: &'static str, step: impl FnOnce() -> Outcome) -> Outcome {
        eprintln!("\n── {name}");
        let start = Instant::now();
        let outcome = step();
        self.0.push((name, start.elapsed()));
        outcome.map_err(|error| format!("{name}: {error}"))
    }

    fn print(&self) {
        eprintln!("\n── times");
        for (name, time) in &self.0 {
            eprintln!("{:>7.1} s  {name}", time.as_secs_f64());
        }
        let total: Duration = self.0.iter().map(|(_, time)| *time).sum();
        eprintln!("{:>7.1} s  in all", total.as_secs_f64());
    }
}

/// Runs cargo in the workspace; its output is the user's to see.
fn cargo(arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    eprintln!("cargo {}", arguments.join(" "));
    let status = command()
        .args(arguments)
        .envs(variables.iter().copied())
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{status}")) }
}

fn has_nextest() -> bool {
    let mut command = command();
    command.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The binary of this workspace, built.
pub(crate) fn binary() -> Result<PathBuf, String> {
    program("foxwedge")
}

/// The program of a package of this workspace, built; it has the name of the package. As a part of
/// the workspace it has the libraries of the tests, which are compiled already.
pub(crate) fn program(package: &str) -> Result<PathBuf, String> {
    let built = command().args(["build", "--quiet", "--workspace", "--bin", package]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(format!("{package} cannot be built"));
    }
    let here = env::current_exe().map_err(|error| error.to_string())?;
    Ok(here.with_file_name(format!("{package}{}", env::consts::EXE_SUFFIX)))
}

/// Runs a task again in the release build of this program.
pub(crate) fn run_in_release(task: &str, arguments: &[&str], failure: &str) -> Outcome {
    let mut command = command();
    command.args(["run", "--quiet", "--release", "--package", "xtask", "--", task]).args(arguments);
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(failure.to_owned()) }
}

/// The cargo that runs us.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    hide_outer_cargo(&mut command);
    command
}

/// Takes away what the cargo that runs us says about our own package. Build scripts of
/// dependencies look at some of it, and would build half of the workspace again.
pub(crate) fn hide_outer_cargo(command: &mut Command) {
    const OURS: [&str; 5] =
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"];
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| OURS.iter().any(|ours| name.starts_with(ours))) {
        command.env_remove(name);
    }
}
