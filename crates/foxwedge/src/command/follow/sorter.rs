//! Sorts the events of a log and removes duplicates. The result has no sequence numbers and no
//! epochs, because it is recorded as a new run.

use foxwedge_run::{
    MachineInput, MachineSettings, RunEffect, RunEvent, RunWarning, SessionMachine,
};

use super::warnings::FollowWarnings;

/// A run machine that is used only for sorting.
pub(super) struct FollowEventSorter {
    machine: SessionMachine,
}

impl FollowEventSorter {
    pub(super) fn new(settings: MachineSettings) -> FollowEventSorter {
        FollowEventSorter { machine: SessionMachine::new(settings) }
    }

    /// When waiting events are released without new input.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.machine.deadline()
    }

    /// Adds events, if any, and returns those that are in order or due.
    pub(super) fn sort(
        &mut self,
        now: u64,
        events: Vec<RunEvent>,
        warnings: &mut FollowWarnings,
    ) -> Vec<RunEvent> {
        let mut effects = Vec::new();
        self.machine.apply(now, MachineInput::Tick, &mut effects);
        for event in events {
            self.machine.apply(now, MachineInput::Event(event), &mut effects);
        }
        let mut sorted = Vec::new();
        for effect in effects {
            match effect {
                RunEffect::Emit(event) => sorted.push(RunEvent { epoch: None, seq: None, ..event }),
                // The main machine warns about these again.
                RunEffect::Warn(
                    RunWarning::NeverCalled { .. } | RunWarning::UnknownWord { .. },
                ) => {}
                RunEffect::Warn(warning) => warnings.push(&warning),
                RunEffect::Show { .. }
                | RunEffect::Resolve { .. }
                | RunEffect::CancelTool { .. }
                | RunEffect::Announce { .. }
                | RunEffect::Drain { .. } => {}
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use foxwedge_run::{EventPayload, wire};

    use super::*;

    #[test]
    fn a_shuffled_log_comes_out_in_its_order() {
        let lines = [
            r#"{"type":"text","runId":"r","seq":3,"delta":"b"}"#,
            r#"{"type":"run-started","runId":"r","epoch":7,"seq":1}"#,
            r#"{"type":"text","runId":"r","seq":3,"delta":"b"}"#,
            r#"{"type":"text","runId":"r","seq":2,"delta":"a"}"#,
            r#"{"type":"run-ended","runId":"r","seq":5}"#,
        ];
        let events = lines.iter().filter_map(|line| wire::read(line).ok()).collect();
        let (mut sorter, mut warnings) =
            (FollowEventSorter::new(MachineSettings::default()), FollowWarnings::default());
        let mut sorted = sorter.sort(0, events, &mut warnings);
        assert_eq!((sorted.len(), sorter.deadline()), (3, Some(2_000)));
        sorted.extend(sorter.sort(2_000, Vec::new(), &mut warnings));
        let written: Vec<String> = sorted.iter().map(wire::write).collect();
        assert_eq!(written[1], r#"{"type":"text","runId":"r","delta":"a"}"#);
        assert_eq!(written[2], r#"{"type":"text","runId":"r","delta":"b"}"#);
        assert!(matches!(sorted[3].body, EventPayload::Ended(_)), "{written:?}");
        let expected = matches!(warnings.first[..], [RunWarning::Missing { from: 4, to: 4, .. }]);
        assert!(expected && warnings.all == 1, "{warnings:?}");
    }
}
