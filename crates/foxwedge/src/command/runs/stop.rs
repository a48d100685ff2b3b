//! `foxwedge runs stop`: ends a run from outside.

use std::process::ExitCode;

use foxwedge_run::{Body, Stop};
use foxwedge_store::{Authority, Finalized, RunRow, RunState, close};

use crate::{
    cli::StopRunArgs,
    runs::{
        self,
        draw::{counts, word},
    },
    say::{self, GOOD, paint},
};

/// Ends one run; one that has ended stays as it is.
pub(super) async fn run(flag: Option<&str>, args: &StopRunArgs) -> anyhow::Result<ExitCode> {
    let kept = super::open(flag).await?;
    let row = runs::pick(&kept, &args.run).await?;
    if row.state != RunState::Open {
        return Ok(over(&row));
    }
    let wish = Body::Stop(Stop { grace: 0 });
    match kept.or_tell(close(&*kept.store, &row.id, wish, Authority::Operator).await)? {
        Finalized::Won(row) => {
            say::talk(&format!("{} {}{}\n", paint(GOOD, "stopped"), row.id, told(&row)));
            Ok(ExitCode::SUCCESS)
        }
        Finalized::Lost(row) => Ok(over(&row)),
    }
}

/// It is over, which is what was wanted, though it has another outcome.
fn over(row: &RunRow) -> ExitCode {
    let how = row.state.outcome().map_or("over", word);
    say::note(&format!("run `{}` had ended before: {how}{}", row.id, told(row)));
    ExitCode::FAILURE
}

fn told(row: &RunRow) -> String {
    match &row.state {
        RunState::Ended { summary, .. } => format!(" ({})", counts(summary)),
        RunState::Open => String::new(),
    }
}
