//! What a process has used, as Linux counts it. Elsewhere nothing is known.

use std::{fs, thread, time::Duration};

/// The unit in which Linux counts processor time, for programs: always a hundredth of a second.
const TICK: u64 = 10_000;

/// A process rests when it used no CPU time for so long.
const REST: Duration = Duration::from_millis(60);

/// How often a process is looked at until it rests.
const LOOKS: usize = 50;

/// A process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredProcess(pub u32);

impl MeasuredProcess {
    /// Microseconds of processor time so far, in the program and in the kernel for it.
    pub fn time(self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        time(&stat).unwrap_or(0)
    }

    /// Kilobytes in memory.
    pub fn memory(self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    /// Waits until it has nothing more to do: what is written behind the back of a request belongs
    /// to its cost.
    pub fn rest(self) {
        let mut before = self.time();
        for _ in 0..LOOKS {
            thread::sleep(REST);
            let now = self.time();
            if now == before {
                return;
            }
            before = now;
        }
    }
}

/// Two fields, the twelfth and the thirteenth behind the name, which may hold anything.
fn time(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 12 30 0 0 20 0 1 0 5";
        assert_eq!(time(stat), Some(420_000));
        assert_eq!(time("7 (a"), None);
    }
}
