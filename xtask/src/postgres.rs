//! A PostgreSQL server for the tests: `cargo xtask postgres -- COMMAND…`, and the tests of `ci`.
//!
//! Every test can start a server of its own; one for all of them is faster. It runs in a temporary
//! folder and is gone when we are. Where there is none, that is said, and the tests say it, too.

#[path = "../../crates/store/tests/store/server.rs"]
#[allow(dead_code, reason = "tests do more to a server than we do")]
mod server;

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use self::server::{Care, Server};
use crate::{Outcome, ci, workspace};

pub(crate) use self::server::{OFF, VARIABLE};

/// Runs a command with a server that its tests can use.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let command = arguments.strip_prefix(&["--"]).unwrap_or(arguments);
    let [program, arguments @ ..] = command else {
        return Err("`postgres` takes a command: `cargo xtask postgres -- cargo test`".to_owned());
    };
    with_server(|variables| {
        let mut command = Command::new(program);
        command.args(arguments).envs(variables.iter().copied());
        ci::hide_outer_cargo(&mut command);
        let status = command.status().map_err(|error| format!("{program}: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
    })
}

/// Does something while a server runs. What it is given is for the environment of the tests:
/// where the server is; nothing, if there is none or if the caller has one.
pub(crate) fn with_server(work: impl FnOnce(&[(&str, &str)]) -> Outcome) -> Outcome {
    if env::var_os(VARIABLE).is_some() {
        return work(&[]);
    }
    match start() {
        Ok(server) => work(&[(VARIABLE, &server.url())]),
        Err(why) => {
            eprintln!("no PostgreSQL, so that its tests are skipped: {why}");
            work(&[])
        }
    }
}

fn start() -> Result<Server, String> {
    let cache = workspace::root().join("target").join("tmp");
    let start = || Server::start(&cache, Care::Fast, &[]);
    start().or_else(|why| if installed() { start() } else { Err(why) })
}

/// Installs it where that takes nobody's permission: as root, on a system with Debian's packages.
fn installed() -> bool {
    if !Path::new("/usr/bin/apt-get").exists() || Path::new("/usr/lib/postgresql").exists() {
        return false;
    }
    eprintln!("PostgreSQL is not installed; trying `apt-get install postgresql`");
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--quiet", "--no-install-recommends", "postgresql"]);
    // It asks no question, and no server starts by itself.
    install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").stdin(Stdio::null());
    let status = install.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
