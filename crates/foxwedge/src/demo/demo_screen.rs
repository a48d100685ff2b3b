//! Output of the demo: lines of eighty columns, and pauses on a terminal.

use std::{
    borrow::Cow,
    fmt,
    io::{self, Write},
    thread,
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use foxwedge_local::{language::localize, output::width as columns, screen::pad};

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const CODE: Style = AnsiColor::Cyan.on_default();

/// Columns of a line.
pub(super) const WIDTH: usize = 80;

/// Columns in front of a field's text.
const LABEL_COLUMNS: usize = 11;

/// Columns of a claim that is not the last of its line.
const CLAIM_COLUMNS: usize = 35;

/// Writes the demo, with pauses on a terminal.
pub(super) struct DemoScreen<W> {
    out: W,
    pauses: bool,
}

impl<W: Write> DemoScreen<W> {
    pub(super) fn new(out: W, pauses: bool) -> DemoScreen<W> {
        DemoScreen { out, pauses }
    }

    #[cfg(test)]
    pub(super) fn into_inner(self) -> W {
        self.out
    }

    /// Writes a line.
    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }

    pub(super) fn blank_line(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Waits for the reader; returns at once if the output is not a terminal.
    pub(super) fn pause(&mut self, milliseconds: u64) -> io::Result<()> {
        if self.pauses {
            self.out.flush()?;
            thread::sleep(Duration::from_millis(milliseconds));
        }
        Ok(())
    }

    /// Writes a horizontal rule with text at both ends.
    pub(super) fn rule(&mut self, left: &str, right: &str) -> io::Result<()> {
        let spare = |text: &str| if text.is_empty() { 0 } else { columns(text) + 2 };
        let dashes = WIDTH.saturating_sub(3 + spare(left) + spare(right) + 2).max(3);
        write!(self.out, "{DIM}━━━{DIM:#}")?;
        if !left.is_empty() {
            write!(self.out, " {BOLD}{left}{BOLD:#} ")?;
        }
        write!(self.out, "{DIM}{}{DIM:#}", "━".repeat(dashes))?;
        if !right.is_empty() {
            write!(self.out, " {CODE}{right}{CODE:#} ")?;
        }
        writeln!(self.out, "{DIM}━━{DIM:#}")
    }

    /// Writes a label, a colored lead and the text after it, wrapped to the width.
    pub(super) fn field(
        &mut self,
        label: &str,
        (style, lead): (Style, &str),
        text: &str,
    ) -> io::Result<()> {
        let whole = format!("{lead}{text}");
        for (at, line) in wrap_text(&whole, WIDTH - LABEL_COLUMNS).into_iter().enumerate() {
            let (label, lead) = if at == 0 { (label, lead) } else { ("", "") };
            let (label, rest) = (label_cell(label), line.strip_prefix(lead).unwrap_or(&line));
            writeln!(self.out, "{DIM}{label}{DIM:#}  {style}{lead}{style:#}{rest}")?;
        }
        Ok(())
    }

    /// Writes proven claims side by side, in columns.
    pub(super) fn claims(
        &mut self,
        label: &str,
        claims: &[(bool, Cow<'_, str>)],
    ) -> io::Result<()> {
        write!(self.out, "{DIM}{}{DIM:#}  ", label_cell(label))?;
        for (at, (holds, claim)) in claims.iter().enumerate() {
            let width = if at + 1 == claims.len() { 0 } else { CLAIM_COLUMNS };
            let (style, sign) = if *holds { (GOOD, "✓") } else { (BAD, "✗ NOT TRUE:") };
            write!(self.out, "{style}{sign}{style:#} {}", pad(claim, width))?;
        }
        writeln!(self.out)
    }
}

/// A label, right-aligned in its column.
fn label_cell(label: &str) -> String {
    let label = localize(label);
    format!("{}{label}", " ".repeat(9_usize.saturating_sub(columns(&label))))
}

/// Wraps text at spaces into lines of at most `width` columns. Chinese text can be wrapped between
/// any two characters.
fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let length = columns(word);
        let is_wide = length > word.chars().count();
        if used > 0 && used + 1 + length > width && !is_wide {
            lines.push(String::new());
            used = 0;
        }
        let gap = if used > 0 { " " } else { "" };
        for c in gap.chars().chain(word.chars()) {
            let next = columns(c.encode_utf8(&mut [0; 4]));
            if is_wide && used + next > width {
                lines.push(String::new());
                used = 0;
            }
            lines.iter_mut().last().into_iter().for_each(|line| line.push(c));
            used += next;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrap_text("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap_text("unbreakable", 4), ["unbreakable"]);
    }
}
