//! Interruptible work: the first Ctrl-C asks it to stop, the second forces it, the third exits.

use std::{future::Future, process::ExitCode};

use foxwedge_agent_loop::tool_loop::InterruptResult;
use foxwedge_run::Outcome;

use super::{
    line_printer::ChatVerbosity, output_thread::ChatOutputThread, run_control::ChatRunController,
};
use foxwedge_local::{
    language::localize,
    output::{DIM, paint},
    signals::ProcessSignals,
};

/// The outcome of interruptible work.
pub(super) enum InterruptibleOutcome<T> {
    /// The work finished, whether or not it was asked to stop.
    Done(T, ChatStopRequest),
    /// The work was abandoned before it finished.
    Abandoned,
}

/// Whether the user pressed Ctrl-C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChatStopRequest {
    No,
    Yes,
}

/// Runs work and passes signals on to the run controller.
pub(super) async fn run_interruptible<T>(
    work: impl Future<Output = T>,
    controller: &ChatRunController,
    signals: &mut ProcessSignals,
    output: &ChatOutputThread,
    verbosity: ChatVerbosity,
) -> InterruptibleOutcome<T> {
    tokio::pin!(work);
    let mut stop_request = ChatStopRequest::No;
    let print = |text: &str| {
        if verbosity == ChatVerbosity::All {
            output.write_stderr(format!("{}\n", paint(DIM, localize(text))));
        }
    };
    loop {
        tokio::select! {
            biased;
            done = &mut work => return InterruptibleOutcome::Done(done, stop_request),
            () = signals.next() => match controller.interrupt() {
                InterruptResult::Stopping => {
                    stop_request = ChatStopRequest::Yes;
                    print("stopping: work that is nearly done may finish (press again to force)");
                }
                InterruptResult::Forced => {
                    stop_request = ChatStopRequest::Yes;
                    print("stopping by force (press again to exit)");
                }
                // Nothing is running yet, or force did not help.
                InterruptResult::Idle | InterruptResult::AlreadyForced => return InterruptibleOutcome::Abandoned,
            },
        }
    }
}

/// The exit code after a run.
pub(super) fn exit_code(outcome: Option<Outcome>, stop_request: ChatStopRequest) -> ExitCode {
    match (outcome, stop_request) {
        (Some(Outcome::Completed), _) => ExitCode::SUCCESS,
        (_, ChatStopRequest::Yes) => ExitCode::from(130),
        (_, ChatStopRequest::No) => ExitCode::FAILURE,
    }
}

/// Waits until all output is written, or until the next signal.
pub(super) async fn finish_output(
    output: &mut ChatOutputThread,
    signals: &mut ProcessSignals,
) -> anyhow::Result<()> {
    tokio::select! {
        written = output.finish() => written,
        () = signals.next() => Ok(()),
    }
}
