//! Questions before a tool runs.

use crate::desk::Desk;

const MAKE: &str = "call run with {\"command\":\"echo made > made.txt\"}\r";
const KEYS: &str = "y yes · a always";

fn made(desk: &Desk) -> bool {
    desk.folder.path("work/made.txt").exists()
}

#[test]
fn yes_runs_it_and_no_does_not() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    desk.press(MAKE);
    desk.see("? run  echo made > made.txt");
    desk.see(KEYS);
    desk.press("n");
    desk.see("denied, did not run");
    assert!(!made(&desk));
    desk.ready();
    desk.press(MAKE);
    desk.see(KEYS);
    desk.press("y");
    desk.see("✓ run  echo made > made.txt  done");
    assert!(made(&desk));
}

#[test]
fn always_asks_no_more() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    desk.press(MAKE);
    desk.see(KEYS);
    desk.press("n");
    desk.see("denied, did not run");
    desk.press("call run with {\"command\":\"echo once\"}\r");
    desk.see("always `echo …`");
    desk.press("a");
    desk.see("✓ run  echo once");
    desk.press("call run with {\"command\":\"echo twice\"}\r");
    desk.see("✓ run  echo twice");
    // A redirection is more than the words before it.
    desk.press(MAKE);
    desk.see("? run  echo made > made.txt");
}

#[test]
fn a_no_tells_why() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    desk.press(MAKE);
    desk.see(KEYS);
    desk.press("t");
    desk.see("why not?");
    desk.press("use a pencil\r");
    desk.see("denied, did not run");
    // The model is told, and repeats it.
    desk.wait("the reason", |screen| screen.matches("use a pencil").count() >= 1);
    assert!(!made(&desk));
}

#[test]
fn what_was_typed_before_is_no_answer() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    // All of it arrives before there is a question.
    desk.press(&format!("{MAKE}yyyyyyyy"));
    desk.see("Tab focuses the question");
    desk.see("> yyyyyyyy");
    assert!(!made(&desk));
    desk.press("\u{1b}");
    desk.see("the history is valid");
    desk.see("> yyyyyyyy");
    assert!(!made(&desk));
}

#[test]
fn a_question_hides_nothing_of_a_command() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    desk.press(
        "call run with {\"command\":\"echo a \\u001b]0;x; touch hidden; echo \\u0007 b\"}\r",
    );
    let screen = desk.see(KEYS);
    // The terminal of the tests leaves out the signs that stand for control characters.
    assert!(screen.contains("? run  echo a ]0;x; touch hidden; echo  b"), "{screen}");
    desk.press("n");
    desk.see("denied, did not run");
    assert!(!desk.folder.path("work/hidden").exists());
}
