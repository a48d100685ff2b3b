//! Every way out gives the terminal back.

use rustix::process::{Signal, kill_process};

use crate::desk::Desk;

#[test]
fn a_signal_ends_it_cleanly() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut desk = Desk::new();
        let before = desk.settings();
        desk.chat("--yes");
        desk.ready();
        desk.press("call run with {\"command\":\"sleep 600\"}\r");
        desk.see("● run");
        kill_process(desk.pid(), signal).unwrap();
        assert_eq!(desk.code(), code);
        assert!(desk.screen().contains("resume with"), "{}", desk.screen());
        assert_eq!(desk.settings(), before);
    }
}

#[test]
fn twice_ctrl_c_leaves_when_nothing_is_at_work() {
    let mut desk = Desk::new();
    let before = desk.settings();
    desk.chat("");
    desk.ready();
    desk.press("typed");
    desk.see("> typed");
    desk.press("\u{3}");
    desk.see("cleared");
    desk.press("\u{3}");
    assert_eq!(desk.code(), 0);
    assert_eq!(desk.settings(), before);
}

#[test]
fn ctrl_z_suspends_it_and_fg_brings_it_back() {
    let mut desk = Desk::new();
    let before = desk.settings();
    desk.chat("");
    desk.ready();
    desk.press("kept");
    desk.see("> kept");
    desk.press("\u{1a}");
    desk.see("shell-waits>");
    assert_eq!(desk.settings(), before);
    desk.shell("fg");
    desk.see("> kept");
    desk.press(" text\r");
    desk.see("You said: kept text");
    desk.ready();
    desk.press("\u{4}");
    desk.see("resume with");
}

#[test]
fn without_colours_there_are_none_and_words_say_it() {
    let mut desk = Desk::new();
    desk.shell("export NO_COLOR=1 FOXWEDGE_ASCII=1 NO_MOTION=1");
    desk.chat("--yes");
    desk.ready();
    desk.press("call run with {\"command\":\"exit 3\"}\r");
    let screen = desk.see("x run  exit 3  failed");
    assert!(!screen.contains('✗'), "{screen}");
}
