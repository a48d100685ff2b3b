//! Stopping in the middle of work.

use std::{thread, time::Duration};

use rustix::process::{Signal, kill_process, kill_process_group};

use crate::desk::Desk;

const SLEEP: &str = "call run with {\"command\":\"echo begun; sleep 600\"}\r";

#[test]
fn esc_in_the_middle_of_a_tool_keeps_a_valid_history() {
    let mut desk = Desk::new();
    desk.chat("--yes");
    desk.ready();
    desk.press(SLEEP);
    desk.see("● run  echo begun; sleep 600");
    desk.see("  begun");
    desk.press("unsent");
    desk.press("\u{1b}");
    desk.see("⚠ run  echo begun; sleep 600  stopped");
    let screen = desk.see("the history is valid");
    assert!(screen.contains("1 interrupted"), "{screen}");
    // What was typed is still there, and the next prompt is taken.
    desk.see("> unsent");
    desk.press(" but now\r");
    desk.see("> unsent but now");
    // It was never told what became of its call; now it is.
    desk.see("The tool said: ");
    desk.ready();
    desk.press("\u{4}");
    assert_eq!(desk.code(), 0);

    desk.chat("--continue");
    desk.see("> unsent but now");
    desk.ready();
    desk.press("and again\r");
    desk.see("You said: and again");
}

#[test]
fn an_interrupt_right_behind_a_prompt_is_heard() {
    let mut desk = Desk::new();
    desk.chat("--yes");
    desk.ready();
    // In one piece: the run has not begun when the second key is there.
    desk.press(&SLEEP.replace('\r', "\r\u{3}"));
    let screen = desk.see("stopped; the history is valid");
    assert!(!screen.contains("begun\n"), "nothing was run: {screen}");
    desk.ready();
    desk.press("\u{4}");
    assert_eq!(desk.code(), 0);
}

#[test]
fn a_compaction_that_is_stopped_says_so() {
    let mut desk = Desk::new();
    desk.chat("--yes");
    desk.ready();
    for word in ["why", "how", "who"] {
        desk.press(&format!("{}\r", format!("{word} ").repeat(400)));
        desk.see(&format!("You said: {word} {word}"));
        desk.ready();
    }
    desk.press("/model scripted?hang=0\r");
    desk.see("the model is now `scripted?hang=0`");
    desk.ready();
    desk.press("/compact\r");
    desk.see("compacting the history");
    desk.press("\u{1b}");
    let screen = desk.see("stopped: the history is not changed");
    assert!(!screen.contains("as short as possible"), "{screen}");
}

#[test]
fn an_arrow_in_pieces_stops_nothing() {
    let mut desk = Desk::new();
    desk.chat("--yes");
    desk.ready();
    desk.press(SLEEP);
    desk.see("● run");
    for _ in 0..20 {
        desk.press_slowly("\u{1b}[C");
        desk.press_slowly("\u{1b}OA");
    }
    desk.press("x");
    let screen = desk.wait("typed", |screen| {
        screen.lines().any(|row| row.ends_with('x') && row.starts_with('>'))
    });
    assert!(screen.contains("● run") && !screen.contains("stopping"), "{screen}");
    desk.press("\u{1b}");
    desk.see("stopped");
}

#[test]
fn what_waits_is_kept_by_a_stop_and_sent_by_enter() {
    let mut desk = Desk::new();
    desk.chat("--yes");
    desk.ready();
    desk.press(SLEEP);
    desk.see("● run");
    desk.press("after that\r");
    desk.see("queued: after that");
    desk.press("\u{1b}");
    desk.see("press Enter to send");
    desk.press("\r");
    desk.see("> after that");
    desk.see("The tool said: ");
    desk.miss("queued:");
}

#[test]
fn three_times_ctrl_c_leaves_and_the_terminal_is_as_it_was() {
    let mut desk = Desk::new();
    let before = desk.settings();
    desk.chat("--yes");
    desk.ready();
    // It does not want to end.
    desk.press("call run with {\"command\":\"trap '' INT TERM; while :; do sleep 1; done\"}\r");
    desk.see("● run");
    // In one piece: nothing may end between the second and the third.
    desk.press("\u{3}\u{3}\u{3}");
    assert_eq!(desk.code(), 130);
    assert!(!desk.hides_cursor());
    assert_eq!(desk.settings(), before);
}

#[test]
fn a_killed_process_loses_nothing_that_was_finished() {
    let mut desk = Desk::new();
    desk.chat("--yes");
    desk.ready();
    desk.press("remember this\r");
    desk.see("You said: remember this");
    desk.press(SLEEP);
    desk.see("● run");
    desk.press("this waits\r");
    desk.see("queued: this waits");
    // It is in the store before the process is gone, but not at the same moment.
    thread::sleep(Duration::from_millis(300));
    let tools = desk.children(desk.pid());
    kill_process(desk.pid(), Signal::KILL).unwrap();
    assert_eq!(desk.code(), 137);
    // Nobody is left to end them.
    for tool in tools {
        let _ = kill_process_group(tool, Signal::KILL);
    }
    desk.shell("stty sane");
    desk.chat("--continue --yes");
    let screen = desk.see("queued: this waits");
    assert!(screen.contains("You said: remember this"), "{screen}");
    desk.press("\r");
    desk.see("> this waits");
    desk.miss("queued:");
    desk.ready();
    desk.press("still there?\r");
    desk.see("You said: still there?");
}
