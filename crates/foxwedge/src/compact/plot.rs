//! Tokens over a conversation, drawn in a few rows: what is left stands solid, what went is shaded.

use anstyle::{AnsiColor, Style};
use foxwedge_core::compact::DropReason;
use foxwedge_formats::compact::MessageOutcome;

use super::{amount::format_spaced, compaction_result::CompactionResult};
use crate::cli_output::{ADDED, DIM, FRAME, REMOVED, WARNING, paint, width};

/// Rows of bars.
const ROWS: usize = 5;
/// Eighths of a row.
const STEPS: u64 = 8;
/// More columns say no more.
const MAX_COLUMNS: usize = 100;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const SUMMARIZED: Style = AnsiColor::Cyan.on_default();

/// Some messages in a row, drawn as one bar.
#[derive(Clone, Copy, Default)]
struct TokenBar {
    tokens: u64,
    left: u64,
    /// Tokens that went: with their message, into a summary, out of an answer.
    gone: u64,
    condensed: u64,
    shrunk: u64,
}

/// Draws the conversation into so many columns.
pub(super) fn draw(told: &CompactionResult<'_>, columns: usize) -> String {
    let account = &told.compacted.account;
    let messages = account.messages.len();
    let highest =
        |bars: &[TokenBar]| bars.iter().map(|bar| bar.tokens.max(bar.left)).max().unwrap_or(0);
    let room = columns.min(MAX_COLUMNS).saturating_sub(MARGIN).max(10);
    let wide = messages.min(room);
    let bars = build_bars(told, wide);
    let most = highest(&bars);
    if most == 0 {
        return String::new();
    }
    let mut text = String::new();
    for row in (0..ROWS).rev() {
        let label = if row + 1 == ROWS { format_spaced(most) } else { String::new() };
        text.push_str(&axis_label(&label, "│"));
        text.push_str(&draw_row(&bars, row, most));
    }
    let cut = find_cut(told);
    let at = |message: usize| column(message, messages, wide);
    let axis = (0..wide).map(|column| match cut {
        Some((message, _)) if column == at(message) => '▲',
        _ => '─',
    });
    text.push_str(&axis_label("0", "└"));
    text.push_str(&format!("{}\n", paint(DIM, axis.collect::<String>())));
    text.push_str(&axis_numbers(messages, wide, cut.map(|(message, _)| (at(message), message))));
    text.push_str(&legend(&bars, messages, cut));
    text
}

/// The column of a message: they are spread evenly.
fn column(message: usize, messages: usize, wide: usize) -> usize {
    (message * wide / messages.max(1)).min(wide.saturating_sub(1))
}

/// Columns of the labels on the left.
const MARGIN: usize = 14;

fn axis_label(label: &str, line: &str) -> String {
    let pad = " ".repeat((MARGIN - 2).saturating_sub(width(label)));
    format!("{pad}{} {}", paint(DIM, label), paint(FRAME, line))
}

fn build_bars(told: &CompactionResult<'_>, wide: usize) -> Vec<TokenBar> {
    let messages = &told.compacted.account.messages;
    let mut bars = vec![TokenBar::default(); wide];
    for (at, (tokens, became)) in messages.iter().enumerate() {
        let left = told.tokens_left.get(at).copied().unwrap_or(0);
        let Some(bar) = bars.get_mut(column(at, messages.len(), wide)) else { break };
        bar.tokens += tokens;
        bar.left += left;
        let went = tokens.saturating_sub(left);
        match became {
            MessageOutcome::Unchanged | MessageOutcome::Changed => bar.shrunk += went,
            MessageOutcome::Summarized => bar.condensed += went,
            MessageOutcome::Removed => bar.gone += went,
        }
    }
    bars
}

/// One row, from the left to the right.
fn draw_row(bars: &[TokenBar], row: usize, most: u64) -> String {
    let bottom = row as u64 * STEPS;
    let scale = |tokens: u64| (tokens * ROWS as u64 * STEPS).div_ceil(most.max(1));
    let mut cells: Vec<(Style, char)> = Vec::with_capacity(bars.len());
    for bar in bars {
        let (left, all) = (scale(bar.left), scale(bar.tokens.max(bar.left)));
        cells.push(if left > bottom {
            let step = usize::try_from(left - bottom).unwrap_or(8).clamp(1, 8);
            (ADDED, BARS[step - 1])
        } else if all > bottom {
            bar.shade()
        } else {
            (Style::new(), ' ')
        });
    }
    while cells.last().is_some_and(|(_, cell)| *cell == ' ') {
        cells.pop();
    }
    let mut text = String::new();
    for run in cells.chunk_by(|one, two| one.0 == two.0) {
        let cells: String = run.iter().map(|(_, cell)| cell).collect();
        text.push_str(&match run.first() {
            Some((style, _)) if *style != Style::new() => paint(*style, cells),
            _ => cells,
        });
    }
    text.push('\n');
    text
}

impl TokenBar {
    /// What most of the missing tokens became.
    fn shade(self) -> (Style, char) {
        if self.gone >= self.condensed && self.gone >= self.shrunk {
            (REMOVED, '░')
        } else if self.condensed >= self.shrunk {
            (SUMMARIZED, '▓')
        } else {
            (WARNING, '▒')
        }
    }
}

/// Where the cut is: the first message that is there again, or the first that changed.
fn find_cut(told: &CompactionResult<'_>) -> Option<(usize, &'static str)> {
    let account = &told.compacted.account;
    let gone = account.stages.iter().flat_map(|stage| &stage.removed);
    let cut = gone.filter(|gone| match gone.reason {
        DropReason::Oldest | DropReason::Condensed => true,
        DropReason::Unimportant(_) => false,
    });
    let cut = cut.map(|gone| gone.messages.end).max().filter(|end| *end < account.messages.len());
    let changed = || account.prefix.map(|prefix| (prefix.message, "first message that changed"));
    cut.map(|end| (end, "first message behind the cut")).or_else(changed)
}

/// Indices below the axis: the first, the cut, the last.
fn axis_numbers(messages: usize, wide: usize, cut: Option<(usize, usize)>) -> String {
    let mut row = vec![' '; wide.max(1)];
    let mut put = |column: usize, number: usize| {
        let digits: Vec<char> = number.to_string().chars().collect();
        let start = column.min((wide + 1).saturating_sub(digits.len()));
        let end = start + digits.len();
        if row.len() < end {
            row.resize(end, ' ');
        }
        // Not into another number.
        let around = start.saturating_sub(1)..(end + 1).min(row.len());
        if row.get(around).is_some_and(|cells| cells.iter().all(|cell| *cell == ' ')) {
            row.splice(start..end, digits);
        }
    };
    if let Some((column, message)) = cut {
        put(column, message);
    }
    put(0, 0);
    let last = messages.saturating_sub(1);
    put((wide).saturating_sub(last.to_string().len()), last);
    let row: String = row.into_iter().collect();
    format!("{}{}\n", " ".repeat(MARGIN), paint(DIM, row.trim_end()))
}

fn legend(bars: &[TokenBar], messages: usize, cut: Option<(usize, &str)>) -> String {
    let mut words = vec![format!("{} left", paint(ADDED, '█'))];
    let any = |went: fn(&TokenBar) -> u64| bars.iter().any(|bar| went(bar) > 0);
    if any(|bar| bar.shrunk) {
        words.push(format!("{} out of answers", paint(WARNING, '▒')));
    }
    if any(|bar| bar.condensed) {
        words.push(format!("{} summarized", paint(SUMMARIZED, '▓')));
    }
    if any(|bar| bar.gone) {
        words.push(format!("{} gone", paint(REMOVED, '░')));
    }
    let margin = " ".repeat(MARGIN);
    let shades = words.join(&paint(DIM, " · "));
    let mut words = Vec::new();
    if let Some((message, what)) = cut {
        words.push(format!("{} {message} {what}", paint(DIM, '▲')));
    }
    if messages > bars.len() {
        let (least, most) = (messages / bars.len().max(1), messages.div_ceil(bars.len().max(1)));
        let each = if least == most { most.to_string() } else { format!("{least}–{most}") };
        words.push(format!("a column is {each} messages"));
    }
    let marks = words.join(&paint(DIM, " · "));
    let marks = if marks.is_empty() { marks } else { format!("{margin}{marks}\n") };
    format!("{margin}{shades}\n{marks}")
}
