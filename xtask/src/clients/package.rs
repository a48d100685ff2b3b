//! The package on this machine: its compiler, kept under `target/clients` for as long as the pins
//! stay, and what was built with it. Nothing is written beside the sources.

use std::{
    ffi::OsStr,
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

use foxwedge_testkit::runs;
use serde_json::Value;

use super::replay;
use crate::{sdks::install, workspace};

/// The folder of the package.
const SOURCES: &str = "clients/typescript";

/// A package whose compiler is there.
pub(super) struct Package {
    sources: PathBuf,
    modules: PathBuf,
    built: PathBuf,
}

impl Package {
    /// Installs the compiler, unless it is there; or says what is missing.
    pub(super) fn find() -> Result<Package, String> {
        install::node()?;
        let sources = workspace::root().join(SOURCES);
        let read = |name: &str| {
            let path = sources.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let key = install::hash(&[&read("package.json")?, &read("package-lock.json")?]);
        let home = workspace::root().join("target").join("clients");
        let folder = home.join(format!("{key:016x}"));
        // The mark is made last: a folder without it was left in the middle.
        let mark = folder.join("installed");
        if !mark.exists() {
            eprintln!("the TypeScript compiler is installed into {}", folder.display());
            let cannot = |error| format!("{}: {error}", folder.display());
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).map_err(cannot)?;
            install::with_npm(install::NPM, &sources, &folder)?;
            fs::write(&mark, "").map_err(cannot)?;
        }
        Ok(Package { sources, modules: folder.join("node_modules"), built: home.join("built") })
    }

    /// Checks the types and builds, first as users get it and then with the tests.
    pub(super) fn build(&self) -> Result<(), String> {
        // What an older build left must not be tested for what this one makes.
        let _ = fs::remove_dir_all(&self.built);
        let types = self.modules.join("@types");
        for (project, folder) in [("tsconfig.json", "dist"), ("tsconfig.test.json", "build")] {
            let out = self.built.join(folder);
            let mut compiler = Command::new("node");
            compiler.arg(self.modules.join("typescript/bin/tsc")).arg("--project");
            compiler.arg(self.sources.join(project)).arg("--outDir").arg(&out);
            finished(project, compiler.arg("--typeRoots").arg(&types))?;
        }
        // Beside what was built, since it says that these are modules.
        let (name, cannot) = ("package.json", |error| format!("package.json: {error}"));
        fs::copy(self.sources.join(name), self.built.join(name)).map_err(cannot)?;
        Ok(())
    }

    /// Runs the package's own tests; how many there were.
    pub(super) fn test(&self) -> Result<String, String> {
        let tests = self.built.join("build").join("test");
        let mut paths = Vec::new();
        for entry in
            fs::read_dir(&tests).map_err(|error| format!("{}: {error}", tests.display()))?
        {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.to_string_lossy().ends_with(".test.js") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut node = Command::new("node");
        node.args(["--test", "--test-reporter=tap"]).args(&paths);
        node.env("FOXWEDGE_FIXTURES", workspace::root().join("fixtures").join("run"));
        let output = finished("node --test", &mut node)?;
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let passed = told.lines().rev().find_map(|line| line.strip_prefix("# pass "));
        Ok(format!("{} tests passed", passed.unwrap_or("?")))
    }

    /// What the package makes of logs, in their order.
    pub(super) fn replay(&self, logs: &[runs::Log]) -> Result<Vec<Value>, String> {
        let lines: Vec<String> =
            logs.iter().map(|log| format!("{}\n", replay::line(log))).collect();
        let script = self.built.join("build").join("test").join("replay.js");
        let printed = asked(&script, lines.concat())?;
        let answers: Result<Vec<Value>, _> = printed.lines().map(serde_json::from_str).collect();
        let answers = answers.map_err(|error| format!("replay: {error}"))?;
        match logs.get(answers.len()) {
            None => Ok(answers),
            Some(log) => Err(format!("replay: no answer for seed {}", log.seed)),
        }
    }
}

/// What a script prints about what it is given.
fn asked(script: &Path, given: String) -> Result<String, String> {
    let complain = |error: std::io::Error| format!("node: {error}");
    let mut node = Command::new("node");
    node.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = node.spawn().map_err(complain)?;
    let mut input = child.stdin.take();
    // Beside the reading, or both sides wait for each other once the pipes are full.
    let writer = thread::spawn(move || match &mut input {
        Some(input) => input.write_all(given.as_bytes()),
        None => Ok(()),
    });
    let mut printed = String::new();
    if let Some(output) = &mut child.stdout {
        output.read_to_string(&mut printed).map_err(complain)?;
    }
    let status = child.wait().map_err(complain)?;
    // Where the process died early, its status says more than the broken pipe.
    let _ = writer.join();
    if status.success() { Ok(printed) } else { Err(format!("node: {status}")) }
}

/// Runs a program to its end; what it said, if that is not a good one.
fn finished(what: impl AsRef<OsStr>, command: &mut Command) -> Result<Output, String> {
    let what = what.as_ref().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Err(format!("{what}\n{}\n{}", said(&output.stdout), said(&output.stderr)))
}
