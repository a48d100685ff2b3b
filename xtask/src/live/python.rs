//! A conversation of OpenAI's Python client, ten steps long.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use super::{stories::World, world::Real};
use crate::{Outcome, workspace};

pub(super) const NAME: &str = "ten steps of OpenAI's Python client with a restart in the middle";

/// Runs the client, and starts the gateway anew when the client says so.
pub(super) fn ten_steps(python: &Path, world: &mut Real) -> Outcome {
    let script = workspace::root().join("xtask/src/live/ten_steps.py");
    if !fs::exists(&script).unwrap_or(false) {
        return Err(format!("{} is missing", script.display()));
    }
    let base = |world: &Real| format!("http://{}", world.door().address);
    let mut command = Command::new(python);
    command.arg(script).args([base(world), world.door().token]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = command.spawn().map_err(|error| format!("{}: {error}", python.display()))?;
    let (stdin, stdout) = (client.stdin.take(), client.stdout.take());
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err("the client has no pipes".to_owned());
    };
    let mut restarts = 0;
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if line == "restart" {
            let restarted = world.restart();
            let told = restarted.and_then(|()| {
                writeln!(stdin, "{}", base(world)).map_err(|error| error.to_string())
            });
            if told.is_err() {
                let _ = client.kill();
                let _ = client.wait();
                return told;
            }
            restarts += 1;
        }
    }
    let ended = client.wait_with_output().map_err(|error| error.to_string())?;
    match (ended.status.success(), restarts) {
        (true, 1) => Ok(()),
        _ => Err(format!("{} {}", ended.status, String::from_utf8_lossy(&ended.stderr))),
    }
}
