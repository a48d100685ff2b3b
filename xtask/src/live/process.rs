//! Processes, as Linux tells of them. Only our own are ended, by their ids.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long anything may take, on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A process of ours. Whoever lets go of it ends it.
pub(super) struct Ours(pub(super) Child);

impl Ours {
    pub(super) fn start(command: &mut Command) -> Result<Ours, String> {
        let told = format!("{:?}", command.get_program());
        command.stdin(Stdio::null());
        command.spawn().map(Ours).map_err(|error| format!("{told}: {error}"))
    }

    /// Asks it to end; an end that is not a good one is an error.
    pub(super) fn end(&mut self) -> Result<(), String> {
        signal(self.0.id(), "TERM");
        let began = Instant::now();
        loop {
            match self.0.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("it ended badly: {status}")),
                None if began.elapsed() > PATIENCE => return Err("it does not end".to_owned()),
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process of ours, or of one of ours.
pub(super) fn signal(process: u32, name: &str) {
    let mut command = Command::new("kill");
    // Whatever has ended by itself in between cannot be told anything, and need not be.
    let _ =
        command.args([&format!("-{name}"), &process.to_string()]).stderr(Stdio::null()).status();
}

/// Processes that one has started and that do something.
pub(super) fn children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|process| state(*process).is_some_and(|(_, of)| of == parent)).collect()
}

/// Whether a process is there and does something.
pub(super) fn lives(process: u32) -> bool {
    state(process).is_some()
}

/// The state and the parent of a process; nothing if it has ended.
fn state(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(") ")?;
    let mut fields = behind.split(' ');
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    (!"ZX".contains(state)).then_some((state, parent))
}
