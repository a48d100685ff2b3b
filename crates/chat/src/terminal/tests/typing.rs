//! Typing: what is sent, what is queued, and that no typed text is lost.

use foxwedge_run::{Outcome, RunStart, ToolStatus, UiChange};

use super::story::Story;
use crate::terminal::{
    CommandFollowUp, CommandReply, TerminalStart, keys::TerminalKey, screen::ScreenError,
};

fn started() -> UiChange {
    UiChange::RunStarted { epoch: 2, at: None, started: RunStart::default() }
}

#[test]
fn enter_sends_and_a_slash_is_a_command() {
    let table = [
        ("hello\n", "send hello"),
        ("\n", ""),
        ("   \n", ""),
        ("/help\n", "command /help"),
        ("/etc/hosts is odd\n", "send /etc/hosts is odd"),
        ("/\n", "send /"),
        ("//help me\n", "send /help me"),
        ("  //etc is a folder\n", "send /etc is a folder"),
        ("a // b\n", "send a // b"),
        ("one\\\ntwo\n", "send one\ntwo"),
    ];
    for (typed, expected) in table {
        assert_eq!(Story::new().text(typed), expected, "{typed:?}");
    }
}

#[test]
fn prompts_typed_while_busy_are_queued_and_sent_one_by_one() {
    let mut story = Story::new();
    story.busy();
    assert_eq!(story.text("first\n"), "queue [first]");
    assert_eq!(story.text("second\n"), "queue [first | second]");
    assert_eq!(story.text("half"), "");
    // The first prompt leaves the queue when its run starts, not before.
    assert_eq!(story.end(Outcome::Completed, &[]), "send first");
    assert!(!story.below().contains("queued: first"));
    assert_eq!(story.tell(started()), "queue [second]");
    assert_eq!(story.end(Outcome::Completed, &[]), "send second");
    assert_eq!(story.tell(started()), "queue []");
    assert_eq!(story.end(Outcome::Completed, &[]), "");
    assert_eq!(story.screen.editor.text(), "half");
}

#[test]
fn queue_is_kept_after_a_stop_and_a_failure() {
    for outcome in [Outcome::Stopped, Outcome::Failed, Outcome::Interrupted, Outcome::MaxTurns] {
        let mut story = Story::new();
        story.busy();
        story.text("later\n");
        assert_eq!(story.end(outcome, &[]), "", "{outcome:?}");
        assert!(story.below().contains("queued: later\npress Enter to send"), "{outcome:?}");
        assert_eq!(story.text("\n"), "send later");
        assert_eq!(story.tell(started()), "queue []");
    }
}

#[test]
fn stopped_run_that_completes_does_not_send_the_queue() {
    let mut story = Story::new();
    story.busy();
    story.text("later\n");
    story.key(TerminalKey::Esc);
    assert_eq!(story.end(Outcome::Completed, &[]), "");
}

#[test]
fn queued_prompt_stays_queued_if_its_run_cannot_start() {
    let mut story = Story::new();
    story.busy();
    story.text("later\n");
    assert_eq!(story.end(Outcome::Completed, &[]), "send later");
    let (message, help) = ("the store is gone".to_owned(), Some("look for it".to_owned()));
    story.screen.on_run_ended(Err(ScreenError { message, help }));
    assert!(story.above().ends_with("error: the store is gone\n  help: look for it"));
    assert_eq!(story.text("\n"), "send later");
}

#[test]
fn up_takes_back_a_queued_prompt() {
    let mut story = Story::new();
    story.busy();
    story.text("first\nsecond\n");
    assert_eq!(story.key(TerminalKey::Up), "queue [first]");
    assert_eq!(story.screen.editor.text(), "second");
    // The editor is not empty any more: Up goes through the history.
    assert_eq!(story.key(TerminalKey::Up), "");
    assert_eq!(story.screen.editor.text(), "second");
    story.key(TerminalKey::Up);
    story.key(TerminalKey::Up);
    assert_eq!(story.screen.editor.text(), "go");
}

#[test]
fn prompts_queued_by_an_earlier_process_are_shown_and_sent_by_enter() {
    let start =
        TerminalStart { queued: vec!["from before".to_owned()], ..TerminalStart::default() };
    let mut story = Story::begun(start, 60, 20);
    assert!(story.below().contains("queued: from before"));
    assert_eq!(story.text("\n"), "send from before");
}

#[test]
fn commands_are_queued_too_and_the_queue_continues_after_them() {
    let mut story = Story::new();
    story.busy();
    story.text("/compact\nmore\n");
    assert_eq!(story.end(Outcome::Completed, &[]), "command /compact");
    let reply =
        CommandReply { lines: vec!["shorter now".to_owned()], follow_up: CommandFollowUp::Stay };
    let actions = story.screen.on_command_reply(Ok(&reply));
    assert_eq!(format!("{actions:?}"), r#"[SaveQueue(["more"]), Send("more")]"#);
}

#[test]
fn command_that_fills_the_editor_keeps_the_typed_text() {
    let mut story = Story::new();
    story.text("/undo\n");
    story.text("typed");
    let reply = CommandReply {
        lines: Vec::new(),
        follow_up: CommandFollowUp::Edit("the old prompt".to_owned()),
    };
    story.screen.on_command_reply(Ok(&reply));
    assert_eq!(story.screen.editor.text(), "the old prompt");
    story.key(TerminalKey::Up);
    assert_eq!(story.screen.editor.text(), "typed");
}

#[test]
fn tab_completes_commands() {
    let commands = ["/compact", "/continue", "/help"];
    let commands = commands.map(|name| (name.to_owned(), "does it".to_owned())).to_vec();
    let table = [
        ("/h", "/help "),
        ("/co", "/co"),
        ("/con", "/continue "),
        ("/x", "/x"),
        ("h", "h"),
        ("/help me", "/help me"),
        ("/th", "/thoughts "),
    ];
    for (typed, expected) in table {
        let mut story = Story::begun(
            TerminalStart { commands: commands.clone(), ..TerminalStart::default() },
            60,
            20,
        );
        story.text(typed);
        story.key(TerminalKey::Tab);
        assert_eq!(story.screen.editor.text(), expected, "{typed}");
    }
}

#[test]
fn thoughts_are_hidden_until_toggled() {
    let mut story = Story::new();
    story.busy();
    story.think("first\nsecond");
    story.wait(3_000);
    assert!(story.below().contains("thinking 3s"));
    story.thought_over();
    assert_eq!(story.above(), "\n… thought for 3.0s");
    story.key(TerminalKey::Thoughts);
    assert_eq!(story.above(), "┊ first\n┊ second");
    story.think("again\nand");
    assert_eq!(story.above(), "");
    assert!(story.below().contains("┊ again\n┊ and"));
    story.thought_over();
    assert_eq!(story.above(), "┊ again\n┊ and");
    assert_eq!(story.text("/thoughts\n"), "");
    story.think("more\n");
    assert_eq!(story.above(), "");
}

#[test]
fn blank_rows_separate_different_kinds_of_output() {
    let mut story = Story::new();
    story.text("do it\n");
    story.say("I will.\nNow");
    story.call("1", "read", r#"{"path":"a.rs"}"#);
    story.tell(UiChange::TextClosed(foxwedge_run::UiPart { id: "t".into(), parent: None }));
    story.wait(1_200);
    story.settle("1", ToolStatus::Succeeded, "text");
    story.say("\n\nDone.");
    story.end(Outcome::Completed, &[]);
    let expected = "> do it\n\nI will.\nNow\n\n✓ read  a.rs  done 1.2s\n\nDone.";
    assert_eq!(story.above(), expected);
}

#[test]
fn queue_of_another_session_is_not_overwritten() {
    let mut story = Story::new();
    story.busy();
    story.text("here\n");
    story.end(Outcome::Stopped, &[]);
    let actions = story.screen.on_session_switch(vec!["there".to_owned()]);
    assert_eq!(format!("{actions:?}"), r#"[SaveQueue(["here", "there"])]"#);
    assert_eq!(Story::new().screen.on_session_switch(Vec::new()), []);
}
