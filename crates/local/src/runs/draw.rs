//! Draws a run: one line for each tool call, and one for the end.

mod signs;
mod call;
mod call_subject;
mod ending;
mod warning;

pub use call::{CallLine, status_text};
pub use call_subject::{activity_text, call_subject};
pub use ending::{format_call_counts, outcome_text, run_end_line};
pub use signs::SignSet;
pub use warning::warning_text;

/// A duration for display; `None` if it is too short to show.
pub fn format_duration(milliseconds: u64) -> Option<String> {
    let seconds = milliseconds / 1000;
    Some(match milliseconds {
        0..50 => return None,
        50..60_000 => {
            let tenths = (milliseconds + 50) / 100;
            format!("{}.{}s", tenths / 10, tenths % 10)
        }
        60_000..3_600_000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let table = [
            (0, None),
            (49, None),
            (50, Some("0.1s")),
            (1_249, Some("1.2s")),
            (59_940, Some("59.9s")),
            (60_000, Some("1m 00s")),
            (3_599_999, Some("59m 59s")),
            (7_384_000, Some("2h 03m")),
        ];
        for (milliseconds, expected) in table {
            assert_eq!(format_duration(milliseconds).as_deref(), expected, "{milliseconds}");
        }
    }
}
