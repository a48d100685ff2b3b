//! Files, commands of the shell, pastes, help and waiting: what the user sees of each.

use std::time::Duration;

use foxwedge_agent_loop::tool_loop::{LoopEvent, LoopNotice};
use foxwedge_run::{ToolStatus, UiChange};
use foxwedge_tools::{FileChange, FileChangeObserver as _};
use insta::assert_snapshot;
use serde_json::json;

use super::story::{Story, tool};
use crate::{
    file_journal::FileJournal,
    terminal::{TerminalStart, keys::TerminalKey},
};

fn with_files(files: &[&str]) -> Story {
    let mut story = Story::new();
    story.screen.files = files.iter().map(|file| (*file).to_owned()).collect();
    story
}

#[test]
fn mentioned_files_are_offered_and_completed() {
    let mut story = with_files(&["README.md", "src/main.rs", "src/map.rs", "tests/Main.rs"]);
    story.text("see @ma");
    assert_snapshot!(story.below(), @r"
    > see @ma▏
      src/main.rs
      src/map.rs
      tests/Main.rs
    ");
    for (typed, completed) in
        [("@s", "@src/ma"), ("@src/map", "@src/map.rs "), ("@main", "@src/main.rs "), ("@x", "@x")]
    {
        story.screen.editor.set(&format!("see {typed}"));
        story.key(TerminalKey::Tab);
        assert_eq!(story.screen.editor.text(), format!("see {completed}"), "{typed}");
    }
    assert_eq!(story.text("\n"), "send see @x");
}

#[test]
fn an_exclamation_mark_runs_a_command() {
    let mut story = Story::new();
    assert_eq!(story.text("!make test\n"), "command !make test");
    assert_eq!(story.above(), "> !make test");
    let mut story = Story::new();
    assert_eq!(story.text("!\n"), "send !");
}

#[test]
fn a_question_mark_shows_the_keys() {
    let mut story = Story::sized(70, 24);
    story.text("?");
    assert!(story.below().contains("@file       adds a file or a picture to the prompt"));
    assert!(story.below().contains("!command    runs a command"));
    assert_eq!(story.text("\n"), "command /help");
    let mut story = Story::new();
    assert_eq!(story.text("? is a mark\n"), "send ? is a mark");
}

#[test]
fn a_long_paste_is_collapsed_and_sent_whole() {
    let mut story = Story::new();
    story.text("why: ");
    let pasted: String = (0..30).map(|n| format!("line {n}\n")).collect();
    story.key(TerminalKey::Paste(pasted.clone()));
    assert_eq!(story.below(), "> why: [pasted 30 lines]▏");
    assert_eq!(story.text("\n"), format!("send why: {pasted}"));
    assert_eq!(story.above(), "> why: [pasted 30 lines]");
}

#[test]
fn waiting_for_the_next_attempt_counts_down() {
    let mut story = Story::sized(70, 20);
    story.busy();
    let why = "the provider answers 429: slow down".to_owned();
    let notice = LoopNotice::Retrying { pause: Duration::from_secs(95), why };
    story.screen.on_loop_event(LoopEvent::Notice(notice), story.now);
    for (passed, left) in [(0, "1m 35s"), (60_000, "35s"), (34_500, "1s")] {
        story.wait(passed);
        let expected = format!("next attempt in {left} · Esc stops it · the provider answers 429");
        assert!(story.below().contains(&expected), "{}", story.below());
    }
    assert_eq!(story.above(), "");
    story.say("Here I am.");
    assert!(!story.below().contains("next attempt"));
}

#[test]
fn a_change_stays_above_with_its_line_numbers() {
    let journal = FileJournal::in_memory();
    let start = TerminalStart { changes: journal.recent.clone(), ..TerminalStart::default() };
    let mut story = Story::begun(start, 60, 24);
    story.busy();
    story.call("1", "edit", r#"{"path":"a.rs","old":"two","new":"2"}"#);
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    let (before, after) = (bytes("one\ntwo\nthree\n"), bytes("one\n2\nthree\n"));
    journal.before_write("1", FileChange { path: "a.rs".into(), before, after });
    story.settle("1", ToolStatus::Succeeded, "changed");
    assert_snapshot!(story.above(), @r"

    ✓ edit  a.rs  done
        1   one
        2 - two
        2 + 2
        3   three
    ");
}

#[test]
fn a_question_names_the_rule_that_it_would_make() {
    let mut story = Story::sized(100, 20);
    story.busy();
    story.ask("run", json!({"command":"git status -s"}));
    story.wait(1_000);
    assert!(story.below().contains(
        "y yes · a always `git status …` · p in this folder · n no · t why not · Esc stop"
    ));
    story.screen.width = 80;
    assert!(
        story
            .below()
            .contains("y yes · a always `git status …` · p in this folder · n no · t why not")
    );
    let content = foxwedge_run::RawJson::string("");
    let (status, reason) = (ToolStatus::Cancelled, None);
    story.tell(UiChange::ToolSettled { tool: tool("c1"), status, reason, content });
    story.screen.width = 140;
    story.ask("edit", json!({"path":"a"}));
    story.wait(1_000);
    assert!(
        story.below().contains("a always `edit` until the end · p always `edit` in this folder")
    );
}
