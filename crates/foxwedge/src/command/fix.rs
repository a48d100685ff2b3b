//! `foxwedge fix`: `check --fix`, for people who know what they want.

use std::process::ExitCode;

use crate::cli::CheckArgs;

/// Repairs every target.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    super::check::run(CheckArgs { fix: true, ..args })
}
