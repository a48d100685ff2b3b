//! What a session holds in memory while nothing happens in it.

use foxwedge_run::{MachineInput, MachineSettings, SessionMachine};

use super::steps::log;

const SESSIONS: usize = 2_000;

pub(crate) fn print() {
    println!(
        "memory: bytes for each of {SESSIONS} sessions at rest, resident set before and after\n"
    );
    let table = [
        ("no run yet", 0),
        ("one ended run of 1 turn (3 calls)", 1),
        ("… of 20 turns (60 calls)", 20),
    ];
    for (name, turns) in table {
        let Some(before) = resident() else {
            println!("  left out: /proc cannot be read\n");
            return;
        };
        let sessions: Vec<SessionMachine> = (0..SESSIONS).map(|_| rested(turns)).collect();
        let after = resident().unwrap_or(before);
        println!("  {name:<44}{:>8}", after.saturating_sub(before) / SESSIONS);
        // Kept, so that what comes next needs memory of its own.
        std::mem::forget(sessions);
    }
    println!();
}

fn rested(turns: u32) -> SessionMachine {
    let mut session = SessionMachine::new(MachineSettings::default());
    let mut effects = Vec::new();
    for event in if turns == 0 { Vec::new() } else { log(turns) } {
        session.apply(0, MachineInput::Event(event), &mut effects);
        effects.clear();
    }
    session
}

/// Bytes of this process that are in memory.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1_024)
}
