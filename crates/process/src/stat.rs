//! What the system says about processes.

use std::{fs, path::Path};

/// What Linux reports about a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessStat {
    /// The name of its program, shortened.
    pub name: String,
    /// The letter of its state.
    pub state: char,
    /// The id of its parent.
    pub parent: u32,
    /// The id of its process group.
    pub group: u32,
    /// The id of its session.
    pub session: u32,
    /// When it started, in the units of `/proc`.
    pub start_time: u64,
}

impl ProcessStat {
    /// Looks up a process; `None` if there is none, or on other systems.
    pub fn of(id: u32) -> Option<ProcessStat> {
        let text = fs::read(format!("/proc/{id}/stat")).ok()?;
        ProcessStat::parse(&String::from_utf8_lossy(&text))
    }

    /// `1 (name) S 0 1 1 …`; a name may contain anything.
    fn parse(text: &str) -> Option<ProcessStat> {
        let (start, rest) = text.rsplit_once(')')?;
        let (_, name) = start.split_once('(')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let mut number = |skip: usize| fields.nth(skip)?.parse::<u64>().ok();
        let small = |number: Option<u64>| u32::try_from(number?).ok();
        let parent = small(number(0))?;
        let group = small(number(0))?;
        let session = small(number(0))?;
        // Field 22 of the line.
        let start_time = number(15)?;
        Some(ProcessStat { name: name.to_owned(), state, parent, group, session, start_time })
    }

    /// Whether it runs. A zombie does not run any more.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Whether a process is alive; `None` where that is unknown.
pub fn is_alive(id: u32) -> Option<bool> {
    if Path::new("/proc/self/stat").exists() {
        return Some(ProcessStat::of(id).is_some_and(|stat| stat.is_alive()));
    }
    process_name(id).map(|name| name.is_some())
}

/// When a process started, in the units of `/proc`; `None` where that is unknown.
pub fn start_time(id: u32) -> Option<String> {
    ProcessStat::of(id).map(|stat| stat.start_time.to_string())
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
    fn stat_line_is_parsed_with_any_process_name() {
        let line = "42 (a) b (c) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 0\n";
        let expected = ProcessStat {
            name: "a) b (c".to_owned(),
            state: 'S',
            parent: 7,
            group: 8,
            session: 9,
            start_time: 12345,
        };
        assert_eq!(ProcessStat::parse(line), Some(expected));
        for torn in ["", "42", "42 (a", "42 (a)", "42 (a) S", "42 (a) S 1 2 3 4", "42 (a) S x"] {
            assert_eq!(ProcessStat::parse(torn), None, "{torn}");
        }
    }

    #[test]
    fn this_process_is_alive() {
        assert_ne!(is_alive(std::process::id()), Some(false));
        assert_ne!(is_alive(u32::MAX), Some(true));
    }
}
