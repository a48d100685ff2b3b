//! Puts events of a log into their order, and leaves out what was told before. What comes out has
//! no places and no numbers of runs any more: it is a run of its own from here on.

use foxwedge_run::{Effect, Event, Input, Session, Settings, Warning};

use super::warnings::Warnings;

/// A machine that only sorts.
pub(super) struct Sorter {
    machine: Session,
}

impl Sorter {
    pub(super) fn new(settings: Settings) -> Sorter {
        Sorter { machine: Session::new(settings) }
    }

    /// When something comes out although nothing comes in.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.machine.deadline()
    }

    /// Takes events, or the time alone.
    pub(super) fn sort(
        &mut self,
        now: u64,
        events: Vec<Event>,
        warnings: &mut Warnings,
    ) -> Vec<Event> {
        let mut effects = Vec::new();
        self.machine.apply(now, Input::Tick, &mut effects);
        for event in events {
            self.machine.apply(now, Input::Event(event), &mut effects);
        }
        let mut sorted = Vec::new();
        for effect in effects {
            match effect {
                Effect::Emit(event) => sorted.push(Event { epoch: None, seq: None, ..event }),
                // An answer without a call is found again where the run is told.
                Effect::Warn(Warning::NeverCalled { .. } | Warning::UnknownWord { .. }) => {}
                Effect::Warn(warning) => warnings.push(&warning),
                Effect::Show { .. }
                | Effect::Resolve { .. }
                | Effect::CallOff { .. }
                | Effect::Announce { .. }
                | Effect::Drain { .. } => {}
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use foxwedge_run::{Body, wire};

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
        let (mut sorter, mut warnings) = (Sorter::new(Settings::default()), Warnings::default());
        let mut sorted = sorter.sort(0, events, &mut warnings);
        assert_eq!((sorted.len(), sorter.deadline()), (3, Some(2_000)));
        sorted.extend(sorter.sort(2_000, Vec::new(), &mut warnings));
        let told: Vec<String> = sorted.iter().map(wire::write).collect();
        assert_eq!(told[1], r#"{"type":"text","runId":"r","delta":"a"}"#);
        assert_eq!(told[2], r#"{"type":"text","runId":"r","delta":"b"}"#);
        assert!(matches!(sorted[3].body, Body::Ended(_)), "{told:?}");
        let only = matches!(warnings.first[..], [Warning::Missing { from: 4, to: 4, .. }]);
        assert!(only && warnings.all == 1, "{warnings:?}");
    }
}
