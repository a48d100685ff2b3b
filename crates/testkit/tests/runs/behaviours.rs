//! What the machine promises, one behaviour after the other: the effects as well as the state.
//! Here: ends, runs and calls.

mod helper;
mod told;
mod defects;

use foxwedge_run::{SharedId, history};

use self::helper::{Step, did, follow, tell};
use super::script::{log, source};

#[test]
fn b3_1_the_first_of_many_ends_stands() {
    let table = [
        ("stop; fatal no; end completed", "ended stopped"),
        ("fatal no; stop; end completed", "ended failed"),
        ("end completed hi; fatal no; stop", "ended completed hi"),
        ("end; stop; stop; stop", "ended no_text"),
        ("silence; end completed hi", "ended failed"),
        ("end max_turns; end completed hi", "ended max_turns"),
        ("end refused no; stop", "ended refused no"),
        ("stop; stop; end completed hi", "ended stopped"),
        ("stop 500; end completed hi", "ended stopped"),
    ];
    for (script, expected) in table {
        let told = tell(&source("A", &format!("start; {script}; say m late; call z")));
        assert_eq!(told.run("A"), expected, "{script}");
        let outcome = expected.split(' ').nth(1).unwrap_or_default();
        assert_eq!(told.deeds(), format!("announce A {outcome}; drain A 3000"), "{script}");
        let ends = told.log().matches("run-ended").count();
        assert_eq!(ends, 1, "{script}: {}", told.log());
    }
}

#[test]
fn b3_1_a_stop_with_patience_is_decided_at_once() {
    let table = [
        // What is at work may finish, and then it is over.
        (
            "call a as=running; stop 500; ok a x",
            "ended stopped: a succeeded",
            "call-off a; announce A stopped; drain A 3000",
        ),
        // What has not begun never will.
        (
            "call a; call b as=running; stop 500",
            "stopping stopped: a cancelled run_ended, b running",
            "call-off b",
        ),
        // A second wish has no patience.
        (
            "call a as=running; stop 500; stop",
            "ended stopped: a interrupted run_ended",
            "call-off a; call-off a; announce A stopped; drain A 3000",
        ),
        // Nothing new begins.
        (
            "call a as=running; stop 500; call b; ok a x",
            "ended stopped: a succeeded",
            "call-off a; announce A stopped; drain A 3000",
        ),
    ];
    for (script, state, deeds) in table {
        assert_eq!(
            did(&format!("start; {script}")),
            (state.to_owned(), deeds.to_owned()),
            "{script}"
        );
    }
    let told = follow(&[
        Step::Give(0, source("A", "start; call a as=running; stop 500")),
        Step::Wait(499),
        Step::Wait(500),
    ]);
    assert_eq!(told.run("A"), "ended stopped: a interrupted run_ended");
    assert_eq!(told.deeds(), "call-off a; call-off a; announce A stopped; drain A 3500");
}

#[test]
fn b3_2_nothing_is_told_behind_the_end_and_the_source_is_drained() {
    let mut told = tell(&source("A", "start; call a; stop"));
    assert_eq!(told.deeds(), "announce A stopped; drain A 3000");
    let before = told.session.canonical_state();
    let effects = told.give(
        0,
        source("A", "ok a x; say m y; call b; ask b r; tasks t=pending; end completed hi; turn"),
    );
    assert_eq!(effects, 0);
    assert_eq!(told.session.canonical_state(), before);
    let counts = told.session.run("A").expect("it is known").counts();
    assert_eq!(counts.late, 7);
}

#[test]
fn b3_3_nothing_is_open_behind_the_end_in_table_log_and_history() {
    let script = "start; turn 1; call p; call w as=running; call q name=AskUserQuestion; \
                  call u as=strange; call a; ask a r1; call done; ok done x";
    let closed = "a cancelled run_ended, done succeeded, p cancelled run_ended, q cancelled run_ended, \
                  u interrupted run_ended, w interrupted run_ended";
    for (end, outcome) in [
        ("stop", "stopped"),
        ("end completed hi", "completed hi"),
        ("fatal no", "failed"),
        ("end", "no_text"),
    ] {
        let told = tell(&source("A", &format!("{script}; {end}")));
        assert_eq!(told.run("A"), format!("ended {outcome}: {closed}"), "{end}");
        // The log says the same to whoever reads it.
        let replayed = tell(&told.emitted());
        assert_eq!(replayed.session.canonical_state(), told.session.canonical_state(), "{end}");
        // And so does what is stored.
        let stored = history(told.session.run("A").expect("it is known"));
        let stored = serde_json::to_string(
            &stored.iter().map(|message| message.value()).collect::<Vec<_>>(),
        );
        let stored = stored.expect("it is JSON");
        assert_eq!(stored.matches("tool_use_id").count(), 6, "{stored}");
        assert_eq!(stored.matches("\"is_error\":true").count(), 5, "{stored}");
        assert_eq!(stored.matches("never ran").count(), 3, "{stored}");
    }
}

#[test]
fn b3_4_runs_do_not_touch_each_other() {
    let mut told = tell(&source("A", "start; call a as=running; tasks t=in_progress"));
    told.give(0, source("B", "start; call a"));
    // Whatever is told of A is of A, and the other way round.
    told.give(0, source("A", "ok a x"));
    assert_eq!(
        (told.run("A"), told.run("B")),
        ("running: a succeeded".into(), "running: a pending".into())
    );
    told.give(0, source("B", "ok a y; end completed hi"));
    assert_eq!(told.run("A"), "running: a succeeded");
    told.give(0, source("A", "say m x; end"));
    assert_eq!(
        (told.run("A"), told.run("B")),
        ("ended completed x: a succeeded".into(), "ended completed hi: a succeeded".into())
    );
    // The tasks that A left under way are done by A's end and by nobody else's.
    assert_eq!(told.tasks(), "t completed");
}

#[test]
fn b3_4_late_starts_are_refused_and_repeated_ones_change_nothing() {
    let mut told = tell(&log("B", 2, "start; call b"));
    let before = told.session.canonical_state();
    told.give(0, log("A", 1, "start; call a; end completed hi"));
    told.give(0, log("A", 1, "start"));
    told.give(0, log("C", 2, "start"));
    told.give(0, log("B", 2, "start"));
    told.give(0, source("B", "start"));
    assert_eq!(told.session.canonical_state(), before);
    assert_eq!(told.deeds(), "warn refused A OlderEpoch; warn refused C EpochTaken");
    assert_eq!(told.session.active().map(|run| run.id().clone()), Some(SharedId::from("B")));
}

#[test]
fn b3_4_a_newer_run_replaces_the_older_after_a_while() {
    let told = follow(&[
        Step::Give(0, source("A", "start; call a as=running")),
        Step::Give(10, source("B", "start")),
        Step::Wait(2_009),
        Step::Wait(2_010),
    ]);
    assert_eq!(told.run("A"), "ended replaced: a interrupted run_ended");
    assert_eq!(told.run("B"), "running");
    assert_eq!(told.deeds(), "call-off a; announce A replaced; drain A 5010");
}

#[test]
fn b3_5_events_before_their_start_wait_and_come_in_order() {
    let told = follow(&[
        Step::Give(0, source("A", "start; end completed old")),
        Step::Give(5, source("B", "say m hel; say m lo; call b")),
        Step::Give(2_004, source("B", "start")),
    ]);
    assert_eq!(told.run("B"), "running: b pending");
    let run = told.session.run("B").expect("it has begun");
    assert_eq!(run.texts()[0].text, "hello");
    assert_eq!(run.counts().accepted, 4);
}

#[test]
fn b3_5_what_waits_too_long_is_dropped_with_one_warning() {
    let told = follow(&[
        Step::Give(0, source("B", "say m x")),
        Step::Give(1_000, source("B", "say m y; call b")),
        Step::Wait(2_000),
        Step::Wait(3_000),
        Step::Give(3_001, source("B", "start")),
    ]);
    assert_eq!(told.deeds(), "warn never-started B 3");
    assert_eq!(told.run("B"), "running");
    assert_eq!(told.session.snapshot()["dropped"], 3);
}

#[test]
fn b3_6_results_and_calls_end_in_one_state_in_every_order() {
    let facts = ["call a as=running", "ok a x", "call a", "ok a x", "args a {}", "progress a p"];
    let mut seen = std::collections::BTreeSet::new();
    permute(&mut facts.map(str::to_owned), 0, &mut |order| {
        let (state, _) = did(&format!("start; {}; end completed hi", order.join("; ")));
        seen.insert(state);
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["ended completed hi: a succeeded"]);
}

#[test]
fn b3_7_calls_without_id_get_one_and_their_answers_in_order() {
    let table = [
        ("call -; call -; ok - x; error - y", "local-A-1 succeeded, local-A-2 failed"),
        ("ok - x; call -; call -; ok - y", "local-A-1 succeeded, local-A-2 succeeded"),
        ("turn 1; call -; turn 2; call -; ok - x", "local-A-1 pending, local-A-2 succeeded"),
        ("turn 1; call -; turn 2; ok - x", "local-A-1 succeeded"),
        ("call -; off -; call -; ok - x", "local-A-1 cancelled called_off, local-A-2 succeeded"),
        ("call local-A-1; call -; ok - x", "local-A-1 pending, local-A-2 succeeded"),
        ("call - in=; args - {; args - }; ok - x", "local-A-1 succeeded"),
    ];
    for (script, expected) in table {
        assert_eq!(did(&format!("start; {script}")).0, format!("running: {expected}"), "{script}");
    }
}

#[test]
fn b3_8_answers_whose_call_never_came_are_reported_and_closed() {
    let (state, deeds) = did("start; ok a x; denied b; call c; ok c x; end completed hi");
    assert_eq!(
        state,
        "ended completed hi: a succeeded never_called, b denied never_called, c succeeded"
    );
    assert_eq!(
        deeds,
        "warn never-called a; warn never-called b; announce A completed; drain A 3000"
    );
    // They are no calls of the run.
    let told = tell(&source("A", "start; ok a x; call c; ok c x; end"));
    let summary = told.session.run("A").expect("it is known").summary();
    assert_eq!(summary.calls, 1);
}

#[test]
fn b3_9_unknown_words_are_told_and_nothing_breaks() {
    let mut events = source("A", "start; call a as=strange; odd agent:mode; end strange hi");
    events[1].unknown_word = Some(SharedId::from("strange"));
    events[3].unknown_word = Some(SharedId::from("strange"));
    let told = tell(&events);
    assert_eq!(told.run("A"), "ended completed hi: a interrupted run_ended");
    assert_eq!(
        told.deeds(),
        "warn unknown strange; warn unknown agent:mode; warn unknown strange; announce A completed; drain A 3000"
    );
    assert_eq!(did("start; call a as=strange").0, "running: a unknown");
}

/// Every order of some words.
fn permute(words: &mut [String], from: usize, see: &mut dyn FnMut(&[String])) {
    if from == words.len() {
        return see(words);
    }
    for at in from..words.len() {
        words.swap(from, at);
        permute(words, from + 1, see);
        words.swap(from, at);
    }
}
