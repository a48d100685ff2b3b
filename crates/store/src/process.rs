//! Who runs a run: a process on a machine, so spelled that another process of the same machine can
//! tell whether it is gone.

mod alive;

use std::fs;

pub use alive::{is_alive, process_name, start_time};

/// This process. A number of a process means something only on the same machine, since the same
/// start of it, and among the processes that can see each other.
pub fn current_owner() -> String {
    let id = std::process::id();
    match (start_time(id), machine_id()) {
        (Some(began), Some(machine)) => format!("foxwedge {id} {began} {machine}"),
        (_, _) => format!("foxwedge {id}"),
    }
}

/// Whether a process is gone for certain. One that cannot be seen from here may be at work.
pub fn is_gone(owner: &str) -> bool {
    machine_id().is_some_and(|machine| is_gone_from(owner, &machine))
}

fn is_gone_from(owner: &str, machine: &str) -> bool {
    let parts: Vec<&str> = owner.splitn(4, ' ').collect();
    let ["foxwedge", id, start, there] = parts.as_slice() else { return false };
    let Ok(id) = id.parse() else { return false };
    // The same number with another start is another process.
    *there == machine
        && (is_alive(id) == Some(false) || start_time(id).is_some_and(|it| it != *start))
}

/// This machine since it was started, and the space in which its processes are numbered; `None`
/// where that cannot be told.
pub fn machine_id() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), space.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_machine_is_known_to_be_gone() {
        if machine_id().is_none() {
            return;
        }
        let me = current_owner();
        let dead = me.replacen(&std::process::id().to_string(), "4294967295", 1);
        let table = [
            (me.clone(), false),
            (dead.clone(), true),
            (format!("{dead}0"), false),
            ("foxwedge 4294967295".to_owned(), false),
            ("somebody else".to_owned(), false),
            (String::new(), false),
        ];
        for (owner, expected) in table {
            assert_eq!(is_gone(&owner), expected, "{owner}");
        }
        let (began, machine) = (start_time(std::process::id()).unwrap_or_default(), "m 1");
        let other = format!("foxwedge {} {began}9 {machine}", std::process::id());
        assert!(is_gone_from(&other, machine) && !is_gone_from(&other, "m 2"));
    }
}
