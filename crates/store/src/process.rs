//! The owner of a run: a process on a machine, in a form that lets another process of the same
//! machine check whether it is gone.

use std::fs;

use foxwedge_process::{is_alive, start_time};

/// The owner string of this process. A process id is meaningful only on one machine, until it
/// reboots, and within one process namespace.
pub fn current_owner() -> String {
    let id = std::process::id();
    match (start_time(id), machine_id()) {
        (Some(started), Some(machine)) => format!("foxwedge {id} {started} {machine}"),
        (_, _) => format!("foxwedge {id}"),
    }
}

/// Whether a process is certainly gone. A process that cannot be seen from here may be running.
pub fn is_gone(owner: &str) -> bool {
    machine_id().is_some_and(|machine| is_gone_from(owner, &machine))
}

fn is_gone_from(owner: &str, machine: &str) -> bool {
    let parts: Vec<&str> = owner.splitn(4, ' ').collect();
    let ["foxwedge", id, start, owner_machine] = parts.as_slice() else { return false };
    let Ok(id) = id.parse() else { return false };
    // The same id with another start time is another process.
    *owner_machine == machine
        && (is_alive(id) == Some(false) || start_time(id).is_some_and(|current| current != *start))
}

/// This machine since its last boot, and the process namespace; `None` where they are unknown.
pub fn machine_id() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_machine_is_known_to_be_gone() {
        if machine_id().is_none() {
            return;
        }
        let own = current_owner();
        let dead = own.replacen(&std::process::id().to_string(), "4294967295", 1);
        let table = [
            (own.clone(), false),
            (dead.clone(), true),
            (format!("{dead}0"), false),
            ("foxwedge 4294967295".to_owned(), false),
            ("somebody else".to_owned(), false),
            (String::new(), false),
        ];
        for (owner, expected) in table {
            assert_eq!(is_gone(&owner), expected, "{owner}");
        }
        let (started, machine) = (start_time(std::process::id()).unwrap_or_default(), "m 1");
        let other = format!("foxwedge {} {started}9 {machine}", std::process::id());
        assert!(is_gone_from(&other, machine) && !is_gone_from(&other, "m 2"));
    }
}
