//! The clients on this machine: pinned versions, kept under `target/gateway` for as long as the
//! pins stay.
//!
//! Packages come from wherever the machine's own pip and npm are set up to get them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::client::{Client, Language};
use crate::{sdks::install, workspace};

/// The folder of the scripts and of the pinned lists.
const SCRIPTS: &str = "acceptance/gateway";

/// A language whose clients are there.
pub(super) struct Shelf {
    pub(super) language: Language,
    folder: PathBuf,
    pins: String,
}

impl Shelf {
    /// The program that does jobs.
    pub(super) fn command(&self) -> Command {
        let (program, script) = match self.language {
            Language::Python => (install::python_of(&self.folder), "try.py"),
            Language::TypeScript => (PathBuf::from("node"), "try.mjs"),
        };
        let mut command = Command::new(program);
        command.arg(self.folder.join(script));
        command
    }

    /// What a client is made of, with the versions that are pinned.
    pub(super) fn versions(&self, client: &Client) -> String {
        let told = client.packages.iter().map(|it| format!("{it} {}", self.version(it)));
        told.collect::<Vec<_>>().join(", ")
    }

    fn version(&self, package: &str) -> String {
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

/// Installs the clients of a language, unless they are there; or says what is missing.
pub(super) fn shelf(language: Language) -> Result<Shelf, String> {
    let scripts = scripts(language);
    let read = |name: &str| {
        let path = scripts.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (program, pins, other) = match language {
        Language::Python => {
            let (program, version) = install::python()?;
            (program, read("requirements.txt")?, version)
        }
        Language::TypeScript => {
            install::node()?;
            (install::NPM, read("package.json")?, read("package-lock.json")?)
        }
    };
    let key = install::hash(&[&pins, &other]);
    let home = workspace::root().join("target").join("gateway");
    let folder = home.join(format!("{}-{key:016x}", language.name().to_lowercase()));
    let cannot = |error| format!("{}: {error}", folder.display());
    // The mark is made last: a folder without it was left in the middle.
    let mark = folder.join("installed");
    if !mark.exists() {
        eprintln!("{}: the clients are installed into {}", language.name(), folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(cannot)?;
        match language {
            Language::Python => install::with_pip(program, &scripts, &folder)?,
            Language::TypeScript => install::with_npm(program, &scripts, &folder)?,
        }
        fs::write(&mark, "").map_err(cannot)?;
    }
    // Beside the packages, since that is where Node looks for them.
    copy(&scripts, &folder).map_err(cannot)?;
    copy(&scripts.join("clients"), &folder.join("clients")).map_err(cannot)?;
    Ok(Shelf { language, folder, pins })
}

fn scripts(language: Language) -> PathBuf {
    let name = match language {
        Language::Python => "python",
        Language::TypeScript => "node",
    };
    workspace::root().join(SCRIPTS).join(name)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let is_script = path.extension().is_some_and(|it| it == "py" || it == "mjs");
        if let Some(file) = path.file_name().filter(|_| is_script) {
            fs::copy(&path, to.join(file))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::client::CLIENTS;

    #[test]
    fn every_client_is_there_and_pinned() {
        for client in &CLIENTS {
            let scripts = scripts(client.language);
            let (list, file) = match client.language {
                Language::Python => ("requirements.txt", format!("clients/{}.py", client.module)),
                Language::TypeScript => ("package.json", format!("clients/{}.mjs", client.module)),
            };
            let pins = fs::read_to_string(scripts.join(list)).expect("a list");
            assert!(scripts.join(&file).exists(), "{file}");
            let shelf = Shelf { language: client.language, folder: PathBuf::new(), pins };
            assert!(!shelf.versions(client).contains('?'), "{}", shelf.versions(client));
        }
    }
}
