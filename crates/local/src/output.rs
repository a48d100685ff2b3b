//! Terminal output: colors, errors with their help, and text that is safe to show on a terminal.

use std::{
    borrow::Cow,
    fmt,
    io::{self, BufWriter, IsTerminal, Write},
};

use anstream::{ColorChoice, adapter::StripBytes};
use anstyle::{AnsiColor, Style};
use anyhow::Context;
use unicode_width::UnicodeWidthChar;

use crate::{ascii, language::localize};

/// An error message, with a hint what to do about it.
#[derive(Clone, Debug)]
pub struct HelpfulError {
    message: String,
    help: Option<String>,
}

impl HelpfulError {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> HelpfulError {
        HelpfulError { message: message.into(), help: None }
    }

    /// Prefixes the message with the name of what it concerns.
    pub fn about(mut self, name: &str) -> HelpfulError {
        self.message = format!("{name}: {}", self.message);
        self
    }

    /// Sets the hint.
    pub fn help(mut self, help: impl Into<String>) -> HelpfulError {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for HelpfulError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HelpfulError {}

// Styles, named by meaning.
/// Errors.
pub const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
/// Warnings.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Help and notes.
pub const HELP: Style = AnsiColor::BrightCyan.on_default().bold();
/// Frames and line numbers.
pub const FRAME: Style = AnsiColor::BrightBlue.on_default().bold();
/// Successes.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Added lines.
pub const ADDED: Style = AnsiColor::Green.on_default();
/// Removed lines.
pub const REMOVED: Style = AnsiColor::Red.on_default();
/// Emphasis.
pub const BOLD: Style = Style::new().bold();
/// Less important text.
pub const DIM: Style = Style::new().dimmed();

/// Wraps text in the escape sequences of a style.
pub fn paint(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Sets the color choice for stdout and stderr.
pub fn set_color(choice: ColorChoice) {
    choice.write_global();
}

/// Writes data to stdout. Colors are removed if stdout does not support them.
pub fn write_stdout(text: &str) -> anyhow::Result<()> {
    write_stdout_styled(|out| out.write_all(text.as_bytes()))
}

/// Streams data to stdout. Colors are removed if stdout does not support them.
pub fn write_stdout_styled(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let stdout = anstream::stdout().lock();
    write_drawn(stdout, write).context("stdout cannot be written")
}

/// Streams data for programs to stdout, byte for byte. On a terminal, characters that could harm it
/// are written as JSON escapes, so JSON output keeps its meaning.
pub fn write_stdout_raw(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        let escaping = ConvertingWriter::new(stdout.lock(), escape_unsafe);
        return write_buffered(escaping, write).context("stdout cannot be written");
    }
    write_buffered(stdout.lock(), write).context("stdout cannot be written")
}

/// Converts text on its way, character by character.
pub(crate) struct ConvertingWriter<W> {
    out: W,
    /// The bytes of an incomplete character.
    rest: Vec<u8>,
    convert: fn(&str) -> Cow<'_, str>,
}

impl<W: Write> ConvertingWriter<W> {
    pub(crate) fn new(out: W, convert: fn(&str) -> Cow<'_, str>) -> ConvertingWriter<W> {
        ConvertingWriter { out, rest: Vec::new(), convert }
    }
}

impl<W: Write> Write for ConvertingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let complete = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            // The last character is incomplete.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.rest.len(),
        };
        let rest = self.rest.split_off(complete);
        let text = std::mem::replace(&mut self.rest, rest);
        self.out.write_all((self.convert)(&String::from_utf8_lossy(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Replaces characters that could harm a terminal with JSON escapes.
pub fn escape_unsafe(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| is_harmful(c) && !matches!(c, '\n' | '\r' | '\t');
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if harmful(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// Writes messages to stderr. Errors are ignored: stderr may be closed.
pub fn write_stderr(text: &str) {
    write_stderr_with(|out| out.write_all(text.as_bytes()));
}

/// Streams messages to stderr. Errors are ignored.
pub fn write_stderr_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let _ = write_drawn(anstream::stderr().lock(), write);
}

/// Writes text for people: in the C locale, drawings are ASCII.
pub(crate) fn write_drawn(
    stream: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if ascii::is_ascii_locale() {
        write_buffered(ConvertingWriter::new(stream, ascii::to_ascii), write)
    } else {
        write_buffered(stream, write)
    }
}

/// A stream for text for people that is written step by step: in the C locale, drawings are ASCII.
pub fn drawn_stream<'a>(stream: impl Write + 'a) -> Box<dyn Write + 'a> {
    if ascii::is_ascii_locale() {
        Box::new(ConvertingWriter::new(stream, ascii::to_ascii))
    } else {
        Box::new(stream)
    }
}

/// Writes through a buffer. A reader that closed its end is not an error.
pub fn write_buffered(
    stream: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if is_closed_pipe(&error) => Ok(()),
        result => result,
    }
}

/// Whether the reader closed its end of a pipe.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Removes colors from what is written.
pub struct ColorStripper<'a> {
    out: &'a mut dyn Write,
    strip: StripBytes,
}

impl<'a> ColorStripper<'a> {
    /// Wraps a writer.
    pub fn new(out: &'a mut dyn Write) -> ColorStripper<'a> {
        ColorStripper { out, strip: StripBytes::new() }
    }
}

impl Write for ColorStripper<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.strip.strip_next(bytes).try_for_each(|chunk| self.out.write_all(chunk))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Prints a note to stderr.
pub fn print_note(text: &str) {
    write_stderr(&format!("{}: {}\n", paint(HELP, localize("note")), localize(text)));
}

/// Prints an error to stderr, with its causes and its help.
pub fn print_error(error: &anyhow::Error) {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    let text = causes.iter().map(|cause| localize(cause.as_str())).collect::<Vec<_>>().join(": ");
    write_stderr(&format_error(&text, help_of(error)));
}

/// The help of an error, if it has one.
pub fn help_of(error: &anyhow::Error) -> Option<&str> {
    error.downcast_ref::<HelpfulError>()?.help.as_deref()
}

/// Formats an error and its help as lines. Both are cleaned, because they may quote file names.
pub fn format_error(text: &str, help: Option<&str>) -> String {
    let error = paint(ERROR, localize("error"));
    let mut lines = format!("{error}: {}\n", clean(&localize(text)));
    if let Some(help) = help {
        lines.push_str(&format_help(help));
    }
    lines
}

/// Formats a hint as a line.
pub fn format_help(help: &str) -> String {
    format!("  {}: {}\n", paint(HELP, localize("help")), clean(&localize(help)))
}

/// Replaces characters that could move the cursor, hide text or change its direction.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// Control characters, and the invisible ones that change direction or width.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Truncates text to `max` characters and marks the cut with an ellipsis.
pub fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Escapes and shortens text for a cell of a Markdown table.
pub fn escape_cell(text: &str) -> String {
    cut(&clean(text), 240).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

/// The width of a text in terminal columns.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Formats a count with its noun in singular or plural.
pub fn pluralize(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_a_terminal_is_escaped_and_stays_json() {
        let json = "{\"a\":\"\u{9b}31m \u{202e}x \u{2066}y\u{1b}[0m \u{e0001}中😀\"}\n";
        let safe = escape_unsafe(json);
        assert!(!safe.chars().any(|c| is_harmful(c) && c != '\n'), "{safe:?}");
        assert!(
            safe.contains("\\u009b31m \\u202ex \\u2066y\\u001b[0m \\udb40\\udc01中😀"),
            "{safe}"
        );
        let parsed: serde_json::Value = serde_json::from_str(&safe).unwrap_or_default();
        assert_eq!(parsed["a"], "\u{9b}31m \u{202e}x \u{2066}y\u{1b}[0m \u{e0001}中😀");
    }

    #[test]
    fn characters_are_escaped_in_chunks_of_any_size() {
        let text = "中\u{202e}😀\u{9b}é\n";
        for size in 1..text.len() {
            let mut writer = ConvertingWriter::new(Vec::new(), escape_unsafe);
            for chunk in text.as_bytes().chunks(size) {
                assert!(writer.write_all(chunk).is_ok());
            }
            assert_eq!(String::from_utf8_lossy(&writer.out), "中\\u202e😀\\u009bé\n", "{size}");
        }
    }
}
