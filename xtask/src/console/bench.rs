//! Where the page is built and tried: a copy of its sources under `target/console`, beside the
//! packages it needs. Nothing is written beside the sources.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use super::browser;
use crate::{ci, sdks::install, workspace};

const SOURCES: &str = "console";
/// The reducer of runs is part of the page.
const REDUCER: &str = "clients/typescript/src";
/// What is built or fetched is no source.
const NOT_SOURCES: [&str; 3] = ["node_modules", "build", "dist"];

/// A copy of the sources whose packages are there.
pub(super) struct Bench {
    folder: PathBuf,
}

impl Bench {
    /// Installs the packages, unless they are there, and copies the sources; or says what is
    /// missing.
    pub(super) fn find() -> Result<Bench, String> {
        install::node()?;
        let root = workspace::root();
        let sources = root.join(SOURCES);
        let read = |name: &str| {
            let path = sources.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let key = install::hash(&[&read("package.json")?, &read("package-lock.json")?]);
        let folder = root.join("target").join("console").join(format!("{key:016x}"));
        let cannot = |error: io::Error| format!("{}: {error}", folder.display());
        // The mark is made last: a folder without it was left in the middle.
        let mark = folder.join("installed");
        if !mark.exists() {
            eprintln!("what the console is built with is installed into {}", folder.display());
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).map_err(cannot)?;
            install::with_npm(install::NPM, &sources, &folder)?;
            fs::write(&mark, "").map_err(cannot)?;
        }
        for name in [SOURCES, REDUCER] {
            // What an older copy left must not be tried for what there is now.
            let _ = fs::remove_dir_all(folder.join(name));
            copy(&root.join(name), &folder.join(name)).map_err(cannot)?;
        }
        Ok(Bench { folder })
    }

    /// Checks the types.
    pub(super) fn types(&self) -> Result<(), String> {
        self.node("tsc", &["../node_modules/typescript/bin/tsc", "--noEmit"]).map(drop)
    }

    /// Builds the page.
    pub(super) fn build(&self) -> Result<(), String> {
        let vite = ["../node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"];
        self.node("vite build", &vite).map(drop)
    }

    /// Where the new build is.
    pub(super) fn built(&self) -> PathBuf {
        self.folder.join(SOURCES).join("dist")
    }

    /// How many bytes a browser loads.
    pub(super) fn size(&self) -> Result<u64, String> {
        let told = self.node("size.mjs", &["size.mjs", "dist"])?;
        told.trim().parse().map_err(|_| format!("size.mjs: `{told}` is no number"))
    }

    /// Runs the tests that need no browser; how many there were.
    pub(super) fn tests(&self) -> Result<String, String> {
        let project = ["../node_modules/typescript/bin/tsc", "--project", "tsconfig.test.json"];
        self.node("tsc", &project)?;
        self.tested("build/console/test", ".test.js", &mut self.command())
    }

    /// Opens the page in a browser; how many tests there were.
    pub(super) fn pages(&self, browser: &Path) -> Result<String, String> {
        let mut node = self.command();
        node.env(browser::VARIABLE, browser).env("FOXWEDGE_BINARY", ci::binary()?);
        node.env("FOXWEDGE_SCRIPTED_AGENT", ci::program("foxwedge-scripted-agent")?);
        node.env("FOXWEDGE_FIXTURES", workspace::root().join("fixtures"));
        self.tested("e2e", ".test.mjs", &mut node)
    }

    fn tested(&self, folder: &str, ending: &str, node: &mut Command) -> Result<String, String> {
        let folder = self.folder.join(SOURCES).join(folder);
        let cannot = |error: io::Error| format!("{}: {error}", folder.display());
        let mut tests = Vec::new();
        for entry in fs::read_dir(&folder).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            if path.to_string_lossy().ends_with(ending) {
                tests.push(path);
            }
        }
        tests.sort();
        // One after the other: each has a browser and perhaps a gateway of its own.
        node.args(["--test", "--test-concurrency=1", "--test-reporter=tap"]).args(&tests);
        let told = finished("node --test", node)?;
        let passed = told.lines().rev().find_map(|line| line.strip_prefix("# pass "));
        Ok(format!("{} tests passed", passed.unwrap_or("?")))
    }

    fn node(&self, what: &str, arguments: &[&str]) -> Result<String, String> {
        finished(what, self.command().args(arguments))
    }

    fn command(&self) -> Command {
        let mut node = Command::new("node");
        node.current_dir(self.folder.join(SOURCES));
        node
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if NOT_SOURCES.iter().any(|other| name == *other) {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Runs a program to its end; what it said, whether that is a good one or not.
fn finished(what: &str, command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(said(&output.stdout));
    }
    Err(format!("{what}\n{}\n{}", said(&output.stdout), said(&output.stderr)))
}
