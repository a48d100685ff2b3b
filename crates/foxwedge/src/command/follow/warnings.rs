//! What an operator may want to know.

use foxwedge_run::RunWarning;

/// Warnings that are kept; the others are counted.
const MAX_WARNINGS: usize = 100;

/// What an operator may want to know, as much of it as anybody would read.
#[derive(Clone, Debug, Default)]
pub(super) struct FollowWarnings {
    pub(super) first: Vec<RunWarning>,
    /// How many there were.
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
