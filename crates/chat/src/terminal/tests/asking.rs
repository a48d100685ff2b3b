//! Approval prompts: which key is an answer, and which is not.

use foxwedge_run::{Outcome, ToolStatus, UiChange};
use serde_json::json;

use super::story::{Story, tool};
use crate::terminal::keys::TerminalKey;

fn asked() -> Story {
    let mut story = Story::new();
    story.busy();
    story.ask("run", json!({"command":"cargo test"}));
    story
}

#[test]
fn one_key_answers() {
    let table = [
        ("y", "1 yes"),
        ("n", "1 no"),
        ("a", "1 yes always `cargo test …`"),
        ("p", "1 yes kept `cargo test …`"),
        ("x", ""),
    ];
    for (key, expected) in table {
        let mut story = asked();
        story.wait(1_000);
        assert_eq!(story.text(key), expected);
    }
}

#[test]
fn text_typed_before_the_question_was_drawn_is_not_an_answer() {
    let mut story = Story::new();
    story.busy();
    story.text("yes, ");
    story.ask("run", json!({"command":"rm -rf /"}));
    assert_eq!(story.text("yes"), "");
    story.wait(100);
    // The question is drawn, but the user is still typing.
    assert_eq!(story.text("y"), "");
    story.wait(10_000);
    // The editor is not empty: keys go to it until Tab focuses the question.
    assert_eq!(story.text("y"), "");
    assert!(story.below().contains("Tab focuses the question"));
    story.key(TerminalKey::Tab);
    assert_eq!(story.text("n"), "1 no");
    assert_eq!(story.screen.editor.text(), "yes, yesyy");
}

#[test]
fn key_right_after_the_question_goes_to_the_editor() {
    let mut story = asked();
    story.wait(10);
    assert_eq!(story.text("y"), "");
    assert_eq!(story.screen.editor.text(), "y");
    story.key(TerminalKey::Backspace);
    assert_eq!(story.text("y"), "");
    story.key(TerminalKey::Backspace);
    story.wait(1_000);
    assert_eq!(story.text("y"), "1 yes");
}

#[test]
fn a_no_can_have_a_reason_and_what_was_typed_comes_back() {
    let mut story = Story::new();
    story.busy();
    story.text("draft");
    story.ask("run", json!({"command":"make"}));
    story.wait(1_000);
    story.key(TerminalKey::Tab);
    story.text("t");
    assert!(story.below().contains("why not? ▏"));
    story.text("too");
    // Esc goes back to the question and stops nothing.
    assert_eq!(story.key(TerminalKey::Esc), "");
    story.text("t");
    assert_eq!(story.text("too slow\n"), "1 no: too slow");
    assert_eq!(story.screen.editor.text(), "draft");
}

#[test]
fn a_no_without_a_reason_is_a_no() {
    let mut story = asked();
    story.wait(1_000);
    assert_eq!(story.text("t \n"), "1 no");
}

#[test]
fn esc_stops_the_run_and_the_question_goes_with_it() {
    let mut story = asked();
    story.wait(1_000);
    assert_eq!(story.key(TerminalKey::Esc), "press");
    story.end(Outcome::Stopped, &[(ToolStatus::Cancelled, 1)]);
    assert_eq!(story.below(), "\n> ▏");
    // The question is gone: keys go to the editor.
    assert_eq!(story.text("y"), "");
    assert_eq!(story.screen.editor.text(), "y");
}

#[test]
fn questions_come_one_by_one_and_each_must_be_drawn_first() {
    let mut story = asked();
    story.ask("edit", json!({"path":"a","old":"1","new":"2"}));
    story.wait(1_000);
    assert!(story.below().contains("and 1 more to approve"));
    assert_eq!(story.text("y"), "1 yes");
    // A second press right away is not an answer to the second question.
    assert_eq!(story.text("y"), "");
    story.key(TerminalKey::Backspace);
    story.wait(1_000);
    assert_eq!(story.text("n"), "2 no");
}

#[test]
fn always_answers_the_following_questions_that_are_alike() {
    let mut story = asked();
    story.ask("run", json!({"command":"cargo test --all"}));
    story.ask("run", json!({"command":"cargo test | tee log"}));
    story.wait(1_000);
    assert_eq!(story.text("a"), "1 yes always `cargo test …`, 2 yes");
    assert!(story.below().contains("? run  cargo test | tee log"));
    story.wait(1_000);
    assert_eq!(story.text("p"), "3 yes kept this command");
}

#[test]
fn question_of_a_cancelled_call_disappears() {
    let mut story = asked();
    story.wait(1_000);
    story.text("t");
    story.text("because");
    let content = foxwedge_run::RawJson::string("cancelled");
    let (status, reason) = (ToolStatus::Cancelled, None);
    story.tell(UiChange::ToolSettled { tool: tool("c1"), status, reason, content });
    assert!(!story.below().contains("cargo test"));
    assert_eq!(story.screen.editor.text(), "");
    // What was typed as a reason is not lost.
    story.key(TerminalKey::Up);
    assert_eq!(story.screen.editor.text(), "because");
}

#[test]
fn everything_in_a_question_that_has_no_room_can_be_shown() {
    let lines: Vec<String> = (0..90).map(|n| format!("echo line {n}")).collect();
    for height in [8, 20, 60] {
        let mut story = Story::sized(60, height);
        story.busy();
        story.ask("run", json!({ "command": lines.join("\n") }));
        story.wait(1_000);
        assert!(story.live().rows.len() < height);
        assert!(story.below().contains("more lines · v shows all"), "{}", story.below());
        assert!(story.below().contains("y yes"), "{}", story.below());
        assert_eq!(story.text("v"), "");
        let above = story.above();
        assert!(lines.iter().all(|line| above.contains(line.as_str())), "{above}");
        assert_eq!(story.text("n"), "1 no");
    }
}
