//! Recordings all the way: through the follower and the machine.

use crate::{
    Body, Effect, Input, Outcome, Session, Settings, Status, Summary,
    follow::tests::{
        recordings::{recordings, same_as_file, source},
        story::follow,
    },
    step,
};

/// Longer than anybody may take after a stop.
const LATER: u64 = 1_000_000;

#[test]
fn every_recording_ends_once_and_as_it_did() {
    let mut table = String::new();
    for (recording, stream) in recordings() {
        let events = follow(source(&stream), &stream);
        let starts = |(_, event): &&(usize, crate::Event)| matches!(event.body, Body::Started(_));
        let runs = events.iter().filter(starts).count();
        let mut session = Session::new(Settings::default());
        let mut ends = 0;
        let inputs = events.into_iter().map(|(at, event)| (at as u64, Input::Event(event)));
        for (now, input) in inputs.chain([(LATER, Input::Tick)]) {
            let (next, effects) = step(session, now, input);
            session = next;
            for effect in effects {
                match effect {
                    Effect::Announce { run, ended, summary } => {
                        ends += 1;
                        let outcome = ended.outcome.map_or("-", Outcome::name);
                        table += &format!("{recording} {run}: {outcome}{}\n", calls(&summary));
                    }
                    Effect::Warn(warning) => table += &format!("{recording}: {warning:?}\n"),
                    Effect::Emit(_)
                    | Effect::Show { .. }
                    | Effect::Resolve { .. }
                    | Effect::CallOff { .. }
                    | Effect::Drain { .. } => {}
                }
            }
        }
        assert_eq!(ends, runs, "{recording}");
    }
    assert_eq!(same_as_file("outcomes", &table), Ok(()));
}

fn calls(summary: &Summary) -> String {
    let counts = Status::ALL.into_iter().map(|status| (status, summary.count(status)));
    let counts = counts.filter(|(_, count)| *count > 0);
    counts.map(|(status, count)| format!(" {} {count}", status.name())).collect()
}
