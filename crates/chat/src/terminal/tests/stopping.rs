//! Stopping and leaving: what Esc, Ctrl-C and Ctrl-D do in each state.

use foxwedge_run::{Outcome, ToolStatus};

use super::story::Story;
use crate::terminal::keys::TerminalKey;

#[test]
fn the_first_press_asks_the_second_forces_and_only_ctrl_c_leaves() {
    let mut story = Story::new();
    story.busy();
    story.call("1", "run", r#"{"command":"sleep 60"}"#);
    assert_eq!(story.key(TerminalKey::Esc), "press");
    let status = "stopping: waiting for tools (press again to kill them)";
    assert!(story.below().contains(status), "{}", story.below());
    assert_eq!(story.key(TerminalKey::Interrupt), "press");
    assert!(story.below().contains("stopping by force"));
    assert_eq!(story.key(TerminalKey::Esc), "");
    assert_eq!(story.key(TerminalKey::Interrupt), "leave 130");
}

#[test]
fn stop_shows_how_many_results_were_kept() {
    let table: [(&[(ToolStatus, usize)], &str); 4] = [
        (&[], "⊘ stopped; the history is valid"),
        (
            &[
                (ToolStatus::Succeeded, 1),
                (ToolStatus::Failed, 1),
                (ToolStatus::Cancelled, 1),
                (ToolStatus::Interrupted, 1),
            ],
            "⊘ stopped: kept 2 results, 1 cancelled, 1 interrupted; the\n  history is valid",
        ),
        (&[(ToolStatus::Succeeded, 1)], "⊘ stopped: kept 1 result; the history is valid"),
        (&[(ToolStatus::Denied, 2)], "⊘ stopped: 2 denied; the history is valid"),
    ];
    for (counts, expected) in table {
        let mut story = Story::new();
        story.busy();
        story.key(TerminalKey::Esc);
        story.end(Outcome::Stopped, counts);
        assert_eq!(story.above().trim_start(), expected);
    }
}

#[test]
fn unsent_text_survives_a_stop() {
    let mut story = Story::new();
    story.busy();
    story.text("half a thought");
    story.key(TerminalKey::Esc);
    story.end(Outcome::Stopped, &[]);
    assert_eq!(story.screen.editor.text(), "half a thought");
}

#[test]
fn a_stopped_run_leaves_no_unfinished_text_and_no_calls_below() {
    let mut story = Story::new();
    story.busy();
    story.say("half a line");
    story.call("1", "run", "{}");
    story.end(Outcome::Interrupted, &[]);
    assert!(story.above().contains("half a line"));
    assert_eq!(story.below(), "\n> ▏");
}

#[test]
fn esc_while_idle_does_nothing_and_twice_clears() {
    let mut story = Story::new();
    assert_eq!(story.key(TerminalKey::Esc), "");
    story.wait(100);
    story.key(TerminalKey::Esc);
    story.text("typed");
    assert_eq!(story.key(TerminalKey::Esc), "");
    assert_eq!(story.screen.editor.text(), "typed");
    // Two presses that are far apart, or have another key between them, do not count as double.
    story.wait(5_000);
    story.key(TerminalKey::Esc);
    story.text("!");
    story.key(TerminalKey::Esc);
    assert_eq!(story.screen.editor.text(), "typed!");
    story.wait(100);
    story.key(TerminalKey::Esc);
    assert_eq!(story.screen.editor.text(), "");
    story.key(TerminalKey::Up);
    assert_eq!(story.screen.editor.text(), "typed!");
}

#[test]
fn ctrl_c_while_idle_clears_first_and_leaves_when_pressed_twice() {
    let mut story = Story::new();
    story.text("typed");
    assert_eq!(story.key(TerminalKey::Interrupt), "");
    assert_eq!(story.screen.editor.text(), "");
    story.key(TerminalKey::Up);
    assert_eq!(story.screen.editor.text(), "typed");
    story.key(TerminalKey::Interrupt);
    story.wait(5_000);
    assert_eq!(story.key(TerminalKey::Interrupt), "");
    assert!(story.below().contains("press Ctrl-D or Ctrl-C again to leave"));
    story.wait(500);
    assert_eq!(story.key(TerminalKey::Interrupt), "leave 0");
}

#[test]
fn a_key_between_two_ctrl_c_takes_the_first_back() {
    let mut story = Story::new();
    story.key(TerminalKey::Interrupt);
    story.text("x");
    story.key(TerminalKey::Backspace);
    assert_eq!(story.key(TerminalKey::Interrupt), "");
}

#[test]
fn ctrl_c_that_stopped_a_run_does_not_also_leave() {
    let mut story = Story::new();
    story.busy();
    story.key(TerminalKey::Interrupt);
    story.end(Outcome::Stopped, &[]);
    assert_eq!(story.key(TerminalKey::Interrupt), "");
}

#[test]
fn ctrl_d_leaves_only_an_empty_editor_with_nothing_at_work() {
    let mut story = Story::new();
    story.text("ab");
    story.key(TerminalKey::Home);
    assert_eq!(story.key(TerminalKey::EndOfInput), "");
    assert_eq!(story.screen.editor.text(), "b");
    story.key(TerminalKey::EndOfInput);
    assert_eq!(story.key(TerminalKey::EndOfInput), "leave 0");
    let mut story = Story::new();
    story.busy();
    assert_eq!(story.key(TerminalKey::EndOfInput), "");
    assert!(story.below().contains("a run is in progress"));
}
