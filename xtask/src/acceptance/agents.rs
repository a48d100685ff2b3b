//! `cargo xtask agents`: real agents resume what foxwedge repaired.
//!
//! A vendor's command line runs against a scripted model on loopback, is killed in the middle of a
//! turn, and its session file is damaged in several ways. Every damaged session is resumed twice:
//! as it is, and after `foxwedge fix`. What the model is then shown says what the agent still knows,
//! and whether `foxwedge list` was right about the file. Agents reach everything through our own
//! endpoint, which lets nothing out.

mod cli;
mod folder;
mod history;
mod script;
mod replies;
mod http;
mod model;
mod damage;
mod row_damage;
mod store;
mod view;
mod foxwedge;
mod session;
mod judge;
mod table;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::{SuiteError, binary, process::TemporaryFolder};
use crate::options::TaskOptions;
use cli::{AgentCli, AgentVendor};
use folder::AgentFolder;
use foxwedge::FoxwedgeBinary;
use table::DamageTrial;

pub(super) const OPTIONS: &[&str] = &[
    "--claude-code CLI…",
    "--codex CLI…",
    "--gemini-cli CLI…",
    "--pi CLI…",
    "--copilot-cli CLI…",
    "--kimi-code CLI…",
    "--qwen-code CLI…",
    "--opencode CLI…",
    "--keep FOLDER",
    "--foxwedge BINARY",
];

/// Tests every agent that was named.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let agents = named(options, |name| env::var_os(name).map(|value| paths(&value)));
    for vendor in AgentVendor::ALL {
        if !agents.iter().any(|(named, _)| *named == vendor) {
            let (option, variable) = (vendor.option(), vendor.variable());
            eprintln!("{}: skipped, since neither {option} nor {variable} names it", vendor.name());
        }
    }
    if agents.is_empty() {
        return Err("no agent was named, so nothing was tried".to_owned().into());
    }
    let foxwedge = FoxwedgeBinary { path: binary(options)? };
    let mut scratch = TemporaryFolder::new("agents", &[])?;
    if let Some(keep) = options.path("--keep") {
        let made = fs::create_dir_all(&keep).and_then(|()| keep.canonicalize());
        let path = made.map_err(|error| format!("{}: {error}", keep.display()))?;
        scratch = TemporaryFolder { path, is_kept: true };
    }
    let mut wrong = 0;
    for (vendor, path) in agents {
        let failed = test_agent(vendor, &path, &foxwedge, &scratch.path);
        scratch.is_kept |= failed.as_ref().map_or(true, |failed| *failed > 0);
        wrong += failed?;
    }
    if wrong > 0 {
        let folder = scratch.path.display();
        return Err(format!("{wrong} expectations were not met; look at {folder}").into());
    }
    Ok(())
}

/// Everything that is tested with one agent; how many expectations were not met.
fn test_agent(
    vendor: AgentVendor,
    path: &Path,
    foxwedge: &FoxwedgeBinary,
    scratch: &Path,
) -> Result<usize, String> {
    let cli = AgentCli::new(vendor, path, scratch)?;
    eprintln!("{} {}: a session is made, and killed", vendor.name(), cli.version);
    let name = format!("{}-{}", vendor.option().trim_start_matches('-'), cli.version);
    let folder = AgentFolder::new(scratch.join(name))?;
    let session = session::make_and_kill(&cli, folder, foxwedge)?;
    let mut trials = Vec::new();
    for damaged in damage::all(&session.text) {
        eprintln!("{} {}: {}", vendor.name(), cli.version, damaged.name);
        let (health, alone) = session.left_alone(&damaged, foxwedge)?;
        let repaired = session.repaired(&damaged, foxwedge)?;
        trials.push(DamageTrial { damaged, health, alone, repaired });
    }
    print!("{}", table::text(&cli, &session, &trials));
    let outside = session.outside();
    if !outside.is_empty() {
        eprintln!("wanted to leave the machine, and could not: {}", outside.join(", "));
    }
    for failure in &session.failures {
        eprintln!("{failure}");
    }
    let failures = |trial: &DamageTrial| trial.alone.failures.len() + trial.repaired.failures.len();
    Ok(session.failures.len() + trials.iter().map(failures).sum::<usize>())
}

/// The agents that options name; variables name those that no option does.
fn named(
    options: &TaskOptions,
    variable: impl Fn(&str) -> Option<Vec<PathBuf>>,
) -> Vec<(AgentVendor, PathBuf)> {
    let mut agents = Vec::new();
    for vendor in AgentVendor::ALL {
        let mut paths: Vec<PathBuf> =
            options.values(vendor.option()).into_iter().map(PathBuf::from).collect();
        if paths.is_empty() {
            paths = variable(vendor.variable()).unwrap_or_default();
        }
        agents.extend(paths.into_iter().map(|path| (vendor, path)));
    }
    agents
}

/// The paths in a variable.
fn paths(value: &std::ffi::OsStr) -> Vec<PathBuf> {
    env::split_paths(value).filter(|path| !path.as_os_str().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_by_options_or_by_variables() {
        let variable = |name: &str| (name == "FOXWEDGE_CODEX").then(|| vec![PathBuf::from("c")]);
        let arguments = ["--claude-code", "a", "b", "--keep", "k"];
        let options = TaskOptions::read(&arguments, OPTIONS).expect("all of it is known");
        let expected = [
            (AgentVendor::ClaudeCode, "a".into()),
            (AgentVendor::ClaudeCode, "b".into()),
            (AgentVendor::Codex, "c".into()),
        ];
        assert_eq!(named(&options, variable), expected);
    }
}
