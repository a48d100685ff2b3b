//! Acceptance suites: software that is not ours reads, drives or serves what foxwedge makes.
//!
//! A suite installs pinned packages ([`install`]), starts processes ([`process`], [`gateway_process`]),
//! gives its jobs to the scripts in `acceptance/` and reads their results ([`script`]), and prints a
//! verdict ([`verdict`]). Its own files hold only its jobs and what must come of them.

pub(crate) mod install;
pub(crate) mod process;
pub(crate) mod gateway_process;
mod script;
mod verdict;
mod sdks;
mod clients;
mod console;
mod uis;
mod lists;
mod gateway;
mod live;
mod mcp;
mod packages;
mod agents;
mod drift;

use std::{env, path::PathBuf};

pub(crate) use console::outdated as outdated_page;

use crate::{Outcome, ci, options::TaskOptions};
use install::MissingSoftware;

/// Set to `required`, software that is missing on this machine is an error.
const VARIABLE: &str = "FOXWEDGE_SDKS";

/// One suite: `cargo xtask NAME`.
pub(crate) struct AcceptanceSuite {
    pub(crate) name: &'static str,
    options: &'static [&'static str],
    run: fn(&TaskOptions) -> Result<(), SuiteError>,
    /// Whether `./test --all` runs it.
    pub(crate) in_ci: bool,
}

/// All suites, in the order in which `./test --all` runs them.
pub(crate) const SUITES: [AcceptanceSuite; 11] = [
    suite("sdks", &["--foxwedge BINARY"], sdks::run),
    suite("clients", &["--logs N", "--seed S"], clients::run),
    suite("console", &["--write"], console::run),
    suite("uis", &["--foxwedge BINARY", "--random N"], uis::run),
    suite("lists", &["--foxwedge BINARY", "--random N"], lists::run),
    suite("gateway", &["--foxwedge BINARY"], gateway::run),
    suite("live", &["--foxwedge BINARY", "--claude-code CLI", "--story PART"], live::run),
    suite("mcp", &[], mcp::run),
    suite("packages", &["--only PACKAGE"], packages::run),
    // It needs command lines that are not installed here, and minutes.
    AcceptanceSuite { in_ci: false, ..suite("agents", agents::OPTIONS, agents::run) },
    // It looks for what is new, which is no mistake of a change.
    AcceptanceSuite { in_ci: false, ..suite("drift", drift::OPTIONS, drift::run) },
];

const fn suite(
    name: &'static str,
    options: &'static [&'static str],
    run: fn(&TaskOptions) -> Result<(), SuiteError>,
) -> AcceptanceSuite {
    AcceptanceSuite { name, options, run, in_ci: true }
}

impl AcceptanceSuite {
    /// The suite of this name.
    pub(crate) fn find(name: &str) -> Option<&'static AcceptanceSuite> {
        const ALL: &[AcceptanceSuite] = &SUITES;
        ALL.iter().find(|suite| suite.name == name)
    }

    /// Runs it. Missing software is reported, and fails the suite only where it is required.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        match (self.run)(&TaskOptions::read(arguments, self.options)?) {
            Ok(()) => Ok(()),
            Err(SuiteError::Failed(error)) => Err(error),
            Err(SuiteError::Missing(missing)) => skip(missing),
        }
    }
}

/// Why a suite did not pass.
pub(crate) enum SuiteError {
    Failed(String),
    /// It needs something that this machine does not have.
    Missing(MissingSoftware),
}

impl From<String> for SuiteError {
    fn from(error: String) -> SuiteError {
        SuiteError::Failed(error)
    }
}

impl From<MissingSoftware> for SuiteError {
    fn from(missing: MissingSoftware) -> SuiteError {
        SuiteError::Missing(missing)
    }
}

/// Reports what is missing; an error where it is required.
fn skip(MissingSoftware(missing): MissingSoftware) -> Outcome {
    if env::var_os(VARIABLE).is_some_and(|value| value == "required") {
        return Err(missing);
    }
    println!("skipped: {missing}");
    Ok(())
}

/// The binary under test: the one that was named, or the one of this workspace.
fn binary(options: &TaskOptions) -> Result<PathBuf, String> {
    options.path("--foxwedge").map_or_else(ci::binary, Ok)
}
