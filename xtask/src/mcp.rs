//! Real MCP servers in front of our client: `cargo xtask mcp`.
//!
//! Two servers of the protocol's authors are installed in pinned versions, kept under `target/mcp`
//! for as long as the pins stay, and the tests of the loop that need them are run. Where they
//! cannot be installed, that is said. Packages come from wherever the machine's own npm is set up
//! to get them.

use std::{env, fs, path::PathBuf};

use crate::{
    Outcome, ci,
    sdks::{self, install},
    workspace,
};

/// The folder of the pinned list.
const PINS: &str = "acceptance/mcp";
/// Where the tests look for the servers.
const VARIABLE: &str = "FOXWEDGE_MCP_SERVERS";

/// Installs the servers and runs the tests in front of them.
pub(crate) fn run(words: &[&str]) -> Outcome {
    if !words.is_empty() {
        return Err("`mcp` takes nothing".to_owned());
    }
    let required = env::var_os(sdks::VARIABLE).is_some_and(|value| value == "required");
    let folder = match servers() {
        Ok(folder) => folder,
        Err(missing) if required => return Err(missing),
        Err(missing) => {
            println!("skipped: {missing}");
            return Ok(());
        }
    };
    let mut command = ci::command();
    command.args(["test", "--quiet", "--package", "foxwedge-agent-loop", "--features", "real-mcp"]);
    command.args(["--test", "mcp", "real::"]).env(VARIABLE, folder);
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("real MCP servers: {status}")) }
}

/// The folder that holds the servers, installed; or what is missing.
fn servers() -> Result<PathBuf, String> {
    install::node()?;
    let pins = workspace::root().join(PINS);
    let read = |name: &str| {
        let path = pins.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let key = install::hash(&[&read("package.json")?, &read("package-lock.json")?]);
    let folder = workspace::root().join("target").join("mcp").join(format!("{key:016x}"));
    let cannot = |error| format!("{}: {error}", folder.display());
    // The mark is made last: a folder without it was left in the middle.
    let mark = folder.join("installed");
    if !mark.exists() {
        eprintln!("the servers are installed into {}", folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(cannot)?;
        install::with_npm(install::NPM, &pins, &folder)?;
        fs::write(&mark, "").map_err(cannot)?;
    }
    Ok(folder.join("node_modules").join("@modelcontextprotocol"))
}
