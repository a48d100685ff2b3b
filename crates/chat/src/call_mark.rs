//! The status of a tool call as a sign and a short text, the same in pipes and in the terminal.

use anstyle::Style;
use foxwedge_run::{ToolStatus, ToolStatusReason};

use foxwedge_local::{
    language::localize,
    runs::draw::{self, SignSet},
};

/// The display of a call's status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CallMark {
    /// One column: `✓`, or `+` where only ASCII is shown.
    pub(crate) sign: &'static str,
    /// The style of sign and text.
    pub(crate) style: Style,
    /// For example `done 1.2s`. States only what is known.
    pub(crate) text: String,
}

impl CallMark {
    /// The mark of a call that ran for this many milliseconds.
    pub(crate) fn of(
        signs: SignSet,
        status: ToolStatus,
        reason: Option<ToolStatusReason>,
        milliseconds: Option<u64>,
    ) -> CallMark {
        let (sign, style) = signs.call(status);
        let text = localize(draw::status_text(status, reason, milliseconds)).into_owned();
        CallMark { sign, style, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_shows_the_status_of_a_call() {
        let table = [
            (ToolStatus::Succeeded, None, Some(1_240), "✓ done 1.2s", "+ done 1.2s"),
            (ToolStatus::Failed, None, None, "✗ failed", "x failed"),
            (ToolStatus::Cancelled, None, None, "⊘ not started", "- not started"),
            (
                ToolStatus::Interrupted,
                None,
                Some(3_140),
                "⚠ stopped after 3.1s, may have run",
                "! stopped after 3.1s, may have run",
            ),
            (ToolStatus::Denied, None, None, "✗ denied, did not run", "x denied, did not run"),
            (
                ToolStatus::Failed,
                Some(ToolStatusReason::TimedOut),
                Some(60_000),
                "✗ timed out after 1m 00s",
                "x timed out after 1m 00s",
            ),
        ];
        for (status, reason, time, unicode, ascii) in table {
            for (signs, expected) in [(SignSet::Unicode, unicode), (SignSet::Ascii, ascii)] {
                let mark = CallMark::of(signs, status, reason, time);
                assert_eq!(format!("{} {}", mark.sign, mark.text), expected);
            }
        }
    }
}
