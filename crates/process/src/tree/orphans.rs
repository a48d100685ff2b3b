//! Processes that commands of dead programs left running. A program that is killed by force cannot
//! end them; the next one can.

use std::{collections::BTreeSet, fs};

use memchr::memmem::find;

use super::{
    MARK_VARIABLE,
    family::{kill_members, living_processes, variables},
};
use crate::ProcessStat;

/// Identifies this process: id, start time and process namespace. Every mark begins with it.
pub(crate) fn mark_prefix() -> String {
    let pid = std::process::id();
    let start_time = ProcessStat::of(pid).map_or(0, |entry| entry.start_time);
    format!("{pid}-{start_time}-{}", space())
}

/// Kills what commands of dead programs left running. Returns their names.
pub(crate) fn kill_orphans() -> Vec<String> {
    let mut names = Vec::new();
    let mut spared = BTreeSet::new();
    // A process that is just executing another program can be missed once.
    for _ in 0..2 {
        let mut orphans = living_processes(0);
        orphans.retain(|pid, _| !spared.contains(pid) && is_orphan(*pid));
        kill_members(&orphans, &mut spared);
        names.extend(orphans.into_values().map(|entry| entry.name));
    }
    names.sort();
    names.dedup();
    names
}

/// Whether a process was started by a call whose program is gone. The last mark counts: a call
/// within a call has both.
fn is_orphan(pid: u32) -> bool {
    let variables = variables(pid);
    let name = format!("{MARK_VARIABLE}=");
    let begins = |at: usize| at == 0 || variables.get(at - 1) == Some(&0);
    let Some(at) = find(&variables, name.as_bytes()).filter(|at| begins(*at)) else { return false };
    let value = variables.get(at + name.len()..).unwrap_or_default();
    let value = value.split(|byte| *byte == 0).next().unwrap_or_default();
    let Ok(value) = std::str::from_utf8(value) else { return false };
    let mut parts = value.rsplit(':').next().unwrap_or_default().split('-');
    let (Some(maker), Some(start_time), Some(space)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    // A process id is meaningful only within its namespace.
    space == self::space() && maker.parse().is_ok_and(|maker| is_gone(maker, start_time))
}

fn is_gone(maker: u32, start_time: &str) -> bool {
    match ProcessStat::of(maker) {
        Some(entry) => !entry.is_alive() || entry.start_time.to_string() != start_time,
        None => true,
    }
}

/// The process namespace, as digits; empty where it is unknown.
fn space() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn spawn_sleeper(mark: &str) -> Child {
        Command::new("sleep").arg("600").env(MARK_VARIABLE, mark).spawn().expect("a process")
    }

    #[test]
    fn only_processes_of_dead_programs_are_killed() {
        let (own_mark, space) = (mark_prefix(), space());
        let mut spared = [
            spawn_sleeper(&format!("{own_mark}-0123")),
            spawn_sleeper(&format!("4194999-1-{space}-0123:{own_mark}-0123")),
            spawn_sleeper("4194999-1-77-0123"),
            spawn_sleeper("0123456789abcdef"),
            spawn_sleeper(""),
        ];
        let mut orphans = [
            spawn_sleeper(&format!("4194999-1-{space}-0123")),
            spawn_sleeper(&format!("{own_mark}-0123:4194999-1-{space}-0123")),
            // The id of a living program with another start time.
            spawn_sleeper(&format!("{}-1-{space}-0123", std::process::id())),
        ];
        // A process has its variables only after it has executed its program.
        let marked =
            |child: &Child| find(&variables(child.id()), MARK_VARIABLE.as_bytes()).is_some();
        while !orphans.iter().chain(&spared).all(marked) {
            std::thread::yield_now();
        }
        let names = kill_orphans();
        assert!(names.iter().any(|name| name == "sleep"), "{names:?}");
        for child in &mut orphans {
            let status = child.wait().expect("it ended");
            assert!(!status.success());
        }
        for child in &mut spared {
            assert_eq!(child.try_wait().expect("its state"), None);
            child.kill().expect("it is ours");
            child.wait().expect("it ended");
        }
    }
}
