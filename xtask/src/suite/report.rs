//! The report on the engines of others.

use crate::Outcome;

/// Writes `suite/REPORT.md` from the results of the last run.
pub(super) fn write(_arguments: &[&str]) -> Outcome {
    Err("not yet".to_owned())
}
