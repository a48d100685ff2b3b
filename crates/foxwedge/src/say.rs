//! How we speak: colours, errors with their help, and text that is safe to show on a terminal.

use std::{
    fmt,
    io::{self, Write},
};

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

/// Something that went wrong, and what to do about it.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    message: String,
    help: Option<String>,
}

impl Trouble {
    pub(crate) fn new(message: impl Into<String>) -> Trouble {
        Trouble { message: message.into(), help: None }
    }

    /// Adds what to do.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Trouble {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Trouble {}

/// The colours, by what they mean.
pub(crate) const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const HELP: Style = AnsiColor::BrightCyan.on_default().bold();
pub(crate) const FRAME: Style = AnsiColor::BrightBlue.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// A word in a colour.
pub(crate) fn paint(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Sets the colour choice of every stream.
pub(crate) fn set_color(choice: ColorChoice) {
    choice.write_global();
}

/// Writes data to stdout; colours are left out where they would not be seen.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // Whoever read our output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes data for programs to stdout, byte for byte.
pub(crate) fn plain(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text)?;
    stdout.flush()
}

/// Writes talk to stderr. Nobody listens: nothing is lost.
pub(crate) fn talk(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// A note on stderr.
pub(crate) fn note(text: &str) {
    talk(&format!("{}: {text}\n", paint(HELP, "note")));
}

/// An error on stderr, with its causes and its help.
pub(crate) fn error(error: &anyhow::Error) {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        text.push_str(&format!(": {cause}"));
    }
    talk(&complaint(&text, help_of(error)));
}

/// The help of an error, if it brings one.
pub(crate) fn help_of(error: &anyhow::Error) -> Option<&str> {
    error.downcast_ref::<Trouble>()?.help.as_deref()
}

/// An error and its help, as lines.
pub(crate) fn complaint(text: &str, help: Option<&str>) -> String {
    let mut lines = format!("{}: {text}\n", paint(ERROR, "error"));
    if let Some(help) = help {
        lines.push_str(&format!("  {}: {help}\n", paint(HELP, "help")));
    }
    lines
}

/// Text without anything that could move the cursor, hide, or turn the line around.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// Control characters, and the invisible ones that change direction or width.
pub(crate) fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// At most so many characters; what is cut shows as an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Columns on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A count and its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}
