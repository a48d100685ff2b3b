//! What a live agent behind the gateway costs, beside the same agent on its bare pipe:
//! `cargo xtask bench agents`.
//!
//! The agent is the one of this workspace, with the built-in model inside; with `--real` also
//! Claude Code, with the built-in model as its provider. Whatever is compared takes turns, so that
//! a difference and a ratio come from the same moments. Nothing is judged by its time, but a
//! conversation that does not go as it should is an error. Processes and files that are left are
//! told.

mod asked;
mod bare;
mod chat;
mod client;
mod memory;
mod rounds;
mod stage;
mod starts;
mod table;

use std::{
    env,
    path::{self, PathBuf},
};

use asked::Asked;
use rounds::Round;
use stage::World;

use super::{busy, cargo};
use crate::Outcome;

/// Measures what was asked for, and prints tables.
pub(super) fn run(words: &[&str]) -> Outcome {
    let asked = Asked::read(words)?;
    if !cfg!(target_os = "linux") {
        return Err("processes can be looked at on Linux only".to_owned());
    }
    let binary = match &asked.foxwedge {
        Some(binary) => path::absolute(binary).map_err(|error| error.to_string())?,
        None => released("foxwedge")?,
    };
    println!("load of this machine: {}\n", busy());
    let fake = World::fake(&binary, &released("foxwedge-scripted-agent")?)?;
    measure(&fake, asked.conversations, asked.rounds, asked.starts)?;
    println!("{}", table::memory(&memory::measure(&fake, asked.sessions)?));
    drop(fake);
    if !asked.real {
        println!("Claude Code: skipped, nobody asked for it with `--real`");
        return Ok(());
    }
    match asked.cli.clone().map_or_else(crate::live::claude_code, Ok) {
        Ok(cli) => {
            let real = World::real(&binary, &cli)?;
            measure(&real, asked.conversations.min(2), asked.rounds, asked.starts.min(7))
        }
        Err(missing) => {
            println!("Claude Code: skipped, {missing}");
            Ok(())
        }
    }
}

/// Round trips and starts with one kind of agent.
fn measure(world: &World, conversations: u32, rounds: u32, starts: u32) -> Outcome {
    for calls in [1, 3] {
        let round = Round { conversations, rounds, calls };
        println!("{}", table::rounds(world, round, &rounds::measure(world, round)?));
    }
    println!("{}", table::starts(world, &starts::measure(world, starts)?));
    Ok(())
}

/// The program of a package, built as the gateway is released.
fn released(package: &str) -> Result<PathBuf, String> {
    let here = env::current_exe().map_err(|error| error.to_string())?;
    let built = here.parent().and_then(|debug| debug.parent()).map(|all| all.join("dist"));
    let built = built.ok_or("nobody knows where cargo builds")?;
    cargo(&["build", "--profile", "dist", "--package", package])?;
    Ok(built.join(format!("{package}{}", env::consts::EXE_SUFFIX)))
}
