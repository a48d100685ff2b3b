//! Everything that a command started, and how it is ended. On Linux: its process group, all
//! processes with its mark, and their children, wherever they went. On other Unix systems: its
//! group. On Windows: its children.

#[cfg(target_os = "linux")]
mod family;
#[cfg(target_os = "linux")]
mod orphans;

#[cfg(unix)]
use crate::{ProcessSignal, signal_group};

/// The variable that marks everything a command starts.
pub const MARK_VARIABLE: &str = "FOXWEDGE_CALL";

/// The beginning of every mark: it identifies this process.
pub fn mark_prefix() -> String {
    #[cfg(target_os = "linux")]
    return orphans::mark_prefix();
    #[cfg(not(target_os = "linux"))]
    return std::process::id().to_string();
}

/// Kills processes that commands of dead programs left running: a program killed by force could not
/// do it. Returns their names. Only on Linux; elsewhere the origin of a process is unknown.
pub fn end_orphans() -> Vec<String> {
    #[cfg(target_os = "linux")]
    return orphans::kill_orphans();
    #[cfg(not(target_os = "linux"))]
    return Vec::new();
}

/// Everything that a command started. Clones share state.
#[derive(Clone, Debug)]
pub struct ProcessTree {
    /// Process id of the command, which is also its group id.
    leader: u32,
    #[cfg(target_os = "linux")]
    family: family::ProcessFamily,
}

#[cfg(unix)]
impl ProcessTree {
    /// The tree of a command with this mark in its variables.
    #[cfg(target_os = "linux")]
    pub fn new(leader: u32, mark: String) -> ProcessTree {
        ProcessTree { leader, family: family::ProcessFamily::new(leader, mark) }
    }

    /// The tree of a command.
    #[cfg(not(target_os = "linux"))]
    pub fn new(leader: u32, _: String) -> ProcessTree {
        ProcessTree { leader }
    }

    /// Asks all of it to end.
    pub fn ask(&self) {
        signal_group(self.leader, ProcessSignal::Terminate);
        #[cfg(target_os = "linux")]
        self.family.ask();
        // A stopped process does not receive the signal.
        signal_group(self.leader, ProcessSignal::Continue);
    }

    /// Waits until only the command itself is left, but at most `max_wait`.
    #[cfg(target_os = "linux")]
    pub fn wait(&self, max_wait: std::time::Duration) {
        let deadline = std::time::Instant::now() + max_wait;
        while self.family.members().keys().any(|pid| *pid != self.leader)
            && std::time::Instant::now() < deadline
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// The remaining processes are unknown.
    #[cfg(not(target_os = "linux"))]
    pub fn wait(&self, _: std::time::Duration) {}

    /// Kills all of it, and repeats until nothing is left. Returns the names of all processes
    /// except the command itself. Must not be called after the command was reaped: its id may
    /// belong to another process.
    #[cfg(target_os = "linux")]
    pub fn kill(&self) -> Vec<String> {
        // Processes that belong to it only by parentage are found only while their parents live.
        let members = self.family.members();
        signal_group(self.leader, ProcessSignal::Kill);
        self.family.kill(&members);
        let others = members.into_iter().filter(|(pid, _)| *pid != self.leader);
        others.map(|(_, member)| member.name).collect()
    }

    /// Kills all of it at once, including processes of the group that are being created.
    #[cfg(not(target_os = "linux"))]
    pub fn kill(&self) -> Vec<String> {
        signal_group(self.leader, ProcessSignal::Kill);
        Vec::new()
    }
}

#[cfg(windows)]
impl ProcessTree {
    /// The tree of a command.
    pub fn new(leader: u32, _: String) -> ProcessTree {
        ProcessTree { leader }
    }

    /// Windows has no gentle way.
    pub fn ask(&self) {
        self.kill();
    }

    /// The remaining processes are unknown.
    pub fn wait(&self, _: std::time::Duration) {}

    /// Kills all of it.
    pub fn kill(&self) -> Vec<String> {
        use std::process::{Command, Stdio};
        let mut command = Command::new("taskkill");
        command.args(["/F", "/T", "/PID", &self.leader.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
        Vec::new()
    }
}
