//! `cargo xtask clients`: the TypeScript package is checked, built and tested, and its reducer is
//! compared with ours.
//!
//! Both reducers replay the same random logs: shuffled, repeated, cut off, late, as several agents
//! write them. After every step they must have the same effects, and in the end the same state. The
//! first difference is printed with its seed.

mod compare;
mod effects;
mod replay;

use std::{fs, path::Path, process::Command};

use foxwedge_testkit::runs::{self, Log};
use serde_json::Value;

use super::{
    SuiteError,
    console::run_node_tests,
    install::{Language, PackageFolder, copy_files},
    process::run_to_end,
    script::{ScriptJob, run_jobs},
};
use crate::{options::TaskOptions, workspace};

/// The package.
const SOURCES: &str = "clients/typescript";

/// How many logs are compared by default.
const LOGS: u64 = 1_000;

/// Builds, tests and compares; fails at the first difference.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let seed: Option<u64> = options.number("--seed")?;
    let count = options.number("--logs")?.unwrap_or(if seed.is_some() { 1 } else { LOGS });
    let first = seed.unwrap_or(1);
    let packages = PackageFolder::install(Language::TypeScript, SOURCES, "clients")?;
    let built = workspace::root().join("target/clients/built");
    // What an older build left must not be tested for what this one makes.
    let _ = fs::remove_dir_all(&built);
    let (sources, modules) = (packages.path.join("package"), packages.path.join("node_modules"));
    // The compiler looks for packages beside the sources.
    let _ = fs::remove_dir_all(&sources);
    let wanted =
        |path: &Path| !["node_modules", "build", "dist"].iter().any(|it| path.ends_with(it));
    copy_files(&workspace::root().join(SOURCES), &sources, &wanted)
        .map_err(|error| format!("{}: {error}", sources.display()))?;
    // First as users get it, then with the tests.
    let projects = [
        ("tsconfig.json", "dist"),
        ("tsconfig.components.json", "dist"),
        ("tsconfig.test.json", "build"),
    ];
    for (project, folder) in projects {
        let mut compiler = Command::new("node");
        compiler.arg(modules.join("typescript/bin/tsc")).arg("--project");
        compiler.arg(sources.join(project)).arg("--outDir").arg(built.join(folder));
        run_to_end(project, compiler.arg("--typeRoots").arg(modules.join("@types")))?;
    }
    // Beside what was built, since it says that these are modules.
    fs::copy(sources.join("package.json"), built.join("package.json"))
        .map_err(|error| format!("package.json: {error}"))?;
    let tests = built.join("build").join("test");
    let mut node = Command::new("node");
    node.env("FOXWEDGE_FIXTURES", workspace::root().join("fixtures").join("run"));
    println!("typescript: {}", run_node_tests(&tests, ".test.js", &mut node)?);
    let logs: Vec<Log> = (first..first.saturating_add(count)).map(runs::log).collect();
    let mut node = Command::new("node");
    node.arg(tests.join("replay.js"));
    let theirs = run_jobs("replay", node, &logs)?;
    let mut steps = 0;
    for (log, theirs) in logs.iter().zip(&theirs) {
        steps += log.steps.len();
        if let Some(difference) = compare::replays(&replay::ours(log), theirs) {
            return Err(format!("the two reducers differ\n{}", difference.text(log)).into());
        }
    }
    println!("typescript: both reducers agree on {} logs with {steps} steps", logs.len());
    Ok(())
}

impl ScriptJob for Log {
    fn line(&self) -> Value {
        replay::line(self)
    }

    fn label(&self) -> String {
        format!("seed {}", self.seed)
    }
}
