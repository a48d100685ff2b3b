use std::time::Duration;

use anstream::adapter::strip_str;
use foxwedge_run::{
    Body, Call, CallRef, Ended, Event, How, Input, Problem, Session, Settings, Started, Text,
    ToolResult, Turn, Usage,
};

use super::*;

/// Everything that is written about a run of these events, a second apart.
fn told(lines: &mut Lines, run: &str, bodies: Vec<Body>) -> Written {
    let mut session = Session::new(Settings::default());
    let mut effects = Vec::new();
    for (at, body) in bodies.into_iter().enumerate() {
        let at = Some(1_000 * (at as u64 + 1));
        let event = Event { at, ..Event::new(&run.into(), body) };
        session.apply(1_000_000, Input::Event(event), &mut effects);
    }
    let mut all = Written::default();
    for effect in effects {
        let written = lines.told(&Told::Run(effect));
        all.out.push_str(&written.out);
        all.err.push_str(&written.err);
    }
    all.err = strip_str(&all.err).to_string();
    all
}

fn said(delta: &str) -> Body {
    Body::Text(Text { delta: Some(delta.to_owned()), ..Text::default() })
}

fn call(id: &str, name: &str, input: &str) -> Body {
    let call = CallRef { id: Some(id.into()), turn: None };
    let (name, input) = (Some(name.into()), Json::parse(input));
    Body::Call(Call { call, name, input, status: Some(Status::Running), ..Call::default() })
}

fn result(id: &str, how: How, content: &str) -> Body {
    let call = CallRef { id: Some(id.into()), turn: None };
    let content = Some(Json::string(content));
    Body::Result(ToolResult { call, name: None, how, reason: None, content })
}

fn end(outcome: Outcome) -> Body {
    let usage = Some(Usage { input: 12, output: 3, ..Usage::default() });
    Body::Ended(Ended { outcome: Some(outcome), usage, ..Ended::default() })
}

fn story() -> Vec<Body> {
    vec![
        Body::Started(Started::default()),
        Body::Turn(Turn { turn: Some(1), message: None }),
        said("I look\nfirst."),
        call("a", "read", r#"{"path":"a.txt"}"#),
        call("b", "run", r#"{"command":"make"}"#),
        result("a", How::Ok, "one"),
        result("b", How::Denied, "no"),
        Body::Turn(Turn { turn: Some(2), message: None }),
        said("Done.\n"),
        end(Outcome::Completed),
    ]
}

#[test]
fn what_the_model_says_is_data_and_the_rest_is_talk() {
    let mut lines = Lines::new(Signs::Unicode, Reader::Pipe, Talk::All);
    let written = told(&mut lines, "r", story());
    assert_eq!(written.out, "I look\nfirst.\nDone.\n");
    assert_eq!(
        written.err,
        "✓ read  a.txt  done 2.0s\n\
         ✗ run  make  denied, did not run\n  \
         help: `--allow run` lets it run, `--yes` lets every tool run\n\
         ✓ completed in 9.0s · 2 calls: 1 done, 1 denied · 12 tokens in, 3 out\n"
    );
    let mut quiet = Lines::new(Signs::Ascii, Reader::Pipe, Talk::Errors);
    let written = told(&mut quiet, "r", story());
    assert_eq!((written.out.as_str(), written.err.as_str()), ("I look\nfirst.\nDone.\n", ""));
}

#[test]
fn a_stop_says_what_was_kept() {
    let mut lines = Lines::new(Signs::Ascii, Reader::Pipe, Talk::All);
    let written = told(
        &mut lines,
        "r",
        vec![
            Body::Started(Started::default()),
            Body::Turn(Turn { turn: Some(1), message: None }),
            call("a", "read", "{}"),
            call("b", "run", r#"{"command":"sleep 30"}"#),
            result("a", How::Ok, "one"),
            result("b", How::Interrupted, "cut"),
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
fn an_error_is_told_even_where_nothing_else_is() {
    let problem = Problem { message: "no\u{1b}[2J way".to_owned(), code: None, fatal: true };
    let ended =
        Ended { outcome: Some(Outcome::Failed), problem: Some(problem), ..Ended::default() };
    let bodies = vec![Body::Started(Started::default()), said("half"), Body::Ended(ended)];
    let mut lines = Lines::new(Signs::Unicode, Reader::Pipe, Talk::Errors);
    let written = told(&mut lines, "r", bodies);
    assert_eq!(written.out, "half\n");
    assert_eq!(written.err, "error: no\u{fffd}[2J way\n");
}

#[test]
fn a_terminal_is_told_nothing_that_moves_its_cursor() {
    let hostile = "a\u{1b}[2Jb\r\n\tc\u{202e}";
    for (reader, expected) in [
        (Reader::Pipe, format!("{hostile}\n")),
        (Reader::Terminal, "a\u{fffd}[2Jb\n\tc\u{fffd}\n".to_owned()),
    ] {
        let mut lines = Lines::new(Signs::Unicode, reader, Talk::All);
        let bodies =
            vec![Body::Started(Started::default()), said(hostile), end(Outcome::Completed)];
        assert_eq!(told(&mut lines, "r", bodies).out, expected);
    }
}

#[test]
fn notes_are_one_line_each() {
    let mut lines = Lines::new(Signs::Unicode, Reader::Pipe, Talk::All);
    let table = [
        (
            Note::Waiting { pause: Duration::from_millis(2_000), why: "busy\nnow".to_owned() },
            "note: waiting 2.0s: busy\u{fffd}now\n",
        ),
        (Note::Repaired(Vec::new().into()), "note: the history was repaired: 0 changes\n"),
        (Note::Compacting, "note: the history is being made shorter\n"),
        (
            Note::Compacted(900, 80),
            "note: the history was made shorter: about 900 tokens, now 80\n",
        ),
    ];
    for (note, expected) in table {
        let written = lines.told(&Told::Note(note.clone()));
        assert_eq!(strip_str(&written.err).to_string(), expected);
        let mut quiet = Lines::new(Signs::Unicode, Reader::Pipe, Talk::Errors);
        assert_eq!(quiet.told(&Told::Note(note)), Written::default());
    }
}
