//! Child processes of this test program, which run one part of a test and may be killed.

use std::{
    env,
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
};

/// The environment variable with the part to run.
const PART: &str = "FOXWEDGE_LOOP_PART";

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    Well,
    Killed,
}

/// Runs a part in a child process and waits for its end.
pub(crate) fn run_part(part: &str, values: &[(&str, &str)]) -> Exit {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "run_part_of_child_process", "--nocapture"]);
    command.env(PART, part).envs(values.iter().copied());
    let output = command.stdin(Stdio::null()).output().expect("a process");
    if output.status.signal() == Some(9) {
        return Exit::Killed;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    Exit::Well
}

/// The part that this process has to run.
pub(crate) fn part() -> Option<String> {
    env::var(PART).ok()
}

/// An environment variable of this process.
pub(crate) fn value(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is missing"))
}
