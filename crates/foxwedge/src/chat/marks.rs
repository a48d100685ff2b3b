//! What became of a call, in a sign and a few words: the same in pipes and on the screen.

use anstyle::Style;
use foxwedge_run::{Reason, Status};

use crate::runs::draw::{self, Signs};

/// What is shown of a call's status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// One column: `✓`, or `+` where only ASCII is shown.
    pub(crate) sign: &'static str,
    /// The colour of sign and words.
    pub(crate) style: Style,
    /// `done 1.2s`. Claims no more than is known.
    pub(crate) words: String,
}

impl Mark {
    /// The mark of a call that has worked for so many milliseconds.
    pub(crate) fn of(
        signs: Signs,
        status: Status,
        reason: Option<Reason>,
        milliseconds: Option<u64>,
    ) -> Mark {
        let (sign, style) = signs.call(status);
        Mark { sign, style, words: draw::verdict(status, reason, milliseconds) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_what_became_of_a_call() {
        let table = [
            (Status::Succeeded, None, Some(1_240), "✓ done 1.2s", "+ done 1.2s"),
            (Status::Failed, None, None, "✗ failed", "x failed"),
            (Status::Cancelled, None, None, "⊘ not started", "- not started"),
            (
                Status::Interrupted,
                None,
                Some(3_140),
                "⚠ stopped after 3.1s, may have run",
                "! stopped after 3.1s, may have run",
            ),
            (Status::Denied, None, None, "✗ denied, did not run", "x denied, did not run"),
            (
                Status::Failed,
                Some(Reason::TimedOut),
                Some(60_000),
                "✗ timed out after 1m 00s",
                "x timed out after 1m 00s",
            ),
        ];
        for (status, reason, time, unicode, ascii) in table {
            for (signs, expected) in [(Signs::Unicode, unicode), (Signs::Ascii, ascii)] {
                let mark = Mark::of(signs, status, reason, time);
                assert_eq!(format!("{} {}", mark.sign, mark.words), expected);
            }
        }
    }
}
