//! Counts of durations in little memory: 64 steps between a time and its double.

/// Steps between a time and its double, as a power of two.
const STEPS: u32 = 6;

/// Counts of nanoseconds.
#[derive(Clone, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    most: u64,
}

impl Histogram {
    /// One more.
    pub fn add(&mut self, nanoseconds: u64) {
        let at = step(nanoseconds);
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
        self.total += 1;
        self.most = self.most.max(nanoseconds);
    }

    /// All of another.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.most = self.most.max(other.most);
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// So large a part took at most so many nanoseconds.
    pub fn at(&self, part: f64) -> u64 {
        let wanted = (self.total as f64 * part).ceil() as u64;
        let mut counted = 0;
        for (at, count) in self.counts.iter().enumerate() {
            counted += count;
            if counted >= wanted.max(1) {
                return middle(at).min(self.most);
            }
        }
        self.most
    }

    /// How many took longer; exact to a step.
    pub fn longer_than(&self, nanoseconds: u64) -> u64 {
        self.counts.iter().skip(step(nanoseconds) + 1).sum()
    }
}

fn step(nanoseconds: u64) -> usize {
    let octave = nanoseconds.checked_ilog2().unwrap_or(0).saturating_sub(STEPS);
    ((octave as usize) << STEPS) + (nanoseconds >> octave) as usize
}

/// What stands for everything in a step.
fn middle(step: usize) -> u64 {
    let octave = (step >> STEPS).saturating_sub(1) as u32;
    let low = (step as u64 - (u64::from(octave) << STEPS)) << octave;
    low + ((1 << octave) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_fine_enough_and_in_order() {
        for nanoseconds in (0..200_000_u64).chain((1..60).map(|power| 1 << power)) {
            let found = middle(step(nanoseconds));
            assert!(found.abs_diff(nanoseconds) * 64 <= nanoseconds, "{nanoseconds} {found}");
            assert!(step(nanoseconds + 1) >= step(nanoseconds), "{nanoseconds}");
        }
    }

    #[test]
    fn parts_of_a_hundred_are_found() {
        let mut histogram = Histogram::default();
        (1..=50_u64).for_each(|number| histogram.add(number));
        let mut other = Histogram::default();
        (51..=100_u64).for_each(|number| other.add(number));
        histogram.merge(&other);
        assert_eq!((histogram.at(0.5), histogram.at(0.99), histogram.most()), (50, 99, 100));
        assert_eq!((histogram.total(), histogram.longer_than(90)), (100, 10));
    }
}
