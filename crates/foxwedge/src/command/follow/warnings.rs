//! What an operator may want to know.

use foxwedge_run::Warning;

/// Warnings that are kept; the others are counted.
const KEPT: usize = 100;

/// What an operator may want to know, as much of it as anybody would read.
#[derive(Clone, Debug, Default)]
pub(super) struct Warnings {
    pub(super) first: Vec<Warning>,
    /// How many there were.
    pub(super) all: usize,
}

impl Warnings {
    pub(super) fn push(&mut self, warning: &Warning) {
        self.all += 1;
        if self.first.len() < KEPT {
            self.first.push(warning.clone());
        }
    }
}
