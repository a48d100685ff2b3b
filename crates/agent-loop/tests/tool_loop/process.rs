//! Other processes of this program, which play a part and are killed over it.

use std::{
    env,
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
};

/// The part that a process plays.
const PART: &str = "FOXWEDGE_LOOP_PART";

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    Well,
    Killed,
}

/// Lets another process play a part, and waits for its end.
pub(crate) fn play(part: &str, values: &[(&str, &str)]) -> Exit {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "a_process_that_was_given_a_part_plays_it", "--nocapture"]);
    command.env(PART, part).envs(values.iter().copied());
    let output = command.stdin(Stdio::null()).output().expect("a process");
    if output.status.signal() == Some(9) {
        return Exit::Killed;
    }
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {trouble}", output.status);
    Exit::Well
}

/// The part that this process was given.
pub(crate) fn part() -> Option<String> {
    env::var(PART).ok()
}

/// Something that this process was given.
pub(crate) fn value(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is missing"))
}
