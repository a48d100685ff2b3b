//! What the machine promises: what is shown, asked, said, stored and counted.

use foxwedge_run::{
    AnswerError, AnswerRoute, ApprovalVerdict, CallRef, EventPayload, Outcome, RawJson, RunEvent,
    SharedId, UserAnswer, wire,
};

use super::helper::{did, tell};
use crate::script::source;

#[test]
fn b3_10_nothing_blinks_behind_the_end() {
    let table = [
        ("start", "generating"),
        ("start; think t x", "generating thinking"),
        ("start; think t x; say m y", "generating streaming"),
        ("start; say m y; said m y", "generating"),
        ("start; say m y; call a", "generating"),
        ("start; say m y; stop", ""),
        ("start; say m y; stop; say m z; think t z", ""),
        ("start; think t x; end completed hi; think t y", ""),
    ];
    for (script, expected) in table {
        assert_eq!(tell(&source("A", script)).flags("A"), expected, "{script}");
    }
}

#[test]
fn b3_11_tasks_end_with_their_run() {
    let table = [
        ("end completed hi", "a completed, b pending, c completed"),
        ("stop", "a paused, b pending, c completed"),
        ("fatal no", "a paused, b pending, c completed"),
        ("end", "a paused, b pending, c completed"),
        ("end interrupted", "a paused, b pending, c completed"),
    ];
    for (end, expected) in table {
        let told =
            tell(&source("A", &format!("start; tasks a=in_progress b=pending c=completed; {end}")));
        assert_eq!(told.tasks(), expected, "{end}");
    }
}

#[test]
fn b3_12_a_question_that_is_denied_is_handed_over() {
    let table = [
        (
            "call q name=AskUserQuestion; denied q no",
            "q handed_over",
            "The question was handed over to the user.",
        ),
        (
            "call q name=AskUserQuestion; error q The user answered: blue",
            "q handed_over",
            "The question was handed over to the user.",
        ),
        (
            "error q user denied it: blue; call q name=AskUserQuestion",
            "q handed_over",
            "The question was handed over to the user.",
        ),
        (
            "call q name=AskUserQuestion; error q 问题已交由界面处理",
            "q handed_over",
            "The question was handed over to the user.",
        ),
        (
            "error q 问题已交由界面处理; call q name=ExitPlanMode",
            "q handed_over",
            "The question was handed over to the user.",
        ),
        (
            "call q name=AskUserQuestion; error q <tool_use_error>x</tool_use_error>",
            "q failed",
            "<tool_use_error>x</tool_use_error>",
        ),
        // Somebody let it run, so the error is its own.
        (
            "call q name=AskUserQuestion; ask q r; allow q r; error q no such file",
            "q failed",
            "no such file",
        ),
        ("call b; error b 不; denied b", "b denied", "不"),
        ("call b; error b 不; deny b -", "b denied", "不"),
        ("call b; broken b 不; denied b", "b denied", "不"),
        ("call b name=-; error b x; denied b", "b denied", "x"),
        (
            "call b name=-; error b x; denied b; call b name=AskUserQuestion",
            "b handed_over",
            "The question was handed over to the user.",
        ),
        ("call b; ok b x; denied b", "b succeeded", "x"),
        ("call b; late b x; denied b", "b failed timed_out", "x"),
        (
            "call b; off b; denied b",
            "b cancelled called_off",
            "[foxwedge] Not started: this call never ran.",
        ),
        ("call q name=AskUserQuestion; ok q blue", "q succeeded", "blue"),
        ("call b; error b permission denied", "b failed", "permission denied"),
        ("call b; denied b not now", "b denied", "not now"),
    ];
    for (script, state, content) in table {
        let told = tell(&source("A", &format!("start; {script}")));
        assert_eq!(told.run("A"), format!("running: {state}"), "{script}");
        let tool = &told.session.run("A").expect("it is known").tools()[0];
        assert_eq!(tool.result_content(), RawJson::string(content), "{script}");
    }
}

#[test]
fn b3_13_answers_find_their_question_once() {
    let mut told = tell(&source(
        "A",
        "start; call a; ask a r1; call b; call c@1; ask c@1 r; call c@2; ask c@2 r",
    ));
    let answer = |run: &str, call: &str, turn, id: &str, verdict| UserAnswer {
        run: (!run.is_empty()).then(|| SharedId::from(run)),
        call: CallRef { id: (!call.is_empty()).then(|| SharedId::from(call)), turn },
        id: (!id.is_empty()).then(|| SharedId::from(id)),
        verdict,
        answer: None,
    };
    let yes = ApprovalVerdict::Allowed;
    let errors = [
        (answer("", "a", None, "", yes), AnswerError::RunRequired),
        (answer("B", "a", None, "", yes), AnswerError::RunMismatch),
        (answer("A", "", None, "", yes), AnswerError::CallRequired),
        (answer("A", "z", None, "", yes), AnswerError::TargetNotFound),
        (answer("A", "b", None, "", yes), AnswerError::NoPending),
        (answer("A", "a", None, "r9", yes), AnswerError::NoPending),
        (answer("A", "c", None, "", yes), AnswerError::Ambiguous),
    ];
    for (answer, error) in errors {
        assert_eq!(told.session.route(&answer), Err(error), "{answer:?}");
    }
    let good = answer("A", "a", None, "", yes);
    let Ok(AnswerRoute::Deliver(event)) = told.session.route(&good) else {
        panic!("it finds its question")
    };
    told.give(0, vec![event]);
    assert_eq!(told.session.route(&good), Ok(AnswerRoute::Repeated));
    let other = answer("A", "a", None, "", ApprovalVerdict::Denied);
    assert_eq!(told.session.route(&other), Err(AnswerError::AlreadyResolved));
    told.give(0, source("A", "stop"));
    assert_eq!(told.session.route(&answer("A", "c", Some(1), "", yes)), Err(AnswerError::RunEnded));
    assert_eq!(
        told.deeds(),
        "resolve a r1 allowed; resolve c r cancelled; resolve c r cancelled; announce A stopped; drain A 3000"
    );
}

#[test]
fn b3_13_whoever_asks_is_answered_whatever_happens() {
    let table = [
        ("call a; ask a r1; allow a r1", "resolve a r1 allowed"),
        ("call a; ask a r1; allow a r1; allow a r1; deny a r1", "resolve a r1 allowed"),
        ("call a; ask a r1; deny a r1", "resolve a r1 denied"),
        ("call a; ask a r1; ask a r2; deny a r1", "resolve a r1 denied; resolve a r2 cancelled"),
        ("call a; ask a r1; ok a x", "resolve a r1 cancelled"),
        ("call a; ask a r1; off a", "resolve a r1 cancelled"),
        ("call p; call a of=p; ask a r1; off p", "resolve a r1 cancelled"),
        ("call a; ask a r1; silence a", "resolve a r1 cancelled"),
        ("call a; ask a r1; answer a r2 x", ""),
        ("call q name=AskUserQuestion; question q r1; answer q r1 x", "resolve q r1 answered"),
        ("call q name=AskUserQuestion; answer q - x", "resolve q q answered"),
        ("call a; allow a r1; ask a r1", "resolve a r1 allowed"),
    ];
    for (script, expected) in table {
        assert_eq!(did(&format!("start; {script}")).1, expected, "{script}");
    }
}

#[test]
fn b3_14_both_names_of_a_call_are_read_and_written() {
    let line =
        |key: &str| format!(r#"{{"type":"tool-result","runId":"A","{key}":"a","content":"x"}}"#);
    let read = |text: &str| wire::read(text).expect("an event");
    assert_eq!(read(&line("toolCallId")), read(&line("toolId")));
    let told = tell(&source("A", "start; call a; ok a x"));
    let lines: Vec<String> = told.emitted().iter().map(wire::write).collect();
    for line in lines.iter().skip(1) {
        assert!(line.contains(r#""toolCallId":"a""#) && line.contains(r#""toolId":"a""#), "{line}");
    }
}

#[test]
fn b3_15_the_final_text_is_the_best_there_is() {
    let table = [
        ("said m one; end completed result", "completed result"),
        ("said m one; said n two; say o thr; end completed", "completed two"),
        ("say m on; say n e; end completed", "completed one"),
        ("thought t secret; said s/p sub; end completed", "no_text"),
        ("end completed", "no_text"),
        ("said m one; stop", "stopped one"),
        ("say m on; fatal no", "failed on"),
    ];
    for (script, expected) in table {
        let told = tell(&source("A", &format!("start; {script}")));
        let (outcome, text) = expected.split_once(' ').unwrap_or((expected, ""));
        assert_eq!(told.run("A"), format!("ended {expected}"), "{script}");
        let Some(RunEvent { body: EventPayload::Ended(ended), .. }) = told.emitted().pop() else {
            panic!("it ends")
        };
        assert_eq!(ended.outcome, Outcome::from_name(outcome));
        assert_eq!(ended.text.as_deref().unwrap_or_default(), text, "{script}");
    }
}

#[test]
fn b3_16_a_log_reloads_and_a_crash_is_closed_once() {
    let whole = tell(&source(
        "A",
        "start; turn 1; say m hi; call a as=running; call b; ok b x; tasks t=in_progress; stop",
    ));
    let log = whole.emitted();
    assert_eq!(tell(&log).session.canonical_state(), whole.session.canonical_state());
    for cut in 1..log.len() {
        let mut told = tell(&log[..cut]);
        told.give(0, source("A", "end interrupted"));
        told.give(0, source("A", "end interrupted"));
        assert!(told.run("A").starts_with("ended "), "{cut}: {}", told.run("A"));
        assert_eq!(told.deeds().matches("announce").count(), 1, "{cut}");
        // What was written behind the crash continues the log.
        let places: Vec<Option<u64>> = told.emitted().iter().map(|event| event.seq).collect();
        assert_eq!(places, (1..=places.len() as u64).map(Some).collect::<Vec<_>>(), "{cut}");
        assert_eq!(
            tell(&told.emitted()).session.canonical_state(),
            told.session.canonical_state(),
            "{cut}"
        );
    }
}

#[test]
fn b3_17_the_numbers_of_a_run_add_up() {
    let told = tell(&source(
        "A",
        "start; tools 1 Bash Read Task; call a; ok a; call b; error b; call c; off c; call d as=running; \
         call e; denied e; call q name=AskUserQuestion; denied q; ok ghost; stop",
    ));
    let summary = told.session.run("A").expect("it is known").summary();
    assert_eq!((summary.available, summary.calls), (Some(3), 6));
    assert_eq!(summary.by_status, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn b3_18_children_go_with_their_parent() {
    let family = "call p; call c of=p as=running; call d of=c; call e of=p; ok e x";
    let table = [
        (
            "off p",
            "c interrupted parent_closed, d cancelled parent_closed, e succeeded, p cancelled called_off",
        ),
        (
            "denied p no",
            "c interrupted parent_closed, d cancelled parent_closed, e succeeded, p denied",
        ),
        ("off c", "c interrupted called_off, d cancelled parent_closed, e succeeded, p pending"),
        ("ok p x", "c running, d pending, e succeeded, p succeeded"),
    ];
    for (script, expected) in table {
        assert_eq!(
            did(&format!("start; {family}; {script}")).0,
            format!("running: {expected}"),
            "{script}"
        );
    }
    assert_eq!(did("start; call p; call c of=p as=running; off p").1, "call-off c");
    // Whoever comes late finds the door shut.
    assert_eq!(
        did("start; call p; off p; call c of=p; ok c x").0,
        "running: c cancelled parent_closed, p cancelled called_off"
    );
}

#[test]
fn b3_18_at_the_end_a_child_goes_alone_live_and_in_the_log() {
    // The parent was denied before anybody called it, so that only the end says what it was.
    let family = "start; deny p@2 r1; call c@3 of=p as=running";
    for (end, outcome) in
        [("end completed hi", "completed hi"), ("fatal no", "failed"), ("stop", "stopped")]
    {
        let live = tell(&source("A", &format!("{family}; {end}")));
        let expected = "c interrupted run_ended, p denied never_called";
        assert_eq!(live.run("A"), format!("ended {outcome}: {expected}"));
        assert_eq!(
            tell(&live.emitted()).session.canonical_state(),
            live.session.canonical_state(),
            "{end}"
        );
    }
    // Whoever calls it off means its sub-agents, too.
    let live = tell(&source("A", &format!("{family}; off p@2")));
    assert_eq!(live.run("A"), "running: c interrupted parent_closed, p denied never_called");
    assert_eq!(tell(&live.emitted()).session.canonical_state(), live.session.canonical_state());
}
