//! Gives all jobs to one process, since starting the clients takes longer than any job.

use std::{
    ffi::OsString,
    io::{Read as _, Write as _},
    process::Stdio,
    thread,
};

use serde_json::Value;

use super::{reader::Job, shelf::Shelf};

/// The answers to all jobs, in their order.
pub(super) fn all(shelf: &Shelf, jobs: &[Job<'_>]) -> Result<Vec<Value>, String> {
    let complain = |error: std::io::Error| format!("node: {error}");
    let mut command = shelf.command();
    // No proxy, no key, no setting of this machine is any of a client's business here.
    command.env_clear().envs(kept()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(complain)?;
    let lines: Vec<String> = jobs.iter().map(|job| format!("{}\n", job.line())).collect();
    let mut input = child.stdin.take();
    // Beside the reading, or both sides wait for each other once the pipes are full.
    let writer = thread::spawn(move || match &mut input {
        Some(input) => input.write_all(lines.concat().as_bytes()),
        None => Ok(()),
    });
    let mut printed = String::new();
    if let Some(output) = &mut child.stdout {
        output.read_to_string(&mut printed).map_err(complain)?;
    }
    let status = child.wait().map_err(complain)?;
    // Where the process died early, its status says more than the broken pipe.
    let _ = writer.join();
    let answers: Result<Vec<Value>, _> = printed.lines().map(serde_json::from_str).collect();
    let answers = answers.map_err(|error| format!("node: {error}"))?;
    if !status.success() || answers.len() != jobs.len() {
        let after = jobs.get(answers.len()).map_or_else(String::new, Job::told);
        return Err(format!("node: {status} after {} answers, at {after}", answers.len()));
    }
    Ok(answers)
}

/// The variables without which a process does not find its own files.
fn kept() -> impl Iterator<Item = (&'static str, OsString)> {
    let names = ["PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TEMP", "USERPROFILE"];
    names.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}
