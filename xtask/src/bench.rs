//! What the gateway costs, beside the least that a relay can cost: `cargo xtask bench gateway`.
//!
//! A mock answers at once, a load asks as fast as it is answered, and between them stands what is
//! measured: nothing, a bare relay, the gateway without records, the gateway with them. All of it
//! is on the loopback address and built from this workspace. What live agents cost is measured by
//! [`agents`].

mod asked;
mod scenario;
mod stage;
mod process;
mod probe;
mod seen;
mod table;
mod agents;

use std::{env, fs, path::PathBuf, process::Command};

use self::{asked::Asked, scenario::Scenario, seen::Seen, stage::Stage};
use crate::{Outcome, ci};

/// Runs what was asked for.
pub(crate) fn run(words: &[&str]) -> Outcome {
    match words {
        ["gateway", ..] => gateway(words),
        ["agents", rest @ ..] => agents::run(rest),
        _ => Err("`bench gateway` and `bench agents` are known; see `cargo bench -p foxwedge-testkit` for the rest"
            .to_owned()),
    }
}

/// A table for each scenario.
fn gateway(words: &[&str]) -> Outcome {
    let asked = Asked::read(words)?;
    let programs = Programs::build(&asked)?;
    eprintln!("load of this machine: {}", busy());
    if asked.wants_stage() {
        on_stage(&asked, &programs)?;
    }
    if asked.wants(asked::SESSIONS) {
        sessions()?;
    }
    Ok(())
}

/// The programs that take part.
struct Programs {
    foxwedge: PathBuf,
    mock: PathBuf,
    floor: PathBuf,
    load: PathBuf,
}

impl Programs {
    /// Builds them as they are released. The gateway is built alone: together with the others it
    /// would get features of its libraries that it does not have when it is built for users.
    fn build(asked: &Asked) -> Result<Programs, String> {
        let here = env::current_exe().map_err(|error| error.to_string())?;
        let built = here.parent().and_then(|debug| debug.parent()).map(|all| all.join("dist"));
        let built = built.ok_or("nobody knows where cargo builds")?;
        cargo(&["build", "--profile", "dist", "--package", "foxwedge-bench", "--bins"])?;
        if asked.foxwedge.is_none() && asked.wants_stage() {
            cargo(&["build", "--profile", "dist", "--package", "foxwedge"])?;
        }
        let program = |name: &str| built.join(format!("{name}{}", env::consts::EXE_SUFFIX));
        Ok(Programs {
            foxwedge: asked.foxwedge.clone().unwrap_or_else(|| program("foxwedge")),
            mock: program("mock"),
            floor: program("floor"),
            load: program("load"),
        })
    }
}

fn on_stage(asked: &Asked, programs: &Programs) -> Outcome {
    let stage = Stage::set(programs)?;
    println!("{}", stage.told());
    if asked.wants(asked::START) {
        println!("{}", table::starts(&stage.starts(programs)?));
    }
    let mut troubles = Vec::new();
    for scenario in Scenario::ALL.iter().filter(|scenario| asked.wants(scenario.name)) {
        let seen = measure(asked, programs, &stage, scenario)?;
        println!("{}", table::told(scenario, &seen));
        let wrong = seen.iter().filter(|seen| seen.errors > 0.0);
        troubles.extend(wrong.map(|seen| {
            let why = seen.error.as_deref().unwrap_or("");
            format!("{}, {}: {} errors, {why}", scenario.name, seen.relay.name(), seen.errors)
        }));
    }
    println!("{}", table::rest(&stage.rest()));
    if troubles.is_empty() { Ok(()) } else { Err(troubles.join("\n")) }
}

/// One scenario: everything that takes part, in turns.
fn measure(
    asked: &Asked,
    programs: &Programs,
    stage: &Stage,
    scenario: &Scenario,
) -> Result<Vec<Seen>, String> {
    let mut load = process::pinned(&programs.load, process::Core::Sides);
    load.args(["--ask", scenario.ask, "--format", scenario.format, "--model", scenario.model]);
    load.args(["--connections", &scenario.connections.to_string()]);
    load.args(["--seconds", &asked.seconds.to_string(), "--rounds", &asked.rounds.to_string()]);
    load.args(["--token", stage::TOKEN]);
    let relays: Vec<_> = scenario.relays.iter().filter_map(|relay| stage.at(*relay)).collect();
    for (relay, address, process) in &relays {
        load.args(["--target", &format!("{}={address},{process}", relay.name())]);
    }
    let output = load.output().map_err(|error| format!("load cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("load: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let seen = text.lines().zip(&relays).map(|(line, (relay, ..))| Seen::read(*relay, line));
    seen.collect()
}

/// How a session is found again, without a network.
fn sessions() -> Outcome {
    cargo(&["bench", "--profile", "dist", "--package", "foxwedge-bench", "--bench", "matching"])
}

fn cargo(words: &[&str]) -> Outcome {
    let mut command: Command = ci::command();
    let status = command.args(words).arg("--quiet").status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {}: {status}", words.join(" "))),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}

/// How many programs want a core, on average of a minute. Only Linux tells.
fn busy() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().filter(|text| !text.is_empty()).unwrap_or("unknown").to_owned()
}
