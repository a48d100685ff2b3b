//! Looks up other processes.

use std::{fs, path::Path};

/// Whether a process is alive; `None` where that is unknown.
pub fn is_alive(id: u32) -> Option<bool> {
    if Path::new("/proc/self/stat").exists() {
        // A zombie does not run any more.
        return Some(stat(id).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X')));
    }
    process_name(id).map(|name| name.is_some())
}

/// When a process started, in the units of `/proc`; `None` where that is unknown.
pub fn start_time(id: u32) -> Option<String> {
    stat(id).map(|stat| stat.started)
}

/// What Linux reports about a process.
struct ProcessStat {
    state: char,
    started: String,
}

fn stat(id: u32) -> Option<ProcessStat> {
    parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// The name comes second, in parentheses, and may contain parentheses and spaces.
fn parse(line: &str) -> Option<ProcessStat> {
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some(ProcessStat { state, started: fields.nth(18)?.to_owned() })
}

/// The name of a process, if `ps` knows it; the outer `None` if there is no `ps`.
pub fn process_name(id: u32) -> Option<Option<String>> {
    if !cfg!(unix) {
        return None;
    }
    let number = id.to_string();
    let output = std::process::Command::new("ps").args(["-o", "comm=", "-p", &number]).output();
    let output = output.ok()?;
    Some(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_may_contain_parentheses_and_spaces() {
        let line = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 990 20 21";
        let found = parse(line).map(|stat| (stat.state, stat.started));
        assert_eq!(found, Some(('S', "990".to_owned())));
        assert!(parse("12 (x").is_none() && parse("12 (x) S 1").is_none());
    }

    #[test]
    fn this_process_is_alive() {
        assert_ne!(is_alive(std::process::id()), Some(false));
        assert_ne!(is_alive(u32::MAX), Some(true));
    }
}
