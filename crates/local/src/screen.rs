//! Layout for terminals: columns, truncated lines, sizes and ages.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use anstyle::Style;
use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthChar;

use crate::output::{paint, width};

/// The width of the terminal on stdout; `None` if stdout is not a terminal.
pub fn terminal_columns() -> Option<usize> {
    let (Width(columns), _) = terminal_size_of(std::io::stdout())?;
    // Some terminals report zero, and fewer columns are too narrow to draw in.
    Some(usize::from(columns)).filter(|columns| *columns >= 20)
}

/// Truncates text to `max` columns and marks the cut with an ellipsis.
pub fn fit_columns(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut used = 0;
    let mut shortened = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= max {
            break;
        }
        shortened.push(c);
    }
    shortened.push('…');
    shortened
}

/// Pads text on the right to `min` columns.
pub fn pad(text: &str, min: usize) -> String {
    format!("{text}{}", " ".repeat(min.saturating_sub(width(text))))
}

/// Replaces the user's home folder at the start of a path with `~`.
pub fn abbreviate_home(path: &str, home: Option<&Path>) -> String {
    let below = home.and_then(Path::to_str).and_then(|home| path.strip_prefix(home));
    match below.filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\'])) {
        Some(rest) => format!("~{rest}"),
        None => path.to_owned(),
    }
}

/// A line of text parts, each with its style.
#[derive(Clone, Debug, Default)]
pub struct StyledLine(Vec<(Style, String)>);

impl StyledLine {
    /// An empty line.
    pub fn new() -> StyledLine {
        StyledLine::default()
    }

    /// Appends a part.
    pub fn with(mut self, style: Style, text: impl Into<String>) -> StyledLine {
        self.0.push((style, text.into()));
        self
    }

    /// Renders the line with its line break, truncated to `max` columns.
    pub fn draw(&self, max: Option<usize>) -> String {
        let mut left = max.unwrap_or(usize::MAX);
        let mut drawn = String::new();
        let end = self.0.iter().rposition(|(_, text)| !text.trim_end().is_empty());
        for (at, (style, text)) in self.0.iter().enumerate() {
            // Lines do not end in spaces.
            let text = if Some(at) >= end { text.trim_end() } else { text };
            if text.is_empty() || left == 0 {
                continue;
            }
            let shown = fit_columns(text, left);
            left = left.saturating_sub(width(&shown));
            drawn.push_str(&if *style == Style::new() { shown } else { paint(*style, shown) });
        }
        drawn.push('\n');
        drawn
    }
}

/// Formats a size in bytes with a unit.
pub fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    // Tenths of a unit, rounded down.
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    match tenths {
        0..100 => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
        _ => format!("{} {}", tenths / 10, UNITS[unit]),
    }
}

/// Formats how long ago `time` was.
pub fn format_age(time: SystemTime, now: SystemTime) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const MONTH: u64 = 30 * DAY;
    const YEAR: u64 = 365 * DAY;
    match now.duration_since(time).unwrap_or(Duration::ZERO).as_secs() {
        0..MINUTE => "just now".to_owned(),
        seconds @ MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h ago", seconds / HOUR),
        seconds @ DAY..MONTH => format!("{} d ago", seconds / DAY),
        seconds @ MONTH..YEAR => format!("{} mo ago", seconds / MONTH),
        seconds => format!("{} y ago", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_are_short() {
        let sizes = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (12_345, "12 kB"),
            (999_999, "999 kB"),
            (1_250_000, "1.2 MB"),
            (5_000_000_000, "5.0 GB"),
        ];
        for (bytes, expected) in sizes {
            assert_eq!(format_size(bytes), expected);
        }
        let ages = [(0, "just now"), (61, "1 min ago"), (10_800, "3 h ago"), (172_800, "2 d ago")];
        for (seconds, expected) in ages {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
            assert_eq!(format_age(now - Duration::from_secs(seconds), now), expected);
        }
        assert_eq!(format_age(SystemTime::now(), SystemTime::UNIX_EPOCH), "just now");
    }

    #[test]
    fn home_folder_is_abbreviated_to_a_tilde() {
        let home = Some(Path::new("/home/fox"));
        let table = [
            ("/home/fox/a", "~/a"),
            ("/home/fox", "~"),
            ("/home/foxes/a", "/home/foxes/a"),
            ("-home-fox", "-home-fox"),
        ];
        for (path, expected) in table {
            assert_eq!(abbreviate_home(path, home), expected);
        }
        assert_eq!(abbreviate_home("/a", None), "/a");
    }

    #[test]
    fn lines_are_truncated_by_columns_and_do_not_end_in_spaces() {
        let line = StyledLine::new().with(Style::new(), "中文 and").with(Style::new(), " more  ");
        assert_eq!(line.draw(None), "中文 and more\n");
        assert_eq!(line.draw(Some(6)), "中文 …\n");
        assert_eq!(line.draw(Some(3)), "中…\n");
        assert_eq!(fit_columns("abc", 3), "abc");
        assert_eq!(fit_columns("abcd", 3), "ab…");
    }
}
