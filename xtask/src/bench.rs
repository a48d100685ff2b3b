//! `cargo xtask bench gateway`: what the gateway costs, compared with the least a relay can cost.
//!
//! A mock replies at once, a load generator requests as fast as it gets replies, and between them is
//! what is measured: nothing, a bare relay, the gateway without records, the gateway with them. All
//! of it is on the loopback address and built from this workspace. [`agents`] measures live agents,
//! [`peers`] what other gateways do with invalid histories, [`list`] `foxwedge list` over many sessions.

mod scenario;
mod relays;
mod table;
mod agents;
mod peers;
mod list;

use std::{
    env, fs,
    path::{self, PathBuf},
};

use self::{
    relays::{CpuCore, RelayProcesses, pinned},
    scenario::{LoadResult, LoadScenario},
};
use crate::{Outcome, acceptance::gateway_process::TOKEN, ci, options::TaskOptions};

/// How long the gateway takes from its start to its first reply, and what memory it has then.
const START: &str = "start";
/// What finding a session costs, without a network.
const SESSIONS: &str = "sessions";

/// Runs one of the benchmarks.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    match arguments {
        ["gateway", rest @ ..] => gateway(rest),
        ["agents", rest @ ..] => agents::run(rest),
        ["peers", rest @ ..] => peers::run(rest),
        ["list", rest @ ..] => list::run(rest),
        _ => Err("`bench gateway`, `bench agents`, `bench peers` and `bench list` are known; see `cargo bench -p foxwedge-testkit` for the rest"
            .to_owned()),
    }
}

/// A table for each scenario.
fn gateway(arguments: &[&str]) -> Outcome {
    let known = ["--scenario NAME", "--seconds S", "--rounds R", "--foxwedge BINARY"];
    let options = TaskOptions::read(arguments, &known)?;
    let scenarios = options.values("--scenario");
    let names = [START, SESSIONS].into_iter();
    let names: Vec<&str> = names.chain(LoadScenario::ALL.iter().map(|it| it.name)).collect();
    if let Some(name) = scenarios.iter().find(|name| !names.contains(name)) {
        return Err(format!("unknown scenario `{name}`; known: {}", names.join(", ")));
    }
    let wants = |name: &str| scenarios.is_empty() || scenarios.contains(&name);
    let seconds: f64 = options.number("--seconds")?.unwrap_or(1.5);
    if !(0.01..=600.0).contains(&seconds) {
        return Err(format!("`--seconds {seconds}` is not from 0.01 to 600"));
    }
    let rounds: u32 = options.number("--rounds")?.unwrap_or(3);
    eprintln!("load of this machine: {}", machine_load());
    if scenarios.is_empty() || scenarios.iter().any(|name| *name != SESSIONS) {
        let programs = BenchPrograms::build(&options)?;
        let processes = RelayProcesses::start(&programs)?;
        println!("{}", processes.description());
        if wants(START) {
            println!("{}", table::starts(&processes.measure_starts(&programs)?));
        }
        let mut failures = Vec::new();
        for scenario in LoadScenario::ALL.iter().filter(|scenario| wants(scenario.name)) {
            let results = measure(scenario, &programs, &processes, seconds, rounds)?;
            println!("{}", table::scenario(scenario, &results));
            failures.extend(results.iter().filter_map(|result| result.failure(scenario.name)));
        }
        println!("{}", table::after(&processes.after()));
        if !failures.is_empty() {
            return Err(failures.join("\n"));
        }
    }
    if wants(SESSIONS) {
        cargo(&[
            "bench",
            "--profile",
            "dist",
            "--package",
            "foxwedge-bench",
            "--bench",
            "matching",
        ])?;
    }
    Ok(())
}

/// The programs that take part.
struct BenchPrograms {
    foxwedge: PathBuf,
    mock: PathBuf,
    floor: PathBuf,
    load: PathBuf,
}

impl BenchPrograms {
    fn build(options: &TaskOptions) -> Result<BenchPrograms, String> {
        let foxwedge = released(options)?;
        cargo(&["build", "--profile", "dist", "--package", "foxwedge-bench", "--bins"])?;
        let program = |name: &str| built(name);
        let (mock, floor, load) = (program("mock")?, program("floor")?, program("load")?);
        Ok(BenchPrograms { foxwedge, mock, floor, load })
    }
}

/// The gateway as it is released, or the binary that was named. It is built alone: together with
/// other packages it would get features of its libraries that users do not get.
fn released(options: &TaskOptions) -> Result<PathBuf, String> {
    if let Some(named) = options.path("--foxwedge") {
        return path::absolute(named).map_err(|error| error.to_string());
    }
    cargo(&["build", "--profile", "dist", "--package", "foxwedge"])?;
    built("foxwedge")
}

fn built(name: &str) -> Result<PathBuf, String> {
    let here = env::current_exe().map_err(|error| error.to_string())?;
    let folder = here.parent().and_then(|debug| debug.parent()).map(|all| all.join("dist"));
    let folder = folder.ok_or("the target folder of cargo cannot be found")?;
    Ok(folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
}

/// One scenario: everything that takes part, in turns.
fn measure(
    scenario: &LoadScenario,
    programs: &BenchPrograms,
    processes: &RelayProcesses,
    seconds: f64,
    rounds: u32,
) -> Result<Vec<LoadResult>, String> {
    let mut load = pinned(&programs.load, CpuCore::Sides);
    let request = scenario.request;
    load.args(["--request", request.name, "--format", request.format]);
    load.args(["--model", request.model, "--token", TOKEN]);
    load.args(["--connections", &scenario.connections.to_string()]);
    load.args(["--seconds", &seconds.to_string(), "--rounds", &rounds.to_string()]);
    let relays: Vec<_> = scenario.relays.iter().filter_map(|relay| processes.at(*relay)).collect();
    for (relay, address, process) in &relays {
        load.args(["--target", &format!("{}={address},{process}", relay.name())]);
    }
    let output = load.output().map_err(|error| format!("load cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("load: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().zip(&relays);
    lines.map(|(line, (relay, ..))| LoadResult::read(*relay, line)).collect()
}

fn cargo(arguments: &[&str]) -> Outcome {
    match ci::command().args(arguments).arg("--quiet").status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {}: {status}", arguments.join(" "))),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}

/// How many programs want a core, on average of a minute. Only Linux says so.
fn machine_load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().filter(|text| !text.is_empty()).unwrap_or("unknown").to_owned()
}
