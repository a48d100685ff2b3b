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
    desk.wait("the last prompt", |screen| screen.contains("> first\n  second\n  scripted · "));
    desk.press("\u{3}");
    desk.see("cleared");
    desk.press("\u{4}");
    assert_eq!(desk.code(), 0);
}

#[test]
fn markdown_is_rendered_and_stays_in_the_scrollback() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    let lines = ["- **one**", "- `two`", "", "| a | b |", "|---|---|", "| 1 | 2 |"];
    desk.press(&format!("\u{1b}[200~{}\u{1b}[201~", lines.join("\n")));
    desk.see("[pasted 6 lines]");
    desk.press("\r");
    let screen = desk.see("1 │ 2");
    assert!(screen.contains("• two\n") && screen.contains("a │ b\n──┼──"), "{screen}");
    assert!(!screen.contains("**"), "{screen}");
    // The line at the bottom.
    let screen = desk.see("tokens");
    let status = screen.lines().last().unwrap_or_default().trim().to_owned();
    assert!(status.starts_with("scripted · ") && status.ends_with("work"), "{status}");
}

#[test]
fn files_and_commands_reach_the_model() {
    let mut desk = Desk::new();
    std::fs::write(desk.folder.path("work/tide.txt"), "high water").unwrap();
    desk.chat("");
    desk.ready();
    desk.press("!echo made by hand\r");
    desk.see("\nmade by hand");
    desk.ready();
    desk.press("read @ti");
    desk.see("\n  tide.txt");
    desk.press("\t");
    desk.see("> read @tide.txt");
    desk.press("\r");
    desk.see("You said: read @tide.txt");
    desk.ready();
    desk.press("\u{4}");
    assert_eq!(desk.code(), 0);
    // What was sent with the prompt is not shown again as a prompt, but it is in the history.
    desk.chat("--continue");
    let screen = desk.see("You said: read @tide.txt");
    assert!(!screen.contains("> The file") && !screen.contains("> I ran"), "{screen}");
    desk.ready();
    desk.press("/export chat.json\r");
    desk.see("exported to chat.json");
    let exported = std::fs::read_to_string(desk.folder.path("work/chat.json")).unwrap();
    assert!(exported.contains("high water") && exported.contains("made by hand"), "{exported}");
}

#[test]
fn output_of_a_command_does_not_reach_another_session() {
    let mut desk = Desk::new();
    desk.chat("");
    desk.ready();
    desk.press("!echo made by hand\r");
    desk.see("\nmade by hand");
    desk.ready();
    desk.press("/new\r");
    desk.see("the next prompt starts a new session");
    desk.ready();
    desk.press("//slash\r");
    desk.see("You said: /slash");
    desk.ready();
    desk.press("/export chat.json\r");
    desk.see("exported to chat.json");
    let exported = std::fs::read_to_string(desk.folder.path("work/chat.json")).unwrap();
    assert!(!exported.contains("made by hand"), "{exported}");
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
    desk.see("[pasted 2001 lines]");
    desk.press("\r");
    desk.see("You said: pasted words");
    desk.ready();
    desk.press("/export chat.json\r");
    desk.see("exported to chat.json");
    let exported = std::fs::read_to_string(desk.folder.path("work/chat.json")).unwrap();
    // The reply repeats a part of it.
    assert!(exported.matches("until the line ends\\n").count() >= 2_000);
    assert!(exported.contains("until the line ends\\nLAST"));
}
