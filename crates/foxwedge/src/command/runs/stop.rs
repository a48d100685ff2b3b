//! `foxwedge runs stop`: ends a run from outside.

use std::process::ExitCode;

use foxwedge_run::{EventPayload, StopRequest};
use foxwedge_store::{CloseAuthority, FinalizeResult, RunRow, RunState, close_run};

use crate::{
    cli::StopRunArgs,
    cli_output::{self, GOOD, paint},
    runs::{
        self,
        draw::{format_call_counts, outcome_text},
    },
};

/// Ends one run; one that has ended stays as it is.
pub(super) async fn run(flag: Option<&str>, args: &StopRunArgs) -> anyhow::Result<ExitCode> {
    let kept = super::open(flag).await?;
    let row = runs::find_run(&kept, &args.run).await?;
    if row.state != RunState::Open {
        return Ok(report_ended(&row));
    }
    let wish = EventPayload::Stop(StopRequest { grace: 0 });
    match kept
        .with_store_error(close_run(&*kept.store, &row.id, wish, CloseAuthority::Operator).await)?
    {
        FinalizeResult::Recorded(row) => {
            cli_output::write_stderr(&format!(
                "{} {}{}\n",
                paint(GOOD, "stopped"),
                row.id,
                describe_counts(&row)
            ));
            Ok(ExitCode::SUCCESS)
        }
        FinalizeResult::AlreadyEnded(row) => Ok(report_ended(&row)),
    }
}

/// It is over, which is what was wanted, though it has another outcome.
fn report_ended(row: &RunRow) -> ExitCode {
    let how = row.state.outcome().map_or("over", outcome_text);
    cli_output::print_note(&format!(
        "run `{}` had ended before: {how}{}",
        row.id,
        describe_counts(row)
    ));
    ExitCode::FAILURE
}

fn describe_counts(row: &RunRow) -> String {
    match &row.state {
        RunState::Ended { summary, .. } => format!(" ({})", format_call_counts(summary)),
        RunState::Open => String::new(),
    }
}
