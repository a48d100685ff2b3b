//! The command line and the client, in pinned versions, kept under `target` for as long as the pins
//! stay.
//!
//! Packages come from wherever the machine's own pip and npm are set up to get them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{sdks::install, workspace};

/// The folder of the pinned lists.
const PINS: &str = "acceptance/gateway";

/// Claude Code, the last version that is plain JavaScript; or what is missing.
pub(crate) fn claude_code() -> Result<PathBuf, String> {
    install::node()?;
    let pins = workspace::root().join(PINS).join("claude-code");
    let (list, lock) = (read(&pins.join("package.json"))?, read(&pins.join("package-lock.json"))?);
    let key = install::hash(&[&list, &lock]);
    let folder = home("live").join(format!("claude-code-{key:016x}"));
    installed(&folder, || install::with_npm(install::NPM, &pins, &folder))?;
    Ok(folder.join("node_modules/@anthropic-ai/claude-code/cli.js"))
}

/// A Python that has OpenAI's SDK, the one that `cargo xtask gateway` uses; or what is missing.
pub(super) fn openai() -> Result<PathBuf, String> {
    let (python, version) = install::python()?;
    let pins = workspace::root().join(PINS).join("python");
    let key = install::hash(&[&read(&pins.join("requirements.txt"))?, &version]);
    let folder = home("gateway").join(format!("python-{key:016x}"));
    installed(&folder, || install::with_pip(python, &pins, &folder))?;
    Ok(install::python_of(&folder))
}

fn home(name: &str) -> PathBuf {
    workspace::root().join("target").join(name)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The mark is made last: a folder without it was left in the middle.
fn installed(folder: &Path, install: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let mark = folder.join("installed");
    if mark.exists() {
        return Ok(());
    }
    eprintln!("installed into {}", folder.display());
    let _ = fs::remove_dir_all(folder);
    let cannot = |error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(cannot)?;
    install()?;
    fs::write(&mark, "").map_err(cannot)
}
