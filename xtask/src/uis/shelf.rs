//! The clients on this machine: pinned versions, kept under `target/uis` for as long as the pins
//! stay.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

use crate::{sdks::install, workspace};

/// The folder of the scripts and of the pinned list.
const SCRIPTS: &str = "acceptance/ui";

/// Clients that are there.
pub(super) struct Shelf {
    folder: PathBuf,
    pins: Value,
}

impl Shelf {
    /// The program that answers jobs.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("node");
        command.arg(self.folder.join("read.mjs"));
        command
    }

    /// The package and the version that it is pinned to.
    pub(super) fn client(&self, package: &str) -> String {
        let pinned = self.pins["dependencies"][package].as_str().unwrap_or("?");
        match pinned.strip_prefix("npm:").and_then(|alias| alias.rsplit_once('@')) {
            Some((name, version)) => format!("{name} {version}"),
            None => format!("{package} {pinned}"),
        }
    }
}

/// Installs the clients, unless they are there; or says what is missing.
pub(super) fn shelf() -> Result<Shelf, String> {
    install::node()?;
    let scripts = workspace::root().join(SCRIPTS);
    let read = |name: &str| {
        let path = scripts.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (pins, lock) = (read("package.json")?, read("package-lock.json")?);
    let key = install::hash(&[&pins, &lock]);
    let folder = workspace::root().join("target").join("uis").join(format!("{key:016x}"));
    let cannot = |error| format!("{}: {error}", folder.display());
    // The mark is made last: a folder without it was left in the middle.
    let mark = folder.join("installed");
    if !mark.exists() {
        eprintln!("the clients are installed into {}", folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(cannot)?;
        install::with_npm(install::NPM, &scripts, &folder)?;
        fs::write(&mark, "").map_err(cannot)?;
    }
    // Beside the packages, since that is where Node looks for them.
    install::copy_scripts(&scripts, &folder).map_err(cannot)?;
    let pins = serde_json::from_str(&pins).map_err(|error| format!("package.json: {error}"))?;
    Ok(Shelf { folder, pins })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uis::reader::Reader;

    #[test]
    fn every_client_that_reads_is_pinned() {
        let path = workspace::root().join(SCRIPTS).join("package.json");
        let pins = fs::read_to_string(path).expect("a list");
        let pins = serde_json::from_str(&pins).expect("it is JSON");
        let shelf = Shelf { folder: PathBuf::new(), pins };
        for reader in Reader::ALL {
            let client = shelf.client(reader.package);
            let version = client.rsplit(' ').next().unwrap_or_default();
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{client}");
        }
    }
}
