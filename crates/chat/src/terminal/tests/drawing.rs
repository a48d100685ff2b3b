//! The live rows: they show the work in progress and fit into a terminal of any size.

use foxwedge_run::{RawJson, UiChange};
use insta::assert_snapshot;
use serde_json::json;

use super::story::{Story, tool};
use crate::terminal::{TerminalStart, keys::TerminalKey};

fn crowded(width: usize, height: usize) -> Story {
    let mut story = Story::sized(width, height);
    story.busy();
    story.say(
        "A line that is done.\nA line that goes on and on until it is longer than a row, 中文 too",
    );
    story.call("1", "run", r#"{"command":"cargo test --workspace --all-targets"}"#);
    let content = RawJson::string("   Compiling foxwedge v0.1.0\nerror: no\n");
    story.tell(UiChange::ToolProgress { tool: tool("1"), content });
    story.call("2", "read", r#"{"path":"src/main.rs"}"#);
    story.text("and then this\nand that\n");
    story.text("half a ");
    story.key(TerminalKey::NewLine);
    story.text("prompt");
    story.wait(3_000);
    story
}

#[test]
fn what_is_under_way_stands_below() {
    assert_snapshot!(crowded(60, 20).below(), @r"

    A line that is done.
    A line that goes on and on until it is longer than a row,
    中文 too

    ● run  cargo test --workspace --all-targets  running 3.0s
      error: no
    ● read  src/main.rs  running 3.0s

    queued: and then this
    queued: and that
    ⠋ working 3s · Esc stops it
    > half a 
      prompt▏
    ");
}

#[test]
fn a_question_stands_above_the_editor() {
    let mut story = Story::new();
    story.busy();
    story.ask("edit", json!({"path":"src/main.rs","old":"a\nb","new":"a\nc\nd"}));
    story.wait(1_000);
    assert_snapshot!(story.below(), @r"

    ? edit  src/main.rs
        - b
        + c
        + d
      y yes · a always · p here · n no · t why not · Esc stop

    > ▏
    ");
}

#[test]
fn a_slash_lists_commands() {
    let commands = vec![("/compact".to_owned(), "makes the history shorter".to_owned())];
    let mut story = Story::begun(TerminalStart { commands, ..TerminalStart::default() }, 40, 20);
    story.text("/");
    assert_snapshot!(story.below(), @r"
    > /▏
      /compact   makes the history shorter
      /thoughts  show or hide what the mod…
    ");
    story.text("help me");
    assert_snapshot!(story.below(), @"> /help me▏");
}

#[test]
fn a_beginning_shows_who_is_there_and_what_was_said() {
    use crate::terminal::TerminalHistoryItem;
    let start = TerminalStart {
        greeting: vec!["foxwedge chat".to_owned(), "scripted".to_owned()],
        past_items: vec![
            TerminalHistoryItem::Prompt("look\nhere".to_owned()),
            TerminalHistoryItem::Call("✓ read  a.rs  done".to_owned()),
            TerminalHistoryItem::Text("It is **fine**.\n".to_owned()),
        ],
        ..TerminalStart::default()
    };
    let mut story = Story::begun(start, 40, 20);
    assert_snapshot!(story.above(), @r"
    foxwedge chat
    scripted

    > look
      here

    ✓ read  a.rs  done

    It is fine.
    ");
}

#[test]
fn whatever_the_size_it_fits_and_the_cursor_is_in_it() {
    for width in 1..90 {
        for height in [1, 2, 3, 4, 5, 8, 13, 30] {
            let mut story = crowded(width, height);
            for asks in 0..2 {
                if asks == 1 {
                    story.ask("run", json!({"command":"a\nb\nc\nd"}));
                    story.wait(1_000);
                }
                let live = story.live();
                let size = format!("{width} x {height}");
                assert!(live.rows.len() <= height.saturating_sub(1).max(1), "{size}");
                assert!(live.row < live.rows.len(), "{size}");
                for row in &live.rows {
                    // A wide character does not fit into one column; nothing can be done about that.
                    assert!(row.width() <= width.max(2), "{size}: {}", row.plain());
                }
                assert!(live.column < width.max(2), "{size}");
            }
        }
    }
}

#[test]
fn small_terminals_keep_what_matters() {
    assert_snapshot!(crowded(20, 6).below(), @r"
    ● run  running 3.0s
      error: no
    ⠋ working 3s · Esc…
    > half a 
      prompt▏
    ");
    assert_snapshot!(crowded(20, 3).below(), @r"
    ⠋ working 3s · Esc…
    > prompt▏
    ");
    let mut story = Story::sized(24, 5);
    story.busy();
    story.ask("run", json!({"command":"make"}));
    story.wait(1_000);
    assert_snapshot!(story.below(), @r"
    ? run  make
      y a p n t Esc

    > ▏
    ");
}
