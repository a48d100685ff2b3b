use std::time::Duration;

use anstream::adapter::strip_str;
use foxwedge_run::{
    CallRef, EventPayload, MachineInput, MachineSettings, RunEnd, RunEvent, RunProblem, RunStart,
    RunUsage, SessionMachine, TextUpdate, ToolCallUpdate, ToolOutcome, ToolResult, TurnStart,
};

use super::*;

/// The whole output for a run of these events, one second apart.
fn output_of(lines: &mut ChatLinePrinter, run: &str, bodies: Vec<EventPayload>) -> ChatOutput {
    let mut session = SessionMachine::new(MachineSettings::default());
    let mut effects = Vec::new();
    for (at, body) in bodies.into_iter().enumerate() {
        let at = Some(1_000 * (at as u64 + 1));
        let event = RunEvent { at, ..RunEvent::new(&run.into(), body) };
        session.apply(1_000_000, MachineInput::Event(event), &mut effects);
    }
    let mut all = ChatOutput::default();
    for effect in effects {
        let written = lines.on_event(&LoopEvent::Run(effect));
        all.out.push_str(&written.out);
        all.err.push_str(&written.err);
    }
    all.err = strip_str(&all.err).to_string();
    all
}

fn text(delta: &str) -> EventPayload {
    EventPayload::Text(TextUpdate { delta: Some(delta.to_owned()), ..TextUpdate::default() })
}

fn call(id: &str, name: &str, input: &str) -> EventPayload {
    let call = CallRef { id: Some(id.into()), turn: None };
    let (name, input) = (Some(name.into()), RawJson::parse(input));
    EventPayload::ToolCall(ToolCallUpdate {
        call,
        name,
        input,
        status: Some(ToolStatus::Running),
        ..ToolCallUpdate::default()
    })
}

fn result(id: &str, outcome: ToolOutcome, content: &str) -> EventPayload {
    let call = CallRef { id: Some(id.into()), turn: None };
    let content = Some(RawJson::string(content));
    EventPayload::ToolResult(ToolResult { call, name: None, outcome, reason: None, content })
}

fn end(outcome: Outcome) -> EventPayload {
    let usage = Some(RunUsage { input: 12, output: 3, ..RunUsage::default() });
    EventPayload::Ended(RunEnd { outcome: Some(outcome), usage, ..RunEnd::default() })
}

fn sample_run() -> Vec<EventPayload> {
    vec![
        EventPayload::Started(RunStart::default()),
        EventPayload::TurnStarted(TurnStart { turn: Some(1), message: None }),
        text("I look\nfirst."),
        call("a", "read", r#"{"path":"a.txt"}"#),
        call("b", "run", r#"{"command":"make"}"#),
        result("a", ToolOutcome::Ok, "one"),
        result("b", ToolOutcome::Denied, "no"),
        EventPayload::TurnStarted(TurnStart { turn: Some(2), message: None }),
        text("Done.\n"),
        end(Outcome::Completed),
    ]
}

#[test]
fn model_text_goes_to_stdout_and_the_rest_to_stderr() {
    let mut lines =
        ChatLinePrinter::new(SignSet::Unicode, ReplyDestination::Pipe, ChatVerbosity::All);
    let written = output_of(&mut lines, "r", sample_run());
    assert_eq!(written.out, "I look\nfirst.\nDone.\n");
    assert_eq!(
        written.err,
        "✓ read  a.txt  done 2.0s\n\
         ✗ run  make  denied, did not run\n  \
         help: `--allow run` lets it run, `--yes` lets every tool run\n\
         ✓ completed in 9.0s · 2 calls: 1 done, 1 denied · 12 tokens in, 3 out\n"
    );
    let mut quiet =
        ChatLinePrinter::new(SignSet::Ascii, ReplyDestination::Pipe, ChatVerbosity::Errors);
    let written = output_of(&mut quiet, "r", sample_run());
    assert_eq!((written.out.as_str(), written.err.as_str()), ("I look\nfirst.\nDone.\n", ""));
}

#[test]
fn stop_lists_what_was_kept() {
    let mut lines =
        ChatLinePrinter::new(SignSet::Ascii, ReplyDestination::Pipe, ChatVerbosity::All);
    let written = output_of(
        &mut lines,
        "r",
        vec![
            EventPayload::Started(RunStart::default()),
            EventPayload::TurnStarted(TurnStart { turn: Some(1), message: None }),
            call("a", "read", "{}"),
            call("b", "run", r#"{"command":"sleep 30"}"#),
            result("a", ToolOutcome::Ok, "one"),
            result("b", ToolOutcome::Interrupted, "cut"),
            end(Outcome::Stopped),
        ],
    );
    assert!(written.err.is_ascii(), "{}", written.err);
    assert!(written.err.contains("! run  sleep 30  stopped after 2.0s, may have run\n"));
    assert!(
        written.err.ends_with("kept 1 result, 1 may have run; the history is valid\n"),
        "{}",
        written.err
    );
}

#[test]
fn error_is_printed_even_in_quiet_mode() {
    let problem = RunProblem { message: "no\u{1b}[2J way".to_owned(), code: None, fatal: true };
    let ended =
        RunEnd { outcome: Some(Outcome::Failed), problem: Some(problem), ..RunEnd::default() };
    let bodies =
        vec![EventPayload::Started(RunStart::default()), text("half"), EventPayload::Ended(ended)];
    let mut lines =
        ChatLinePrinter::new(SignSet::Unicode, ReplyDestination::Pipe, ChatVerbosity::Errors);
    let written = output_of(&mut lines, "r", bodies);
    assert_eq!(written.out, "half\n");
    assert_eq!(written.err, "error: no\u{fffd}[2J way\n");
}

#[test]
fn terminal_output_cannot_move_the_cursor() {
    let hostile = "a\u{1b}[2Jb\r\n\tc\u{202e}";
    for (reader, expected) in [
        (ReplyDestination::Pipe, format!("{hostile}\n")),
        (ReplyDestination::Terminal, "a\u{fffd}[2Jb\n\tc\u{fffd}\n".to_owned()),
    ] {
        let mut lines = ChatLinePrinter::new(SignSet::Unicode, reader, ChatVerbosity::All);
        let bodies = vec![
            EventPayload::Started(RunStart::default()),
            text(hostile),
            end(Outcome::Completed),
        ];
        assert_eq!(output_of(&mut lines, "r", bodies).out, expected);
    }
}

#[test]
fn notes_are_one_line_each() {
    let mut lines =
        ChatLinePrinter::new(SignSet::Unicode, ReplyDestination::Pipe, ChatVerbosity::All);
    let table = [
        (
            LoopNotice::Retrying {
                pause: Duration::from_millis(2_000),
                why: "busy\nnow".to_owned(),
            },
            "note: waiting 2.0s: busy\u{fffd}now\n",
        ),
        (LoopNotice::Repaired(Vec::new().into()), "note: the history was repaired: 0 changes\n"),
        (LoopNotice::Compacting, "note: compacting the history\n"),
        (
            LoopNotice::Compacted(900, 80),
            "note: the history was compacted from about 900 to 80 tokens\n",
        ),
    ];
    for (note, expected) in table {
        let written = lines.on_event(&LoopEvent::Notice(note.clone()));
        assert_eq!(strip_str(&written.err).to_string(), expected);
        let mut quiet =
            ChatLinePrinter::new(SignSet::Unicode, ReplyDestination::Pipe, ChatVerbosity::Errors);
        assert_eq!(quiet.on_event(&LoopEvent::Notice(note)), ChatOutput::default());
    }
}
