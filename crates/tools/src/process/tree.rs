//! Everything that a command started, and how it is ended. On Linux that is its group, whoever
//! bears its mark, and their children, wherever they went; on other Unix systems its group; on
//! Windows its children.

#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod orphans;

/// Who starts commands, for the mark of what they start.
pub(super) fn maker() -> String {
    #[cfg(target_os = "linux")]
    return orphans::maker();
    #[cfg(not(target_os = "linux"))]
    return std::process::id().to_string();
}

/// Ends what calls of dead programs left running, and tells their names.
pub(super) fn end_orphans() -> Vec<String> {
    #[cfg(target_os = "linux")]
    return orphans::kill_orphans();
    #[cfg(not(target_os = "linux"))]
    return Vec::new();
}

/// Everything that a command started. A copy is the same.
#[derive(Clone, Debug)]
pub(super) struct ProcessTree {
    /// The number of the command, which is that of its group, too.
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
        // One that was halted hears nothing.
        self.signal(Signal::CONT);
    }

    /// Waits until nothing is left of it but the command itself, or for so long.
    #[cfg(target_os = "linux")]
    pub(super) fn wait(&self, longest: std::time::Duration) {
        let until = std::time::Instant::now() + longest;
        while self.family.members().keys().any(|number| *number != self.leader)
            && std::time::Instant::now() < until
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Nobody knows what is left.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn wait(&self, _: std::time::Duration) {}

    /// Kills all of it, and looks again until nothing is left of it. Tells what was there besides
    /// the command itself. Must not be called any more when the end of the command was noted:
    /// its number may be another's.
    #[cfg(target_os = "linux")]
    pub(super) fn kill(&self) -> Vec<String> {
        // Who belongs to it by birth alone is found only as long as the parents are alive.
        let members = self.family.members();
        self.signal(rustix::process::Signal::KILL);
        self.family.kill(&members);
        let others = members.into_iter().filter(|(number, _)| *number != self.leader);
        others.map(|(_, member)| member.name).collect()
    }

    /// Kills all of it, at once: even those in a group that are just being made.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn kill(&self) -> Vec<String> {
        self.signal(rustix::process::Signal::KILL);
        Vec::new()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        use rustix::process::{Pid, kill_process_group};
        if let Some(group) = i32::try_from(self.leader).ok().and_then(Pid::from_raw) {
            // One that is gone already needs none.
            let _ = kill_process_group(group, signal);
        }
    }
}

#[cfg(windows)]
impl ProcessTree {
    pub(super) fn new(leader: u32, _: String) -> ProcessTree {
        ProcessTree { leader }
    }

    /// There is no gentle way.
    pub(super) fn ask(&self) {
        self.kill();
    }

    /// Nobody knows what is left.
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
