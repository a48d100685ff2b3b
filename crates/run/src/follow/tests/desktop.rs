//! Recordings in the words of a desktop agent: a machine that reads them has the same calls.

use crate::{
    MachineInput, MachineSettings, Outcome, Run, RunEffect, RunEvent, SessionMachine,
    encode::DesktopEncoder,
    follow::tests::{
        recordings::{recordings, source},
        story::follow,
    },
    wire,
};

const LATER: u64 = 1_000_000;

/// The effects of events, and the state behind them.
fn replay(events: impl IntoIterator<Item = RunEvent>) -> (Vec<RunEffect>, SessionMachine) {
    let mut machine = SessionMachine::new(MachineSettings::default());
    let mut effects = Vec::new();
    for event in events {
        machine.apply(0, MachineInput::Event(event), &mut effects);
    }
    machine.apply(LATER, MachineInput::Tick, &mut effects);
    (effects, machine)
}

/// Effects in the words of a desktop agent.
fn words(effects: &[RunEffect]) -> Vec<String> {
    let mut encoder = DesktopEncoder::default();
    let mut lines = Vec::new();
    effects.iter().for_each(|effect| encoder.push(effect, &mut lines));
    lines
}

/// What an interface shows of a run.
fn shown(run: &Run) -> String {
    let tools = run.tools().iter().map(|tool| {
        let name = tool.name.as_deref().unwrap_or("-");
        format!("{}@{} {name} {:?}\n", tool.call, tool.turn(), tool.status())
    });
    let texts = run.texts().iter().map(|text| format!("{:?} {}\n", text.kind, text.text));
    format!("{}{}", tools.collect::<String>(), texts.collect::<String>())
}

#[test]
fn every_recording_is_the_same_run_in_the_words_of_a_desktop_agent() {
    for (recording, stream) in recordings() {
        let events = follow(source(&stream), &stream).into_iter().map(|(_, event)| event);
        let (effects, ours) = replay(events);
        let lines = words(&effects);
        let read: Vec<RunEvent> = lines.iter().map(|line| wire::read(line).unwrap()).collect();
        assert!(read.iter().all(|event| event.unknown_word.is_none()), "{recording}");
        let (_, theirs) = replay(read);
        assert_eq!(ours.runs().len(), theirs.runs().len(), "{recording}");
        for (our, their) in ours.runs().iter().zip(theirs.runs()) {
            assert_eq!(shown(our), shown(their), "{recording}");
            let word = match our.outcome().unwrap() {
                Outcome::Failed | Outcome::MaxTurns | Outcome::Refused | Outcome::Interrupted => {
                    Outcome::Failed
                }
                Outcome::Stopped | Outcome::Replaced => Outcome::Stopped,
                plain @ (Outcome::Completed | Outcome::NoText) => plain,
            };
            assert_eq!(their.outcome(), Some(word), "{recording}");
            let of_run = |line: &&String| line.contains(&format!("\"runId\":\"{}\"", our.id()));
            let ends = lines.iter().filter(of_run).filter(|line| line.contains("agent:complete"));
            assert_eq!(ends.count(), 1, "{recording}");
            let last = lines.iter().rfind(of_run).unwrap();
            assert!(last.contains("agent:complete"), "{recording}: {last}");
        }
    }
}

/// Events of run `r` in the words of a desktop agent.
fn words_of(events: &[&str]) -> Vec<String> {
    let event = |fields: &&str| wire::read(&format!("{{\"runId\":\"r\",{fields}}}")).unwrap();
    words(&replay(events.iter().map(event)).0)
}

#[test]
fn words_of_a_desktop_agent_say_how_a_call_ended() {
    let table = [
        (r#""status":"succeeded""#, r#""status":"success","isError":false"#),
        (r#""status":"failed""#, r#""status":"error","isError":true"#),
        (r#""status":"denied""#, r#""status":"error","isError":true,"how":"denied""#),
        (r#""status":"cancelled""#, r#""status":"cancelled","isError":true"#),
        (r#""status":"interrupted""#, r#""status":"cancelled","isError":true,"how":"interrupted""#),
        (r#""status":"handed_over""#, r#""status":"success","isError":false,"how":"handed_over""#),
        (
            r#""status":"failed","reason":"timed_out""#,
            r#""status":"error","isError":true,"reason":"timed_out""#,
        ),
    ];
    for (ours, expected) in table {
        let result = format!(r#""type":"tool-result","toolCallId":"c","content":"x",{ours}"#);
        let call = r#""type":"tool-call","toolCallId":"c","name":"Bash","input":{}"#;
        let lines = words_of(&[r#""type":"run-started""#, call, &result]);
        let [_, _, written] = lines.as_slice() else { panic!("{lines:?}") };
        let head = r#""type":"agent:tool-result","runId":"r","runEpoch":1"#;
        let ids = r#""toolCallId":"c","toolId":"c","id":"c","turn":0"#;
        let expected = format!(r#"{{{head},{ids},{expected},"result":"#);
        assert!(written.starts_with(&expected), "{written}");
    }
}

#[test]
fn a_question_that_is_denied_is_a_success_in_the_words_of_a_desktop_agent() {
    let lines = words_of(&[
        r#""type":"run-started""#,
        r#""type":"tool-call","toolCallId":"c","name":"AskUserQuestion","input":{}"#,
        r#""type":"question-asked","toolCallId":"c","requestId":"q","prompt":"Which?""#,
        r#""type":"approval-answered","toolCallId":"c","requestId":"q","verdict":"denied""#,
        r#""type":"tool-result","toolCallId":"c","isError":true,"content":"denied""#,
    ]);
    let waits = r#""status":"waiting_approval","requiresApproval":false,"requestId":"q","description":"Which?"}"#;
    assert!(lines[2].ends_with(waits), "{}", lines[2]);
    let handed = r#""status":"success","isError":false,"how":"handed_over""#;
    assert!(lines.len() == 4 && lines[3].contains(handed), "{lines:?}");
}

#[test]
fn an_error_that_ends_a_run_is_written_once() {
    let start = r#""type":"run-started","at":4,"sessionId":"s""#;
    let problem = r#""type":"error","at":8,"message":"no","fatal":true"#;
    let end = r#""type":"run-ended","at":9,"reason":"failed","error":{"message":"no"}"#;
    let event = |kind: &str, fields: &str| {
        format!(r#"{{"type":"agent:{kind}","runId":"r","runEpoch":1,{fields}}}"#)
    };
    let expected = |at: u64| {
        let complete = r#""reason":"error","outcome":"failed""#;
        [
            event("run-start", r#""startedAt":4,"conversationId":"s""#),
            event("error", &format!(r#""timestamp":{at},"error":"no""#)),
            event("complete", &format!(r#""terminalAt":{at},{complete},"duration":{}"#, at - 4)),
        ]
    };
    assert_eq!(words_of(&[start, problem, end]), expected(8));
    assert_eq!(words_of(&[start, end]), expected(9));
}
