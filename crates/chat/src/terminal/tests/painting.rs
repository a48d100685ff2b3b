//! Bytes on a terminal emulator: after every step it shows the finished lines and the live rows,
//! and nothing else.

use anstyle::Style;
use foxwedge_run::{Outcome, ToolStatus};

use super::story::Story;
use crate::terminal::{
    keys::TerminalKey,
    paint::{TerminalColors, TerminalPainter},
    row::StyledRow,
};
use foxwedge_local::output::BOLD;

struct Terminal {
    story: Story,
    painter: TerminalPainter,
    emulator: vt100::Parser,
    /// All finished rows.
    above: Vec<String>,
}

impl Terminal {
    fn new(width: u16, height: u16) -> Terminal {
        let story = Story::sized(width.into(), height.into());
        let painter = TerminalPainter::new(TerminalColors::Shown, width.into());
        let emulator = vt100::Parser::new(height, width, 1_000);
        Terminal { story, painter, emulator, above: Vec::new() }
    }

    /// Paints and checks the screen of the emulator.
    fn step(&mut self) {
        let above = self.story.screen.take_rows();
        self.above.extend(above.iter().map(StyledRow::plain));
        let live = self.story.live();
        let bytes = self.painter.paint(&above, &live);
        self.emulator.process(bytes.as_bytes());
        let screen = self.emulator.screen();
        let (height, width) = screen.size();
        let shown: Vec<String> = screen.rows(0, width).collect();
        let below: Vec<String> = live.rows.iter().map(StyledRow::plain).collect();
        let expected: Vec<&str> =
            self.above.iter().chain(&below).map(|row| row.trim_end()).collect();
        let (row, column) = screen.cursor_position();
        assert_eq!(usize::from(column), live.column);
        // Scrolled rows do not come back when there are fewer live rows: the rest is empty.
        let used = usize::from(row) - live.row + below.len();
        let mut expected = expected[expected.len() - used..].to_vec();
        expected.resize(height.into(), "");
        let shown: Vec<&str> = shown.iter().map(|row| row.trim_end()).collect();
        assert_eq!(shown, expected);
        assert!(!screen.hide_cursor());
        // Nothing changed, so nothing is written.
        assert_eq!(self.painter.paint(&[], &self.story.live()), "");
    }
}

#[test]
fn whole_conversation_leaves_no_garbage() {
    let mut terminal = Terminal::new(40, 10);
    terminal.step();
    for c in "what is in this folder, and why is it there?".chars() {
        terminal.story.text(&c.to_string());
        terminal.step();
    }
    terminal.story.text("\n");
    terminal.step();
    for delta in
        ["Let me ", "look.\n\nI ", "think that there are many things in it, 中文", " too\n"]
    {
        terminal.story.say(delta);
        terminal.step();
    }
    terminal.story.call("1", "run", r#"{"command":"ls -l"}"#);
    terminal.step();
    terminal.story.text("next\n");
    terminal.step();
    terminal.story.wait(2_000);
    terminal.step();
    terminal.story.key(TerminalKey::Esc);
    terminal.step();
    terminal.story.settle(
        "1",
        ToolStatus::Interrupted,
        "a\nb\nc\nd\ne\nf\n\u{1b}[2J\u{1b}]0;x\u{7}g",
    );
    terminal.step();
    terminal.story.end(Outcome::Stopped, &[(ToolStatus::Interrupted, 1)]);
    terminal.step();
    terminal.story.key(TerminalKey::Up);
    terminal.step();
    for _ in 0..30 {
        terminal.story.key(TerminalKey::NewLine);
        terminal.step();
    }
    terminal.story.key(TerminalKey::Interrupt);
    terminal.step();
}

#[test]
fn wider_or_higher_terminal_is_redrawn() {
    let mut terminal = Terminal::new(40, 10);
    terminal.story.busy();
    terminal.story.say("Something that was said\nand something on its way");
    terminal.step();
    for (width, height) in [(60_u16, 10_u16), (60, 14), (80, 14)] {
        terminal.emulator.screen_mut().set_size(height, width);
        (terminal.story.screen.width, terminal.story.screen.height) = (width.into(), height.into());
        terminal.painter.resize(width.into());
        terminal.step();
    }
}

#[test]
fn narrower_terminal_has_wrapped_live_rows() {
    let mut painter = TerminalPainter::new(TerminalColors::Shown, 40);
    let mut story = Story::sized(40, 10);
    story.busy();
    story.say("a text of thirty columns, or so");
    painter.paint(&[], &story.live());
    painter.resize(20);
    story.screen.width = 20;
    let bytes = painter.paint(&[], &story.live());
    // An empty row, the text in two rows now, an empty one, and the status in two.
    assert!(bytes.contains("\u{1b}[6A\r\u{1b}[J"), "{bytes:?}");
}

#[test]
fn colors_are_shown_or_removed_and_the_text_stays() {
    let row = StyledRow::of(BOLD, "strong").with(Style::new(), " plain");
    let live = Story::new().live();
    for (colors, expected) in [
        (TerminalColors::Shown, "\u{1b}[1mstrong\u{1b}[0m plain"),
        (TerminalColors::LeftOut, "strong plain"),
    ] {
        let bytes = TerminalPainter::new(colors, 40).paint(std::slice::from_ref(&row), &live);
        assert!(bytes.contains(expected), "{bytes:?}");
    }
}

#[test]
fn leaving_removes_the_live_rows() {
    let mut terminal = Terminal::new(40, 10);
    terminal.story.text("typed");
    terminal.step();
    let bytes = terminal.painter.leave(&[StyledRow::of(Style::new(), "come back")]);
    terminal.emulator.process(bytes.as_bytes());
    let screen = terminal.emulator.screen();
    assert_eq!(screen.contents().trim_end(), "come back");
    assert_eq!(screen.cursor_position(), (1, 0));
    assert!(!screen.hide_cursor());
}

#[test]
fn model_and_tool_output_cannot_send_control_sequences() {
    let evil = "\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{8}\r\u{202e}\u{1b}P+q\u{1b}\\ x";
    let mut story = Story::sized(60, 20);
    story.text("x\n");
    story.say(&format!("{evil}\n{evil}"));
    story.think(evil);
    story.key(TerminalKey::Thoughts);
    story.call("1", evil, &serde_json::json!({ "command": evil }).to_string());
    story.ask(evil, serde_json::json!({ "command": format!("{evil}\n{evil}"), "b": evil }));
    story.key(TerminalKey::Paste(evil.to_owned()));
    story.wait(1_000);
    let mut painter = TerminalPainter::new(TerminalColors::LeftOut, 60);
    let mut bytes = painter.paint(&story.screen.take_rows(), &story.live());
    story.settle("1", ToolStatus::Failed, evil);
    story.text("\n");
    bytes.push_str(&painter.paint(&story.screen.take_rows(), &story.live()));
    story.end(Outcome::Stopped, &[]);
    bytes.push_str(&painter.paint(&story.screen.take_rows(), &story.live()));
    // Only our own sequences: cursor moves, erasing, cursor visibility, synchronized output.
    let ours = ["[?2026h", "[?2026l", "[?25h", "[?25l", "[J"];
    for sequence in bytes.split('\u{1b}').skip(1) {
        let moves = sequence.trim_start_matches(|c: char| c == '[' || c.is_ascii_digit());
        let is_ours = ours.iter().any(|known| sequence.starts_with(known));
        assert!(is_ours || moves.starts_with(['A', 'C']), "{sequence:?}");
    }
    let harmful = |c: char| c.is_control() && !matches!(c, '\u{1b}' | '\r' | '\n');
    assert!(!bytes.contains(harmful));
}
