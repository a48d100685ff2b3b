//! Work that can be stopped: the first Ctrl-C is a wish, the second is force, the third leaves.

use std::{future::Future, process::ExitCode};

use foxwedge_agent_loop::tool_loop::InterruptResult;
use foxwedge_run::Outcome;

use super::{
    line_printer::ChatVerbosity, output_thread::ChatOutputThread, run_control::ChatRunController,
};
use crate::cli_output::{DIM, paint};
use crate::signals::ProcessSignals;

/// What became of the work.
pub(super) enum InterruptibleOutcome<T> {
    /// It is done, whether somebody asked it to stop or not.
    Done(T, ChatStopRequest),
    /// Nobody waits for it any more.
    Abandoned,
}

/// Whether somebody pressed Ctrl-C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChatStopRequest {
    No,
    Yes,
}

/// Does something while signals are heard.
pub(super) async fn run_interruptible<T>(
    work: impl Future<Output = T>,
    reception: &ChatRunController,
    signals: &mut ProcessSignals,
    voice: &ChatOutputThread,
    talk: ChatVerbosity,
) -> InterruptibleOutcome<T> {
    tokio::pin!(work);
    let mut asked = ChatStopRequest::No;
    let tell = |text: &str| {
        if talk == ChatVerbosity::All {
            voice.write_stderr(format!("{}\n", paint(DIM, text)));
        }
    };
    loop {
        tokio::select! {
            biased;
            done = &mut work => return InterruptibleOutcome::Done(done, asked),
            () = signals.next() => match reception.interrupt() {
                InterruptResult::Stopping => {
                    asked = ChatStopRequest::Yes;
                    tell("stopping: what is nearly done may finish (again: at once)");
                }
                InterruptResult::Forced => {
                    asked = ChatStopRequest::Yes;
                    tell("stopping at once (again: leave)");
                }
                // Nothing is at work yet, or not even force helped.
                InterruptResult::Idle | InterruptResult::AlreadyForced => return InterruptibleOutcome::Abandoned,
            },
        }
    }
}

/// What the program ends with after a run.
pub(super) fn exit_code(outcome: Option<Outcome>, asked: ChatStopRequest) -> ExitCode {
    match (outcome, asked) {
        (Some(Outcome::Completed), _) => ExitCode::SUCCESS,
        (_, ChatStopRequest::Yes) => ExitCode::from(130),
        (_, ChatStopRequest::No) => ExitCode::FAILURE,
    }
}

/// Waits until everything is written, or until somebody does not want to wait.
pub(super) async fn finish_output(
    voice: &mut ChatOutputThread,
    signals: &mut ProcessSignals,
) -> anyhow::Result<()> {
    tokio::select! {
        written = voice.finish() => written,
        () = signals.next() => Ok(()),
    }
}
