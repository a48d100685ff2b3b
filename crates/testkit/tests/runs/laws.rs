//! The laws of runs, on random stories; and whether whoever judges would notice.

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, RunEvent, SessionMachine, SharedId,
};
use foxwedge_testkit::{
    Random,
    laws::{LawOptions, LawTally},
    runs::{
        laws::campaign,
        oracle::{LogEnding, truth},
        recorded, story,
    },
};

/// Stories of each half of a normal run; `cargo xtask laws --of runs` tries as many as there is
/// time for.
const STORIES: u64 = 600;

fn hold(seed: u64) {
    let LawTally { cases, violations, .. } =
        campaign(&LawOptions { cases: STORIES, seed, ..LawOptions::default() });
    assert_eq!(cases, STORIES);
    if let Some(breach) = violations.first() {
        let (law, seed) = (breach.law, breach.case.seed);
        panic!("{law}, seed {seed}: {}\n{}", breach.what, breach.document);
    }
}

#[test]
fn the_laws_of_runs_hold() {
    hold(1);
}

#[test]
fn the_laws_of_runs_hold_for_others() {
    hold(1_000_001);
}

#[test]
fn the_slow_reading_notices_what_is_changed() {
    let settings = MachineSettings::default();
    let (mut changed, mut noticed) = (0, 0);
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let log = recorded(&story(&mut random), &settings);
        let mut session = SessionMachine::new(settings.clone());
        for event in &log {
            session.apply(0, MachineInput::Event(event.clone()), &mut Vec::new());
        }
        assert_eq!(
            truth(&log, &settings, LogEnding::Nothing),
            session.canonical_state(),
            "seed {seed}"
        );
        for place in 0..log.len() {
            let mut other = log.clone();
            if is_mistaken(&mut other[place]) {
                changed += 1;
                noticed += u32::from(
                    truth(&other, &settings, LogEnding::Nothing) != session.canonical_state(),
                );
            }
        }
    }
    // What comes behind an end, or says what is known, may say what it likes.
    assert!(changed > 1_000 && noticed * 10 > changed * 6, "{noticed} of {changed}");
}

/// Makes a mistake of an event, if it is one that should matter.
fn is_mistaken(event: &mut RunEvent) -> bool {
    match &mut event.body {
        EventPayload::ToolResult(result) => result.call.id = Some(SharedId::from("mistaken")),
        EventPayload::ToolCall(call) => call.call.id = Some(SharedId::from("mistaken")),
        EventPayload::Text(text) => text.message = Some(SharedId::from("mistaken")),
        EventPayload::Ended(ended) => ended.text = Some("mistaken".to_owned()),
        _ => return false,
    }
    true
}
