//! Installs the pinned packages of a suite, once for as long as the pins stay.
//!
//! Packages come from wherever pip and npm of this machine are configured to get them.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::workspace;

/// What the newest of the pinned packages need.
const PYTHON: (u32, u32) = (3, 11);
const NODE: (u32, u32) = (20, 0);

/// Windows has no program of the plain name.
const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// Software that this machine does not have, or cannot install.
#[derive(Debug)]
pub(crate) struct MissingSoftware(pub(crate) String);

/// The language of packages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Language {
    Python,
    TypeScript,
}

impl Language {
    pub(crate) const ALL: [Language; 2] = [Language::Python, Language::TypeScript];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Language::Python => "Python",
            Language::TypeScript => "TypeScript",
        }
    }

    /// The list of pinned packages.
    fn list(self) -> &'static str {
        match self {
            Language::Python => "requirements.txt",
            Language::TypeScript => "package.json",
        }
    }
}

/// The packages of one pinned list.
pub(crate) struct PackageFolder {
    pub(crate) language: Language,
    /// Where they are installed.
    pub(crate) path: PathBuf,
    /// The folder of the list, and of the scripts that use the packages.
    sources: PathBuf,
    pins: String,
}

impl PackageFolder {
    /// The list in a folder of the workspace. Nothing is installed yet.
    pub(crate) fn pinned(language: Language, sources: &str) -> Result<PackageFolder, String> {
        let sources = workspace::root().join(sources);
        let pins = read(&sources.join(language.list()))?;
        Ok(PackageFolder { language, path: PathBuf::new(), sources, pins })
    }

    /// Installs the packages under `target/HOME`, unless they are there, and copies the scripts
    /// beside them, since that is where Node looks for packages.
    pub(crate) fn install(
        language: Language,
        sources: &str,
        home: &str,
    ) -> Result<PackageFolder, MissingSoftware> {
        PackageFolder::installed(language, sources, home).map_err(MissingSoftware)
    }

    fn installed(language: Language, sources: &str, home: &str) -> Result<PackageFolder, String> {
        let mut packages = PackageFolder::pinned(language, sources)?;
        let (python, other) = match language {
            Language::Python => python()?,
            Language::TypeScript => {
                node()?;
                ("", read(&packages.sources.join("package-lock.json"))?)
            }
        };
        let mut hasher = DefaultHasher::new();
        [&packages.pins, &other].hash(&mut hasher);
        let name = format!("{}-{:016x}", language.name().to_lowercase(), hasher.finish());
        packages.path = workspace::root().join("target").join(home).join(name);
        let folder = &packages.path;
        let cannot = |error| format!("{}: {error}", folder.display());
        // The mark is made last: a folder without it was left in the middle.
        let mark = folder.join("installed");
        if !mark.exists() {
            let name = language.name();
            eprintln!("{home}: {name} packages are installed into {}", folder.display());
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).map_err(cannot)?;
            match language {
                Language::Python => packages.with_pip(python)?,
                Language::TypeScript => packages.with_npm()?,
            }
            fs::write(&mark, "").map_err(cannot)?;
        }
        copy_files(&packages.sources, folder, &|path| {
            path.ends_with("readers")
                || path.ends_with("clients")
                || path.extension().is_some_and(|it| it == "py" || it == "mjs")
        })
        .map_err(cannot)?;
        Ok(packages)
    }

    fn with_pip(&self, python: &str) -> Result<(), String> {
        let what = "the Python packages cannot be installed";
        done(what, Command::new(python).args(["-m", "venv"]).arg(self.path.join("venv")))?;
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        // The list is complete, and nothing is to be built.
        pip.args(["--no-deps", "--only-binary", ":all:", "--retries", "1", "--timeout", "20"]);
        done(what, pip.arg("--requirement").arg(self.sources.join("requirements.txt")))
    }

    fn with_npm(&self) -> Result<(), String> {
        for name in ["package.json", "package-lock.json"] {
            let copied = fs::copy(self.sources.join(name), self.path.join(name));
            copied.map_err(|error| format!("{name}: {error}"))?;
        }
        let mut npm = Command::new(NPM);
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]);
        done("the TypeScript packages cannot be installed", npm.current_dir(&self.path))
    }

    /// The Python that has the packages.
    pub(crate) fn python(&self) -> PathBuf {
        let python = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        self.path.join("venv").join(python)
    }

    /// Runs a script of theirs, named without its ending.
    pub(crate) fn script(&self, name: &str) -> Command {
        let (program, ending) = match self.language {
            Language::Python => (self.python(), "py"),
            Language::TypeScript => (PathBuf::from("node"), "mjs"),
        };
        let mut command = Command::new(program);
        command.arg(self.path.join(format!("{name}.{ending}")));
        command
    }

    /// A package and the version that it is pinned to; an npm alias is resolved.
    pub(crate) fn label(&self, package: &str) -> String {
        let pinned = match self.language {
            Language::Python => {
                let mut lines = self.pins.lines().filter_map(|line| line.split_once("=="));
                lines.find(|(name, _)| *name == package).map(|(_, version)| version.to_owned())
            }
            Language::TypeScript => {
                let pins: Value = serde_json::from_str(&self.pins).unwrap_or_default();
                pins["dependencies"][package].as_str().map(str::to_owned)
            }
        };
        let pinned = pinned.unwrap_or_else(|| "?".to_owned());
        match pinned.strip_prefix("npm:").and_then(|alias| alias.rsplit_once('@')) {
            Some((name, version)) => format!("{name} {version}"),
            None => format!("{package} {pinned}"),
        }
    }
}

/// Claude Code, the last version that is plain JavaScript.
pub(crate) fn claude_code() -> Result<PathBuf, MissingSoftware> {
    let pins = "acceptance/gateway/claude-code";
    let packages = PackageFolder::install(Language::TypeScript, pins, "live")?;
    Ok(packages.path.join("node_modules/@anthropic-ai/claude-code/cli.js"))
}

/// Copies the files and folders that `wanted` accepts; links stay links.
pub(crate) fn copy_files(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, kind, target) = (entry.path(), entry.file_type()?, to.join(entry.file_name()));
        if !wanted(&path) {
            continue;
        }
        if kind.is_dir() {
            copy_files(&path, &target, wanted)?;
        } else if kind.is_file() {
            fs::copy(&path, target)?;
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(&path)?, target)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs an installer; its error line, if it fails.
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
    let shown = errors.chain(complaint.lines().last()).next().unwrap_or("no error output");
    Err(format!("{what}: {}", shown.trim()))
}

/// A Python that is new enough, and its version.
fn python() -> Result<(&'static str, String), String> {
    let script = "import sys; print('%d.%d' % sys.version_info[:2])";
    for program in ["python3", "python"] {
        let version = printed(Command::new(program).args(["-c", script]));
        if let Some(version) = version.filter(|it| at_least(it, PYTHON)) {
            return Ok((program, version));
        }
    }
    Err(format!("no Python {}.{} or newer was found", PYTHON.0, PYTHON.1))
}

fn node() -> Result<(), String> {
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
}
