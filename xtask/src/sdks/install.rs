//! The SDKs on this machine: pinned versions, kept under `target/sdks` for as long as the pins stay.
//!
//! Packages come from wherever the machine's own pip and npm are set up to get them.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{SCRIPTS, reader::Language};
use crate::workspace;

/// What the newest of the pinned packages ask for.
const PYTHON: (u32, u32) = (3, 11);
const NODE: (u32, u32) = (20, 0);

/// Windows has no program of the plain name.
pub(crate) const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// A language whose SDKs are there.
pub(super) struct Shelf {
    pub(super) language: Language,
    folder: PathBuf,
    pins: String,
}

impl Shelf {
    /// The program that answers jobs.
    pub(super) fn command(&self) -> Command {
        let (program, script) = match self.language {
            Language::Python => (python_of(&self.folder), "read.py"),
            Language::TypeScript => (PathBuf::from("node"), "read.mjs"),
        };
        let mut command = Command::new(program);
        command.arg(self.folder.join(script));
        command
    }

    /// The version that a package is pinned to.
    pub(super) fn version(&self, package: &str) -> String {
        let found = match self.language {
            Language::Python => {
                let mut lines = self.pins.lines().filter_map(|line| line.split_once("=="));
                lines.find(|(name, _)| *name == package).map(|(_, it)| it.to_owned())
            }
            Language::TypeScript => {
                let pins: Value = serde_json::from_str(&self.pins).unwrap_or_default();
                pins["dependencies"][package].as_str().map(str::to_owned)
            }
        };
        found.unwrap_or_else(|| "?".to_owned())
    }
}

/// Installs the SDKs of a language, unless they are there; or says what is missing.
pub(super) fn shelf(language: Language, home: &Path) -> Result<Shelf, String> {
    let scripts = workspace::root().join(SCRIPTS);
    let read = |name: &str| {
        let path = scripts.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (program, pins, key) = match language {
        Language::Python => {
            let (program, version) = python()?;
            let pins = read("requirements.txt")?;
            let key = hash(&[&pins, &version]);
            (program, pins, key)
        }
        Language::TypeScript => {
            node()?;
            let (pins, lock) = (read("package.json")?, read("package-lock.json")?);
            let key = hash(&[&pins, &lock]);
            (NPM, pins, key)
        }
    };
    let folder = home.join(format!("{}-{key:016x}", language.name().to_lowercase()));
    // The mark is made last: a folder without it was left in the middle.
    let mark = folder.join("installed");
    if !mark.exists() {
        eprintln!("{}: the SDKs are installed into {}", language.name(), folder.display());
        let _ = fs::remove_dir_all(&folder);
        let cannot = |error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(cannot)?;
        match language {
            Language::Python => with_pip(program, &scripts, &folder)?,
            Language::TypeScript => with_npm(program, &scripts, &folder)?,
        }
        fs::write(&mark, "").map_err(cannot)?;
    }
    // Beside the packages, since that is where Node looks for them.
    copy_scripts(&scripts, &folder).map_err(|error| format!("{}: {error}", scripts.display()))?;
    Ok(Shelf { language, folder, pins })
}

pub(crate) fn with_pip(python: &str, scripts: &Path, folder: &Path) -> Result<(), String> {
    let what = "the Python SDKs cannot be installed";
    done(what, Command::new(python).args(["-m", "venv"]).arg(folder.join("venv")))?;
    let mut pip = Command::new(python_of(folder));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    // The list is complete, and nothing is to be built.
    pip.args(["--no-deps", "--only-binary", ":all:", "--retries", "1", "--timeout", "20"]);
    done(what, pip.arg("--requirement").arg(scripts.join("requirements.txt")))
}

pub(crate) fn with_npm(npm: &str, scripts: &Path, folder: &Path) -> Result<(), String> {
    let what = "the TypeScript SDKs cannot be installed";
    for name in ["package.json", "package-lock.json"] {
        fs::copy(scripts.join(name), folder.join(name)).map_err(|it| format!("{name}: {it}"))?;
    }
    let mut npm = Command::new(npm);
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]);
    done(what, npm.current_dir(folder))
}

/// Runs a program to its end; its last words, if that is not a good one.
fn done(what: &str, command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let is_error = |line: &&str| {
        let line = line.to_lowercase();
        line.starts_with("error") || line.starts_with("npm error")
    };
    let errors = complaint.lines().filter(is_error);
    let told = errors.chain(complaint.lines().last()).next().unwrap_or("it says nothing");
    Err(format!("{what}: {}", told.trim()))
}

/// A Python that is new enough, and its version.
pub(crate) fn python() -> Result<(&'static str, String), String> {
    let script = "import sys; print('%d.%d' % sys.version_info[:2])";
    for program in ["python3", "python"] {
        let version = printed(Command::new(program).args(["-c", script]));
        if let Some(version) = version.filter(|it| at_least(it, PYTHON)) {
            return Ok((program, version));
        }
    }
    Err(format!("no Python {}.{} or newer was found", PYTHON.0, PYTHON.1))
}

pub(crate) fn node() -> Result<(), String> {
    let version = printed(Command::new("node").arg("--version"));
    if !version.is_some_and(|it| at_least(it.trim_start_matches('v'), NODE)) {
        return Err(format!("no Node {} or newer was found", NODE.0));
    }
    if printed(Command::new(NPM).arg("--version")).is_none() {
        return Err("no npm was found".to_owned());
    }
    Ok(())
}

/// The first line that a program prints; nothing if it does not run.
fn printed(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(|line| line.trim().to_owned())
}

fn at_least(version: &str, least: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= least
}

pub(crate) fn python_of(folder: &Path) -> PathBuf {
    let venv = folder.join("venv");
    if cfg!(windows) { venv.join("Scripts/python.exe") } else { venv.join("bin/python") }
}

pub(crate) fn copy_scripts(scripts: &Path, folder: &Path) -> io::Result<()> {
    for name in [".", "readers"] {
        fs::create_dir_all(folder.join(name))?;
        for entry in fs::read_dir(scripts.join(name))? {
            let path = entry?.path();
            let is_script = path.extension().is_some_and(|it| it == "py" || it == "mjs");
            if let Some(file) = path.file_name().filter(|_| is_script) {
                fs::copy(&path, folder.join(name).join(file))?;
            }
        }
    }
    Ok(())
}

pub(crate) fn hash(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let table = [("3.11", true), ("3.9", false), ("3.10.4", false), ("4.0", true), ("", false)];
        for (version, expected) in table {
            assert_eq!(at_least(version, PYTHON), expected, "{version}");
        }
    }

    #[test]
    fn every_package_that_reads_is_pinned() {
        let scripts = workspace::root().join(SCRIPTS);
        for (language, list) in Language::ALL.into_iter().zip(["requirements.txt", "package.json"])
        {
            let pins = fs::read_to_string(scripts.join(list)).expect("a list");
            let shelf = Shelf { language, folder: PathBuf::new(), pins };
            for package in
                foxwedge_core::Format::ALL.into_iter().filter_map(|it| language.package(it))
            {
                let version = shelf.version(package);
                assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{package}: {version}");
            }
        }
    }
}
