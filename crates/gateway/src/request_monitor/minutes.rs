//! Counts per minute for the last hours, in a ring of slots with a fixed size.

use foxwedge_core::rules;

use super::RequestEntry;

/// Latency bins: bounds start at half a millisecond and grow by this factor.
const GROWTH: f64 = 1.4;
const LEAST: f64 = 0.5;
const BINS: usize = 42;

/// Classes of statuses: `1xx` to `5xx`.
pub(crate) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// What the guard did.
pub(crate) const ACTIONS: [&str; 5] = ["none", "observed", "fixed", "rejected", "failed"];

/// Counts per minute.
pub(crate) struct MinuteCounts {
    slots: Box<[MinuteSlot]>,
}

/// One minute.
#[derive(Clone, Debug)]
pub(crate) struct MinuteSlot {
    /// Minutes since 1970; 0 if it was never used.
    pub(crate) minute: u64,
    pub(crate) requests: u32,
    pub(crate) status: [u32; CLASSES.len()],
    pub(crate) action: [u32; ACTIONS.len()],
    /// Indexed like the list of rules.
    pub(crate) findings: Box<[u32]>,
    pub(crate) repairs: Box<[u32]>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) first_byte_times: [u32; BINS],
    pub(crate) total_times: [u32; BINS],
}

impl Default for MinuteSlot {
    fn default() -> MinuteSlot {
        let rules = || vec![0; rules::ALL.len()].into();
        MinuteSlot {
            minute: 0,
            requests: 0,
            status: [0; CLASSES.len()],
            action: [0; ACTIONS.len()],
            findings: rules(),
            repairs: rules(),
            bytes_in: 0,
            bytes_out: 0,
            first_byte_times: [0; BINS],
            total_times: [0; BINS],
        }
    }
}

impl MinuteCounts {
    pub(super) fn new(minutes: usize) -> MinuteCounts {
        MinuteCounts { slots: vec![MinuteSlot::default(); minutes].into() }
    }

    /// Counts a request in the minute in which it arrived.
    pub(super) fn count(&mut self, entry: &RequestEntry) {
        let minute = entry.at / 60_000;
        let index = slot_index(minute, self.slots.len());
        let Some(slot) = self.slots.get_mut(index) else { return };
        // The request took longer than the ring covers.
        if slot.minute > minute {
            return;
        }
        if slot.minute < minute {
            *slot = MinuteSlot { minute, ..MinuteSlot::default() };
        }
        slot.add(entry);
    }

    /// The minutes since `minute` that have requests, in order.
    pub(crate) fn since(&self, minute: u64) -> Vec<MinuteSlot> {
        let used = |slot: &&MinuteSlot| slot.minute >= minute.max(1) && slot.requests > 0;
        let mut slots: Vec<MinuteSlot> = self.slots.iter().filter(used).cloned().collect();
        slots.sort_by_key(|slot| slot.minute);
        slots
    }
}

fn slot_index(minute: u64, slots: usize) -> usize {
    usize::try_from(minute % slots.max(1) as u64).unwrap_or(0)
}

impl MinuteSlot {
    fn add(&mut self, entry: &RequestEntry) {
        self.requests = self.requests.saturating_add(1);
        let class = usize::from(entry.status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        add_count(self.status.get_mut(class), 1);
        let action = ACTIONS.iter().position(|action| *action == entry.action);
        add_count(action.and_then(|at| self.action.get_mut(at)), 1);
        for finding in &entry.findings {
            let at = rules::ALL.iter().position(|rule| rule.code == finding.code);
            let count = u32::try_from(finding.count).unwrap_or(u32::MAX);
            add_count(at.and_then(|at| self.findings.get_mut(at)), count);
            if entry.action == "fixed" {
                add_count(at.and_then(|at| self.repairs.get_mut(at)), count);
            }
        }
        self.bytes_in = self.bytes_in.saturating_add(entry.bytes_in);
        self.bytes_out = self.bytes_out.saturating_add(entry.bytes_out);
        add_count(
            self.first_byte_times.get_mut(latency_bin(entry.until_first_byte.as_secs_f64() * 1e3)),
            1,
        );
        add_count(self.total_times.get_mut(latency_bin(entry.until_end.as_secs_f64() * 1e3)), 1);
    }

    /// Adds the counts of another slot.
    pub(crate) fn merge(&mut self, other: &MinuteSlot) {
        self.requests = self.requests.saturating_add(other.requests);
        self.bytes_in = self.bytes_in.saturating_add(other.bytes_in);
        self.bytes_out = self.bytes_out.saturating_add(other.bytes_out);
        let lists: [(&mut [u32], &[u32]); 6] = [
            (&mut self.status, &other.status),
            (&mut self.action, &other.action),
            (&mut self.findings, &other.findings),
            (&mut self.repairs, &other.repairs),
            (&mut self.first_byte_times, &other.first_byte_times),
            (&mut self.total_times, &other.total_times),
        ];
        for (mine, others) in lists {
            mine.iter_mut().zip(others).for_each(|(mine, more)| *mine = mine.saturating_add(*more));
        }
    }
}

fn add_count(count: Option<&mut u32>, by: u32) {
    if let Some(count) = count {
        *count = count.saturating_add(by);
    }
}

/// The bin of a time in milliseconds.
fn latency_bin(milliseconds: f64) -> usize {
    let mut bound = LEAST;
    for bin in 0..BINS - 1 {
        if milliseconds <= bound {
            return bin;
        }
        bound *= GROWTH;
    }
    BINS - 1
}

/// The percentile in milliseconds; `None` without data.
pub(crate) fn percentile(bins: &[u32], share: f64) -> Option<f64> {
    let total: u64 = bins.iter().map(|count| u64::from(*count)).sum();
    if total == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "nobody asks so often in a day")]
    let target = (total as f64 * share).max(1.0);
    let (mut count_so_far, mut bound) = (0.0, LEAST);
    for count in bins {
        count_so_far += f64::from(*count);
        if count_so_far >= target {
            break;
        }
        bound *= GROWTH;
    }
    // The geometric middle of the bin.
    let middle = bound / GROWTH.sqrt();
    Some((middle * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_fifth() {
        for (milliseconds, share) in [(1.0, 0.5), (12.0, 0.5), (900.0, 0.99), (60_000.0, 0.9)] {
            let mut bins = [0; BINS];
            bins[latency_bin(milliseconds)] = 100;
            let found = percentile(&bins, share).expect("there are some");
            assert!((found / milliseconds - 1.0).abs() < 0.2, "{milliseconds} is told as {found}");
        }
        let mut bins = [0; BINS];
        bins[latency_bin(10.0)] = 90;
        bins[latency_bin(1_000.0)] = 10;
        assert!(percentile(&bins, 0.5).is_some_and(|p50| p50 < 20.0));
        assert!(percentile(&bins, 0.95).is_some_and(|p95| p95 > 800.0));
        assert_eq!(percentile(&[0; BINS], 0.5), None);
    }
}
