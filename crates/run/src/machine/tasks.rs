//! The task list of a session, and what the end of a run does to it.

use crate::{Outcome, SharedId, TaskItem, TaskStatus};

/// The tasks of one session, and the run that last wrote them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct SessionTasks {
    list: Vec<TaskItem>,
    run: Option<SharedId>,
    epoch: u64,
}

impl SessionTasks {
    pub(super) fn list(&self) -> &[TaskItem] {
        &self.list
    }

    /// Replaces the list, unless a newer run has written one. Returns whether anything changed.
    pub(super) fn replace(&mut self, run: &SharedId, epoch: u64, tasks: &[TaskItem]) -> bool {
        if epoch < self.epoch {
            return false;
        }
        let same = self.run.as_ref() == Some(run) && self.list == tasks;
        self.list = tasks.to_vec();
        self.run = Some(run.clone());
        self.epoch = epoch;
        !same
    }

    /// Completes or pauses tasks in progress, if this run wrote the list. Returns whether anything
    /// changed.
    pub(super) fn finish(&mut self, run: &SharedId, outcome: Outcome) -> bool {
        if self.run.as_ref() != Some(run) {
            return false;
        }
        let status = match outcome {
            Outcome::Completed => TaskStatus::Completed,
            Outcome::Stopped
            | Outcome::Failed
            | Outcome::NoText
            | Outcome::MaxTurns
            | Outcome::Refused
            | Outcome::Replaced
            | Outcome::Interrupted => TaskStatus::Paused,
        };
        let mut changed = false;
        for task in &mut self.list {
            if task.status == TaskStatus::InProgress {
                task.status = status;
                changed = true;
            }
        }
        changed
    }
}
