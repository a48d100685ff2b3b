//! The processes of a Linux system, and which of them belong to a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Read as _,
    time::{Duration, Instant},
};

use memchr::memmem::Finder;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How long is looked for what is left. What cannot be killed in that time is not ours to kill, or
/// makes more of itself than a machine can bear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a process's variables that are read.
const MAX_VARIABLE_BYTES: u64 = 4 << 20;

/// A command, and everything that comes from it.
#[derive(Clone, Debug)]
pub(super) struct ProcessFamily {
    leader: u32,
    mark: String,
    /// When the leader was born: nobody who is older belongs to it.
    start_time: u64,
}

/// A process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ProcessEntry {
    pub(super) name: String,
    state: char,
    parent: u32,
    group: u32,
    session: u32,
    pub(super) start_time: u64,
}

impl ProcessFamily {
    pub(super) fn new(leader: u32, mark: String) -> ProcessFamily {
        // If it is gone already, so is nearly everything else: then all may be looked at.
        let born = ProcessEntry::of(leader).map_or(0, |entry| entry.start_time);
        ProcessFamily { leader, mark, start_time: born }
    }

    /// Asks everybody who is not in the leader's group.
    pub(super) fn ask(&self) {
        for (number, entry) in self.members() {
            if entry.group != self.leader {
                signal(number, &entry, Signal::TERM);
            }
        }
    }

    /// Kills these, and then whoever belongs to it, until nobody is found twice in a row: one that
    /// is just turning into another program can be overlooked once.
    pub(super) fn kill(&self, first: &BTreeMap<u32, ProcessEntry>) {
        let until = Instant::now() + KILL_TIMEOUT;
        // Those who are not ours to kill.
        let mut spared = BTreeSet::new();
        kill_members(first, &mut spared);
        let mut quiet = 0;
        while quiet < 2 && Instant::now() < until {
            let mut members = self.members();
            members.retain(|number, _| !spared.contains(number));
            quiet = if members.is_empty() { quiet + 1 } else { 0 };
            kill_members(&members, &mut spared);
            if quiet < 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Everybody who belongs to it and is alive: those in its group, those with its mark, and
    /// whoever comes from one of them, by birth or by session.
    pub(super) fn members(&self) -> BTreeMap<u32, ProcessEntry> {
        let all = living_processes(self.start_time);
        let ours = std::process::id();
        let finder = Finder::new(self.mark.as_bytes());
        let mut members = BTreeMap::new();
        for (number, entry) in &all {
            let is_ours = *number == ours || *number <= 1;
            if !is_ours && (entry.group == self.leader || is_marked(*number, &finder)) {
                members.insert(*number, entry.clone());
            }
        }
        // The children of a leader that is dead have another parent, those of others may not.
        loop {
            let before = members.len();
            for (number, entry) in &all {
                let is_ours = *number == ours || *number <= 1;
                let comes = |from: u32| from == self.leader || members.contains_key(&from);
                if !is_ours && (comes(entry.parent) || comes(entry.session)) {
                    members.insert(*number, entry.clone());
                }
            }
            if members.len() == before {
                return members;
            }
        }
    }
}

pub(super) fn kill_members(members: &BTreeMap<u32, ProcessEntry>, spared: &mut BTreeSet<u32>) {
    for (number, entry) in members {
        if signal(*number, entry, Signal::KILL) == SignalDelivery::Refused {
            spared.insert(*number);
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

/// Sends a signal to a process, and to no other that has got its number since.
fn signal(number: u32, entry: &ProcessEntry, signal: Signal) -> SignalDelivery {
    let Some(process) = i32::try_from(number).ok().and_then(Pid::from_raw) else {
        return SignalDelivery::Gone;
    };
    let sent = match pidfd_open(process, PidfdFlags::empty()) {
        Ok(handle) => {
            match ProcessEntry::of(number).is_some_and(|now| now.start_time == entry.start_time) {
                true => pidfd_send_signal(handle, signal),
                false => return SignalDelivery::Gone,
            }
        }
        // A kernel that knows no such handles.
        Err(rustix::io::Errno::NOSYS) => rustix::process::kill_process(process, signal),
        Err(error) => Err(error),
    };
    match sent {
        Ok(()) => SignalDelivery::Delivered,
        Err(rustix::io::Errno::PERM) => SignalDelivery::Refused,
        Err(_) => SignalDelivery::Gone,
    }
}

/// All processes that are alive and not older than that.
pub(super) fn living_processes(born: u64) -> BTreeMap<u32, ProcessEntry> {
    let Ok(folder) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let numbers = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let entries = numbers.filter_map(|number| Some((number, ProcessEntry::of(number)?)));
    entries.filter(|(_, entry)| entry.start_time >= born && entry.is_alive()).collect()
}

fn is_marked(number: u32, finder: &Finder<'_>) -> bool {
    finder.find(&variables(number)).is_some()
}

/// The variables of a process; none, if it is not ours to look at.
pub(super) fn variables(number: u32) -> Vec<u8> {
    let mut variables = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{number}/environ")) {
        // What was read before something went wrong counts.
        let _ = file.take(MAX_VARIABLE_BYTES).read_to_end(&mut variables);
    }
    variables
}

impl ProcessEntry {
    pub(super) fn of(number: u32) -> Option<ProcessEntry> {
        let text = fs::read(format!("/proc/{number}/stat")).ok()?;
        ProcessEntry::parse(&String::from_utf8_lossy(&text))
    }

    /// `1 (name) S 0 1 1 …`; a name may hold anything.
    fn parse(text: &str) -> Option<ProcessEntry> {
        let (start, rest) = text.rsplit_once(')')?;
        let (_, name) = start.split_once('(')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let mut number = |skip: usize| fields.nth(skip)?.parse::<u64>().ok();
        let small = |number: Option<u64>| u32::try_from(number?).ok();
        let parent = small(number(0))?;
        let group = small(number(0))?;
        let session = small(number(0))?;
        // The 22nd field in all.
        let born = number(15)?;
        Some(ProcessEntry {
            name: name.to_owned(),
            state,
            parent,
            group,
            session,
            start_time: born,
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_system_is_read_whatever_the_name_is() {
        let line = "42 (a) b (c) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 0\n";
        let entry = ProcessEntry::parse(line);
        let expected = ProcessEntry {
            name: "a) b (c".to_owned(),
            state: 'S',
            parent: 7,
            group: 8,
            session: 9,
            start_time: 12345,
        };
        assert_eq!(entry, Some(expected));
        for torn in ["", "42", "42 (a", "42 (a)", "42 (a) S", "42 (a) S 1 2 3 4", "42 (a) S x"] {
            assert_eq!(ProcessEntry::parse(torn), None, "{torn}");
        }
    }

    #[test]
    fn this_process_is_there_and_never_a_member() {
        let ours = std::process::id();
        let entry = ProcessEntry::of(ours);
        assert!(entry.as_ref().is_some_and(ProcessEntry::is_alive));
        // Even if everything about it fits.
        let family = ProcessFamily { leader: ours, mark: String::new(), start_time: 0 };
        assert!(!family.members().contains_key(&ours));
    }
}
