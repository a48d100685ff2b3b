//! A bar chart of the tokens of a conversation: kept tokens are solid, removed ones shaded.

use anstyle::{AnsiColor, Style};
use foxwedge_core::compact::DropReason;
use foxwedge_formats::compact::MessageOutcome;

use super::{amount::format_spaced, compaction_result::CompactionResult};
use foxwedge_local::language::localize;
use foxwedge_local::output::{ADDED, DIM, FRAME, REMOVED, WARNING, paint, width};

/// Rows of bars.
const ROWS: usize = 5;
/// Each row has eight steps.
const STEPS: u64 = 8;
/// Max width of the chart.
const MAX_COLUMNS: usize = 100;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const SUMMARIZED: Style = AnsiColor::Cyan.on_default();

/// Consecutive messages, drawn as one bar.
#[derive(Clone, Copy, Default)]
struct TokenBar {
    tokens: u64,
    left: u64,
    /// Tokens removed with their message; `condensed`: replaced by a summary; `shrunk`: cut from a
    /// tool result.
    gone: u64,
    condensed: u64,
    shrunk: u64,
}

/// Draws the chart with at most `columns` columns.
pub(super) fn draw(result: &CompactionResult<'_>, columns: usize) -> String {
    let account = &result.compacted.account;
    let messages = account.messages.len();
    let highest =
        |bars: &[TokenBar]| bars.iter().map(|bar| bar.tokens.max(bar.left)).max().unwrap_or(0);
    let max_width = columns.min(MAX_COLUMNS).saturating_sub(MARGIN).max(10);
    let chart_width = messages.min(max_width);
    let bars = build_bars(result, chart_width);
    let max = highest(&bars);
    if max == 0 {
        return String::new();
    }
    let mut text = String::new();
    for row in (0..ROWS).rev() {
        let label = if row + 1 == ROWS { format_spaced(max) } else { String::new() };
        text.push_str(&axis_label(&label, "│"));
        text.push_str(&draw_row(&bars, row, max));
    }
    let cut = find_cut(result);
    let at = |message: usize| column(message, messages, chart_width);
    let axis = (0..chart_width).map(|column| match cut {
        Some((message, _)) if column == at(message) => '▲',
        _ => '─',
    });
    text.push_str(&axis_label("0", "└"));
    text.push_str(&format!("{}\n", paint(DIM, axis.collect::<String>())));
    text.push_str(&axis_numbers(
        messages,
        chart_width,
        cut.map(|(message, _)| (at(message), message)),
    ));
    text.push_str(&legend(&bars, messages, cut));
    text
}

/// The column of a message. Messages are spread evenly.
fn column(message: usize, messages: usize, chart_width: usize) -> usize {
    (message * chart_width / messages.max(1)).min(chart_width.saturating_sub(1))
}

/// Width of the labels on the left.
const MARGIN: usize = 14;

fn axis_label(label: &str, line: &str) -> String {
    let pad = " ".repeat((MARGIN - 2).saturating_sub(width(label)));
    format!("{pad}{} {}", paint(DIM, label), paint(FRAME, line))
}

fn build_bars(result: &CompactionResult<'_>, chart_width: usize) -> Vec<TokenBar> {
    let messages = &result.compacted.account.messages;
    let mut bars = vec![TokenBar::default(); chart_width];
    for (at, (tokens, outcome)) in messages.iter().enumerate() {
        let left = result.tokens_left.get(at).copied().unwrap_or(0);
        let Some(bar) = bars.get_mut(column(at, messages.len(), chart_width)) else { break };
        bar.tokens += tokens;
        bar.left += left;
        let removed = tokens.saturating_sub(left);
        match outcome {
            MessageOutcome::Unchanged | MessageOutcome::Changed => bar.shrunk += removed,
            MessageOutcome::Summarized => bar.condensed += removed,
            MessageOutcome::Removed => bar.gone += removed,
        }
    }
    bars
}

/// Draws one row of the chart.
fn draw_row(bars: &[TokenBar], row: usize, max: u64) -> String {
    let bottom = row as u64 * STEPS;
    let scale = |tokens: u64| (tokens * ROWS as u64 * STEPS).div_ceil(max.max(1));
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
    /// The shade for the most frequent outcome of the removed tokens.
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

/// The position of the cut: the first message after it, or the first changed message.
fn find_cut(result: &CompactionResult<'_>) -> Option<(usize, &'static str)> {
    let account = &result.compacted.account;
    let removed = account.stages.iter().flat_map(|stage| &stage.removed);
    let cut = removed.filter(|unit| match unit.reason {
        DropReason::Oldest | DropReason::Condensed => true,
        DropReason::Unimportant(_) => false,
    });
    let cut = cut.map(|unit| unit.messages.end).max().filter(|end| *end < account.messages.len());
    let changed = || account.prefix.map(|prefix| (prefix.message, "first changed message"));
    cut.map(|end| (end, "first message after the cut")).or_else(changed)
}

/// Indices below the axis: first message, cut, last message.
fn axis_numbers(messages: usize, chart_width: usize, cut: Option<(usize, usize)>) -> String {
    let mut row = vec![' '; chart_width.max(1)];
    let mut put = |column: usize, number: usize| {
        let digits: Vec<char> = number.to_string().chars().collect();
        let start = column.min((chart_width + 1).saturating_sub(digits.len()));
        let end = start + digits.len();
        if row.len() < end {
            row.resize(end, ' ');
        }
        // Numbers must not touch.
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
    put((chart_width).saturating_sub(last.to_string().len()), last);
    let row: String = row.into_iter().collect();
    format!("{}{}\n", " ".repeat(MARGIN), paint(DIM, row.trim_end()))
}

fn legend(bars: &[TokenBar], messages: usize, cut: Option<(usize, &str)>) -> String {
    let mut labels = vec![format!("{} {}", paint(ADDED, '█'), localize("kept"))];
    let any = |removed: fn(&TokenBar) -> u64| bars.iter().any(|bar| removed(bar) > 0);
    if any(|bar| bar.shrunk) {
        labels.push(format!("{} {}", paint(WARNING, '▒'), localize("cut from tool results")));
    }
    if any(|bar| bar.condensed) {
        labels.push(format!("{} {}", paint(SUMMARIZED, '▓'), localize("summarized")));
    }
    if any(|bar| bar.gone) {
        labels.push(format!("{} {}", paint(REMOVED, '░'), localize("removed")));
    }
    let margin = " ".repeat(MARGIN);
    let shades = labels.join(&paint(DIM, " · "));
    let mut labels = Vec::new();
    if let Some((message, label)) = cut {
        labels.push(format!("{} {message} {}", paint(DIM, '▲'), localize(label)));
    }
    if messages > bars.len() {
        let (min, max) = (messages / bars.len().max(1), messages.div_ceil(bars.len().max(1)));
        let each = if min == max { max.to_string() } else { format!("{min}–{max}") };
        labels.push(localize(format!("{each} messages per column")).into_owned());
    }
    let marks = labels.join(&paint(DIM, " · "));
    let marks = if marks.is_empty() { marks } else { format!("{margin}{marks}\n") };
    format!("{margin}{shades}\n{marks}")
}
