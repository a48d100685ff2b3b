//! `cargo xtask bench agents`: what a live agent behind the gateway costs, compared with the same
//! agent on its bare pipe.
//!
//! The agent is the one of this workspace, with the built-in model inside; with `--real` also Claude
//! Code, with the built-in model as its provider. What is compared takes turns, so that a difference
//! and a ratio come from the same moments. No time is an error, but a conversation that does not go
//! as it should is one. Processes and files that are left over are reported.

mod agent_gateway;
mod bare_agent;
mod chat;
mod client;
mod memory;
mod rounds;
mod starts;
mod table;

use agent_gateway::TestAgent;
use rounds::RoundCounts;

use super::{built, cargo, machine_load, released};
use crate::{Outcome, acceptance::install::claude_code, options::TaskOptions};

/// The package of the imitated agent.
const SCRIPTED_AGENT: &str = "foxwedge-scripted-agent";

/// Measures, and prints tables.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let known = [
        "--real",
        "--claude-code CLI",
        "--sessions N",
        "--conversations N",
        "--rounds N",
        "--starts N",
        "--foxwedge BINARY",
    ];
    let options = TaskOptions::read(arguments, &known)?;
    let number = |name: &str, usual: u32| match options.number(name)?.unwrap_or(usual) {
        number @ 1..=2_000 => Ok(number),
        number => Err(format!("`{name} {number}` is not a number from 1 to 2000")),
    };
    let (conversations, rounds) = (number("--conversations", 10)?, number("--rounds", 20)?);
    let (starts, sessions) = (number("--starts", 30)?, number("--sessions", 200)?);
    if !cfg!(target_os = "linux") {
        return Err("processes can be looked at on Linux only".to_owned());
    }
    let binary = released(&options)?;
    println!("load of this machine: {}\n", machine_load());
    cargo(&["build", "--profile", "dist", "--package", SCRIPTED_AGENT])?;
    let ours = TestAgent::ours(&binary, &built(SCRIPTED_AGENT)?)?;
    measure(&ours, conversations, rounds, starts)?;
    println!("{}", table::memory(&memory::measure(&ours, sessions)?));
    drop(ours);
    if !options.has("--real") {
        println!("Claude Code: skipped, `--real` includes it");
        return Ok(());
    }
    match options.path("--claude-code").map_or_else(claude_code, Ok) {
        Ok(cli) => {
            let real = TestAgent::claude_code(&binary, &cli)?;
            measure(&real, conversations.min(2), rounds, starts.min(7))
        }
        Err(missing) => {
            println!("Claude Code: skipped, {}", missing.0);
            Ok(())
        }
    }
}

/// Round trips and starts with one kind of agent.
fn measure(agent: &TestAgent, conversations: u32, rounds: u32, starts: u32) -> Outcome {
    for calls in [1, 3] {
        let counts = RoundCounts { conversations, rounds, calls };
        println!("{}", table::rounds(agent, counts, &rounds::measure(agent, counts)?));
    }
    println!("{}", table::starts(agent, &starts::measure(agent, starts)?));
    Ok(())
}
