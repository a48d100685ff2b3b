//! Recordings through the follower and the state machine.

use crate::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunSummary, SessionMachine,
    ToolStatus,
    follow::tests::{
        recordings::{recordings, same_as_file, source},
        story::follow,
    },
    step,
};

/// Longer than any tool may take after a stop.
const LATER: u64 = 1_000_000;

#[test]
fn every_recording_ends_once_and_as_it_did() {
    let mut table = String::new();
    for (recording, stream) in recordings() {
        let events = follow(source(&stream), &stream);
        let starts =
            |(_, event): &&(usize, crate::RunEvent)| matches!(event.body, EventPayload::Started(_));
        let runs = events.iter().filter(starts).count();
        let mut session = SessionMachine::new(MachineSettings::default());
        let mut ends = 0;
        let inputs = events.into_iter().map(|(at, event)| (at as u64, MachineInput::Event(event)));
        for (now, input) in inputs.chain([(LATER, MachineInput::Tick)]) {
            let (next, effects) = step(session, now, input);
            session = next;
            for effect in effects {
                match effect {
                    RunEffect::Announce { run, ended, summary } => {
                        ends += 1;
                        let outcome = ended.outcome.map_or("-", Outcome::name);
                        table += &format!("{recording} {run}: {outcome}{}\n", calls(&summary));
                    }
                    RunEffect::Warn(warning) => table += &format!("{recording}: {warning:?}\n"),
                    RunEffect::Emit(_)
                    | RunEffect::Show { .. }
                    | RunEffect::Resolve { .. }
                    | RunEffect::CancelTool { .. }
                    | RunEffect::Drain { .. } => {}
                }
            }
        }
        assert_eq!(ends, runs, "{recording}");
    }
    assert_eq!(same_as_file("outcomes", &table), Ok(()));
}

fn calls(summary: &RunSummary) -> String {
    let counts = ToolStatus::ALL.into_iter().map(|status| (status, summary.count(status)));
    let counts = counts.filter(|(_, count)| *count > 0);
    counts.map(|(status, count)| format!(" {} {count}", status.name())).collect()
}
