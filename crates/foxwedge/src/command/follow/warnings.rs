//! Collects run warnings.

use foxwedge_run::RunWarning;

/// Maximum number of warnings stored; the others are only counted.
const MAX_WARNINGS: usize = 100;

/// The first warnings, and the number of all.
#[derive(Clone, Debug, Default)]
pub(super) struct FollowWarnings {
    pub(super) first: Vec<RunWarning>,
    /// The number of all warnings.
    pub(super) all: usize,
}

impl FollowWarnings {
    pub(super) fn push(&mut self, warning: &RunWarning) {
        self.all += 1;
        if self.first.len() < MAX_WARNINGS {
            self.first.push(warning.clone());
        }
    }
}
