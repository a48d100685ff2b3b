//! Everything that a command started, and how it is ended. On Linux: its process group, all
//! processes with its mark, and their children, wherever they went. On other Unix systems: its
//! group. On Windows: its children.

#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod orphans;

/// Identifies this process in the marks of its commands.
pub(super) fn maker() -> String {
    #[cfg(target_os = "linux")]
    return orphans::maker();
    #[cfg(not(target_os = "linux"))]
    return std::process::id().to_string();
}

/// Kills what commands of dead programs left running. Returns their names.
pub(super) fn end_orphans() -> Vec<String> {
    #[cfg(target_os = "linux")]
    return orphans::kill_orphans();
    #[cfg(not(target_os = "linux"))]
    return Vec::new();
}

/// Everything that a command started. Clones share state.
#[derive(Clone, Debug)]
pub(super) struct ProcessTree {
    /// Process id of the command, which is also its group id.
    leader: u32,
    #[cfg(target_os = "linux")]
    family: table::ProcessFamily,
}

#[cfg(unix)]
impl ProcessTree {
    #[cfg(target_os = "linux")]
    pub(super) fn new(leader: u32, mark: String) -> ProcessTree {
        ProcessTree { leader, family: table::ProcessFamily::new(leader, mark) }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new(leader: u32, _: String) -> ProcessTree {
        ProcessTree { leader }
    }

    /// Asks all of it to end.
    pub(super) fn ask(&self) {
        use rustix::process::Signal;
        self.signal(Signal::TERM);
        #[cfg(target_os = "linux")]
        self.family.ask();
        // A stopped process does not receive the signal.
        self.signal(Signal::CONT);
    }

    /// Waits until only the command itself is left, but at most `max_wait`.
    #[cfg(target_os = "linux")]
    pub(super) fn wait(&self, max_wait: std::time::Duration) {
        let deadline = std::time::Instant::now() + max_wait;
        while self.family.members().keys().any(|pid| *pid != self.leader)
            && std::time::Instant::now() < deadline
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// The remaining processes are unknown.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn wait(&self, _: std::time::Duration) {}

    /// Kills all of it, and repeats until nothing is left. Returns the names of all processes
    /// except the command itself. Must not be called after the command was reaped: its id may
    /// belong to another process.
    #[cfg(target_os = "linux")]
    pub(super) fn kill(&self) -> Vec<String> {
        // Processes that belong to it only by parentage are found only while their parents live.
        let members = self.family.members();
        self.signal(rustix::process::Signal::KILL);
        self.family.kill(&members);
        let others = members.into_iter().filter(|(pid, _)| *pid != self.leader);
        others.map(|(_, member)| member.name).collect()
    }

    /// Kills all of it at once, including processes of the group that are being created.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn kill(&self) -> Vec<String> {
        self.signal(rustix::process::Signal::KILL);
        Vec::new()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        use rustix::process::{Pid, kill_process_group};
        if let Some(group) = i32::try_from(self.leader).ok().and_then(Pid::from_raw) {
            // A group that is gone needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }
}

#[cfg(windows)]
impl ProcessTree {
    pub(super) fn new(leader: u32, _: String) -> ProcessTree {
        ProcessTree { leader }
    }

    /// Windows has no gentle way.
    pub(super) fn ask(&self) {
        self.kill();
    }

    /// The remaining processes are unknown.
    pub(super) fn wait(&self, _: std::time::Duration) {}

    /// Kills all of it.
    pub(super) fn kill(&self) -> Vec<String> {
        use std::process::{Command, Stdio};
        let mut command = Command::new("taskkill");
        command.args(["/F", "/T", "/PID", &self.leader.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
        Vec::new()
    }
}
