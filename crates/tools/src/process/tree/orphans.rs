//! What calls of dead programs left running. Whoever is killed by force cannot end what it started;
//! the next one can.

use std::{collections::BTreeSet, fs};

use memchr::memmem::find;

use super::table::{ProcessEntry, kill_members, living_processes, variables};
use crate::process::MARK;

/// Who starts commands: this process since its start, among the processes that it can see. It stands
/// in front of every mark.
pub(crate) fn maker() -> String {
    let number = std::process::id();
    let born = ProcessEntry::of(number).map_or(0, |entry| entry.start_time);
    format!("{number}-{born}-{}", space())
}

/// Kills what calls of dead programs left running, and tells their names.
pub(crate) fn kill_orphans() -> Vec<String> {
    let mut names = Vec::new();
    let mut spared = BTreeSet::new();
    // One that is just turning into another program can be overlooked once.
    for _ in 0..2 {
        let mut left = living_processes(0);
        left.retain(|number, _| !spared.contains(number) && is_left(*number));
        kill_members(&left, &mut spared);
        names.extend(left.into_values().map(|entry| entry.name));
    }
    names.sort();
    names.dedup();
    names
}

/// Whether a process was started by a call whose program is gone. The last mark counts: a call
/// within a call bears both.
fn is_left(number: u32) -> bool {
    let variables = variables(number);
    let name = format!("{MARK}=");
    let begins = |at: usize| at == 0 || variables.get(at - 1) == Some(&0);
    let Some(at) = find(&variables, name.as_bytes()).filter(|at| begins(*at)) else { return false };
    let value = variables.get(at + name.len()..).unwrap_or_default();
    let value = value.split(|byte| *byte == 0).next().unwrap_or_default();
    let Ok(value) = std::str::from_utf8(value) else { return false };
    let mut parts = value.rsplit(':').next().unwrap_or_default().split('-');
    let (Some(maker), Some(born), Some(space)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    // A number means nothing among other processes.
    space == self::space() && maker.parse().is_ok_and(|maker| is_gone(maker, born))
}

fn is_gone(maker: u32, born: &str) -> bool {
    match ProcessEntry::of(maker) {
        Some(entry) => !entry.is_alive() || entry.start_time.to_string() != born,
        None => true,
    }
}

/// The space in which processes are numbered, as digits; empty where nobody says.
fn space() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(mark: &str) -> Child {
        Command::new("sleep").arg("600").env(MARK, mark).spawn().expect("a process")
    }

    #[test]
    fn only_what_a_dead_program_left_is_ended() {
        let (us, space) = (maker(), space());
        let mut spared = [
            sleeper(&format!("{us}-0123")),
            sleeper(&format!("4194999-1-{space}-0123:{us}-0123")),
            sleeper("4194999-1-77-0123"),
            sleeper("0123456789abcdef"),
            sleeper(""),
        ];
        let mut left = [
            sleeper(&format!("4194999-1-{space}-0123")),
            sleeper(&format!("{us}-0123:4194999-1-{space}-0123")),
            // The number of a program that lives, and another start.
            sleeper(&format!("{}-1-{space}-0123", std::process::id())),
        ];
        // A process has its variables once it has become another program.
        let marked = |child: &Child| find(&variables(child.id()), MARK.as_bytes()).is_some();
        while !left.iter().chain(&spared).all(marked) {
            std::thread::yield_now();
        }
        let names = kill_orphans();
        assert!(names.iter().any(|name| name == "sleep"), "{names:?}");
        for child in &mut left {
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
