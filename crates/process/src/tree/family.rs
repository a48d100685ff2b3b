//! The processes of a Linux system, and which of them belong to a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Read as _,
    time::{Duration, Instant},
};

use memchr::memmem::Finder;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::ProcessStat;

/// How long to keep killing. A process that cannot be killed in this time is not ours, or
/// multiplies faster than the machine can handle.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes read of a process's variables.
const MAX_VARIABLE_BYTES: u64 = 4 << 20;

/// A command and all its descendants.
#[derive(Clone, Debug)]
pub(super) struct ProcessFamily {
    leader: u32,
    mark: String,
    /// Start time of the leader: no older process belongs to it.
    start_time: u64,
}

impl ProcessFamily {
    pub(super) fn new(leader: u32, mark: String) -> ProcessFamily {
        // If it is gone, nearly everything else is too; then all processes are checked.
        let start_time = ProcessStat::of(leader).map_or(0, |entry| entry.start_time);
        ProcessFamily { leader, mark, start_time }
    }

    /// Asks all processes outside the leader's group to end.
    pub(super) fn ask(&self) {
        for (pid, entry) in self.members() {
            if entry.group != self.leader {
                signal(pid, &entry, Signal::TERM);
            }
        }
    }

    /// Kills these processes, then all other members, until two checks in a row find none: a
    /// process that is just executing another program can be missed once, and one that was killed
    /// is alive until it runs again.
    pub(super) fn kill(&self, first: &BTreeMap<u32, ProcessStat>) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        // Processes that we may not kill.
        let mut spared = BTreeSet::new();
        let mut known = first.clone();
        kill_members(first, &mut spared);
        let mut empty_checks = 0;
        while empty_checks < 2 && Instant::now() < deadline {
            let mut members = self.members_with(&known);
            members.retain(|pid, _| !spared.contains(pid));
            known.extend(members.iter().map(|(pid, entry)| (*pid, entry.clone())));
            empty_checks = if members.is_empty() { empty_checks + 1 } else { 0 };
            kill_members(&members, &mut spared);
            if empty_checks < 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// All living members: those in its group, those with its mark, and their descendants by
    /// parentage or by session.
    pub(super) fn members(&self) -> BTreeMap<u32, ProcessStat> {
        self.members_with(&BTreeMap::new())
    }

    /// All living members, including those that were known to be members while their parents lived.
    fn members_with(&self, known: &BTreeMap<u32, ProcessStat>) -> BTreeMap<u32, ProcessStat> {
        let all = living_processes(self.start_time);
        let own_pid = std::process::id();
        let finder = Finder::new(self.mark.as_bytes());
        let is_known = |pid: &u32, entry: &ProcessStat| {
            known.get(pid).is_some_and(|known| known.start_time == entry.start_time)
        };
        let mut members = BTreeMap::new();
        for (pid, entry) in &all {
            let is_ours = *pid == own_pid || *pid <= 1;
            let is_member =
                entry.group == self.leader || is_known(pid, entry) || is_marked(*pid, &finder);
            if !is_ours && is_member {
                members.insert(*pid, entry.clone());
            }
        }
        // The children of a dead leader have another parent; those of other members may not.
        loop {
            let before = members.len();
            for (pid, entry) in &all {
                let is_ours = *pid == own_pid || *pid <= 1;
                let descends = |from: u32| from == self.leader || members.contains_key(&from);
                if !is_ours && (descends(entry.parent) || descends(entry.session)) {
                    members.insert(*pid, entry.clone());
                }
            }
            if members.len() == before {
                return members;
            }
        }
    }
}

pub(super) fn kill_members(members: &BTreeMap<u32, ProcessStat>, spared: &mut BTreeSet<u32>) {
    for (pid, entry) in members {
        if signal(*pid, entry, Signal::KILL) == SignalDelivery::Refused {
            spared.insert(*pid);
        }
    }
}

/// Whether a signal reached a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SignalDelivery {
    Delivered,
    Gone,
    Refused,
}

/// Sends a signal to a process, but not to another one that has its id by now.
fn signal(pid: u32, entry: &ProcessStat, signal: Signal) -> SignalDelivery {
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return SignalDelivery::Gone;
    };
    let sent = match pidfd_open(process, PidfdFlags::empty()) {
        Ok(handle) => {
            match ProcessStat::of(pid).is_some_and(|now| now.start_time == entry.start_time) {
                true => pidfd_send_signal(handle, signal),
                false => return SignalDelivery::Gone,
            }
        }
        // The kernel does not support such handles.
        Err(rustix::io::Errno::NOSYS) => rustix::process::kill_process(process, signal),
        Err(error) => Err(error),
    };
    match sent {
        Ok(()) => SignalDelivery::Delivered,
        Err(rustix::io::Errno::PERM) => SignalDelivery::Refused,
        Err(_) => SignalDelivery::Gone,
    }
}

/// All living processes that are not older than `start_time`.
pub(super) fn living_processes(start_time: u64) -> BTreeMap<u32, ProcessStat> {
    let Ok(folder) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let entries = pids.filter_map(|pid| Some((pid, ProcessStat::of(pid)?)));
    entries.filter(|(_, entry)| entry.start_time >= start_time && entry.is_alive()).collect()
}

fn is_marked(pid: u32, finder: &Finder<'_>) -> bool {
    finder.find(&variables(pid)).is_some()
}

/// The variables of a process; empty if we may not read them.
pub(super) fn variables(pid: u32) -> Vec<u8> {
    let mut variables = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/environ")) {
        // Keep what was read before an error.
        let _ = file.take(MAX_VARIABLE_BYTES).read_to_end(&mut variables);
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_without_marks_stays_one_after_its_parent_is_gone() -> std::io::Result<()> {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn()?;
        let stat = ProcessStat::of(child.id());
        let family = ProcessFamily {
            leader: u32::MAX,
            mark: "no process has this".to_owned(),
            start_time: 0,
        };
        let known: BTreeMap<_, _> = stat.map(|stat| (child.id(), stat)).into_iter().collect();
        let is_alone = !family.members().contains_key(&child.id());
        let is_found = family.members_with(&known).contains_key(&child.id());
        family.kill(&known);
        let is_alive = ProcessStat::of(child.id()).is_some_and(|stat| stat.is_alive());
        child.wait()?;
        assert!(is_alone && is_found && !is_alive, "{is_alone} {is_found} {is_alive}");
        Ok(())
    }

    #[test]
    fn this_process_is_alive_but_never_a_member() {
        let own_pid = std::process::id();
        let entry = ProcessStat::of(own_pid);
        assert!(entry.as_ref().is_some_and(ProcessStat::is_alive));
        // Even if it matches in every way.
        let family = ProcessFamily { leader: own_pid, mark: String::new(), start_time: 0 };
        assert!(!family.members().contains_key(&own_pid));
    }
}
