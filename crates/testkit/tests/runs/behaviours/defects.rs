//! Nine mistakes that others have made.

use foxwedge_run::history;

use super::helper::{did, tell};
use crate::script::{log, source};

#[test]
fn d1_events_wait_although_an_older_run_is_known() {
    let mut told = tell(&log("A", 1, "start; end completed hi"));
    told.give(0, log("B", 2, "start; call b; ok b x").into_iter().rev().collect());
    assert_eq!(told.run("B"), "running: b succeeded");
}

#[test]
fn d2_a_repeated_start_wipes_nothing() {
    let (state, deeds) = did("start; call a; ok a x; start; start");
    assert_eq!((state.as_str(), deeds.as_str()), ("running: a succeeded", ""));
}

#[test]
fn d3_a_late_call_does_not_go_back_to_work() {
    for late in ["call a as=running", "progress a x", "ask a r1", "error a no", "off a", "args a {"]
    {
        assert_eq!(
            did(&format!("start; call a; ok a x; {late}")).0,
            "running: a succeeded",
            "{late}"
        );
    }
}

#[test]
fn d4_an_answer_without_id_meets_its_call() {
    assert_eq!(did("start; call -; ok - x").0, "running: local-A-1 succeeded");
}

#[test]
fn d5_table_and_records_are_closed_alike() {
    let told = tell(&source("A", "start; call a as=running; stop"));
    assert_eq!(told.run("A"), "ended stopped: a interrupted run_ended");
    assert!(told.log().contains("tool-result"), "{}", told.log());
    let stored = history(told.session.run("A").expect("it is known"));
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[1].content[0]["is_error"], true);
}

#[test]
fn d6_orphans_and_unknown_calls_are_closed() {
    let (state, _) = did("start; ok ghost x; call u as=strange; end completed hi");
    assert_eq!(state, "ended completed hi: ghost succeeded never_called, u interrupted run_ended");
}

#[test]
fn d7_completion_answers_open_questions() {
    let (state, deeds) = did("start; call q name=AskUserQuestion; question q r1; end completed hi");
    assert_eq!(state, "ended completed hi: q cancelled run_ended");
    assert_eq!(deeds, "resolve q r1 cancelled; announce A completed; drain A 3000");
}

#[test]
fn d8_an_error_and_a_completion_are_one_end() {
    let (state, deeds) = did("start; fatal no; end completed hi");
    assert_eq!(
        (state.as_str(), deeds.as_str()),
        ("ended failed", "announce A failed; drain A 3000")
    );
}

#[test]
fn d9_tasks_belong_to_their_session() {
    let mut one = tell(&source("A", "start; tasks t=in_progress"));
    let mut other = tell(&source("B", "start; tasks u=in_progress"));
    one.give(0, source("A", "stop"));
    assert_eq!((one.tasks(), other.tasks()), ("t paused".into(), "u in_progress".into()));
    other.give(0, source("B", "end completed hi"));
    assert_eq!(other.tasks(), "u completed");
    // A run that wrote none leaves those of others alone.
    let mut told = tell(&source("A", "start; tasks t=in_progress"));
    told.give(0, source("B", "start; end completed hi"));
    assert_eq!(told.tasks(), "t in_progress");
}
