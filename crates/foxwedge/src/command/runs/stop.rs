//! `foxwedge runs stop`: stops a run from another process.

use std::process::ExitCode;

use foxwedge_run::{EventPayload, StopRequest};
use foxwedge_store::{CloseAuthority, FinalizeResult, RunRow, RunState, close_run};

use crate::cli::StopRunArgs;
use foxwedge_local::{
    language::localize,
    output::{self, GOOD, paint},
    runs::{
        self,
        draw::{format_call_counts, outcome_text},
    },
};

/// Stops one run. A run that has ended is not changed.
pub(super) async fn run(flag: Option<&str>, args: &StopRunArgs) -> anyhow::Result<ExitCode> {
    let open_store = super::open(flag).await?;
    let row = runs::find_run(&open_store, &args.run).await?;
    if row.state != RunState::Open {
        return Ok(report_ended(&row));
    }
    let request = EventPayload::Stop(StopRequest { grace: 0 });
    match open_store.with_store_error(
        close_run(&*open_store.store, &row.id, request, CloseAuthority::Operator).await,
    )? {
        FinalizeResult::Recorded(row) => {
            output::write_stderr(&localize(format!(
                "{} {}{}\n",
                paint(GOOD, "stopped"),
                row.id,
                describe_counts(&row)
            )));
            Ok(ExitCode::SUCCESS)
        }
        FinalizeResult::AlreadyEnded(row) => Ok(report_ended(&row)),
    }
}

/// Reports a run that had ended before the stop. The exit code is 1.
fn report_ended(row: &RunRow) -> ExitCode {
    let outcome = row.state.outcome().map_or("unknown outcome", outcome_text);
    output::print_note(&format!(
        "run `{}` has already ended: {outcome}{}",
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
