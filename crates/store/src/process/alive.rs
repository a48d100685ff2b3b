//! What can be seen of other processes.

use std::{fs, path::Path};

/// Whether a process lives; `None` where that cannot be seen.
pub fn is_alive(id: u32) -> Option<bool> {
    if Path::new("/proc/self/stat").exists() {
        // One that is dead and not yet buried does nothing any more.
        return Some(stat(id).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X')));
    }
    process_name(id).map(|name| name.is_some())
}

/// When a process began, as Linux counts it; `None` where that cannot be seen.
pub fn start_time(id: u32) -> Option<String> {
    stat(id).map(|stat| stat.started)
}

/// What Linux tells of a process.
struct ProcessStat {
    state: char,
    started: String,
}

fn stat(id: u32) -> Option<ProcessStat> {
    parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// The name comes second, in brackets, and may hold brackets and spaces itself.
fn parse(line: &str) -> Option<ProcessStat> {
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some(ProcessStat { state, started: fields.nth(18)?.to_owned() })
}

/// The name of a process, where `ps` knows it; the outer `None` where there is no `ps`.
pub fn process_name(id: u32) -> Option<Option<String>> {
    if !cfg!(unix) {
        return None;
    }
    let number = id.to_string();
    let told = std::process::Command::new("ps").args(["-o", "comm=", "-p", &number]).output();
    let told = told.ok()?;
    Some(told.status.success().then(|| String::from_utf8_lossy(&told.stdout).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_may_hold_anything() {
        let line = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 990 20 21";
        let found = parse(line).map(|stat| (stat.state, stat.started));
        assert_eq!(found, Some(('S', "990".to_owned())));
        assert!(parse("12 (x").is_none() && parse("12 (x) S 1").is_none());
    }

    #[test]
    fn we_live() {
        assert_ne!(is_alive(std::process::id()), Some(false));
        assert_ne!(is_alive(u32::MAX), Some(true));
    }
}
