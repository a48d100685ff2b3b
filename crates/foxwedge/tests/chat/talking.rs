//! Typing, reading, waiting, and coming back.

use crate::desk::Desk;

#[test]
fn a_conversation_is_kept_and_gone_on_with() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    desk.press("hello there");
    desk.see("> hello there");
    desk.press("\r");
    desk.see("You said: hello there");
    // Arrows in pieces move the cursor; none of them is an Esc.
    desk.press("one three");
    for _ in 0..5 {
        desk.press_slowly("\u{1b}[D");
    }
    desk.press("two ");
    desk.see("> one two three");
    desk.press("\r");
    desk.see("You said: one two three");
    // Lines that are pasted are one prompt.
    desk.press("\u{1b}[200~first\nsecond\u{1b}[201~");
    desk.see("> first\n  second");
    desk.press("\r");
    desk.see("You said: first");
    desk.ready();
    desk.press("\u{4}");
    desk.see("resume with foxwedge chat --resume");
    assert_eq!(desk.code(), 0);

    desk.chat("--continue");
    let screen = desk.see("You said: first");
    assert!(screen.contains("> one two three"), "{screen}");
    // What was typed before is there.
    desk.ready();
    desk.press("\u{1b}[A");
    desk.wait("the last prompt", |screen| screen.ends_with("> first\n  second\n  scripted"));
    desk.press("\u{3}");
    desk.see("cleared");
    desk.press("\u{4}");
    assert_eq!(desk.code(), 0);
}

#[test]
fn what_is_typed_while_a_tool_works_waits_for_the_end() {
    let mut desk = Desk::new();
    desk.chat("--yes");
    desk.ready();
    desk.press("call run with {\"command\":\"sleep 1; echo slept\"}\r");
    desk.see("● run  sleep 1");
    desk.press("this waits\r");
    desk.see("queued: this waits");
    desk.press("half");
    desk.see("You said: this waits");
    let screen = desk.see("> half");
    assert!(screen.contains("✓ run  sleep 1; echo slept  done"), "{screen}");
    assert!(!screen.contains("queued:"), "{screen}");
}

#[test]
fn another_size_is_drawn_anew() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    desk.press("some words that stand in the editor");
    desk.see("in the editor");
    desk.resize(100, 30);
    desk.press("!");
    desk.wait("one editor", |screen| {
        screen.matches("some words").count() == 1 && screen.contains("editor!\n  scripted")
    });
    desk.resize(20, 8);
    desk.press("?");
    desk.wait("all of it", |screen| screen.replace("\n  ", "").contains("the editor!?"));
    desk.resize(80, 24);
    desk.press(".");
    desk.see("the editor!?.");
    desk.press("\r");
    desk.see("You said: some words that stand in the editor!?.");
}

#[test]
fn commands_are_listed_and_carried_out() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    desk.press("/he");
    desk.see("  /help");
    desk.press("\t");
    desk.see("> /help");
    desk.press("\r");
    desk.see("/compact");
    desk.press("/thoughts\r");
    desk.see("thoughts are shown");
    desk.press("think about it\r");
    desk.see("┊ ");
}

#[test]
fn much_that_is_typed_at_once_arrives_whole() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    // More than one reading takes, and nothing comes behind it.
    desk.press(&format!("{}END", "many words ".repeat(300)));
    desk.see("END");
    // The same as a paste.
    desk.press("\u{15}");
    desk.press(&format!(
        "\u{1b}[200~{}LAST\u{1b}[201~",
        "pasted words, and more of them, and even more of them, until the line ends\n"
            .repeat(2_000)
    ));
    desk.see("LAST");
    desk.press("\r");
    desk.see("… 1981 more lines");
}
