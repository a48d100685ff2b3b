//! Work that can be stopped: the first Ctrl-C is a wish, the second is force, the third leaves.

use std::{future::Future, process::ExitCode};

use foxwedge_engine::tool_loop::Pressed;
use foxwedge_run::Outcome;

use super::{desk::Reception, lines::Talk, voice::Voice};
use crate::say::{DIM, paint};
use crate::signals::Signals;

/// What became of the work.
pub(super) enum Drove<T> {
    /// It is done, whether somebody asked it to stop or not.
    Done(T, Asked),
    /// Nobody waits for it any more.
    Left,
}

/// Whether somebody pressed Ctrl-C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    No,
    Yes,
}

/// Does something while signals are heard.
pub(super) async fn drive<T>(
    work: impl Future<Output = T>,
    reception: &Reception,
    signals: &mut Signals,
    voice: &Voice,
    talk: Talk,
) -> Drove<T> {
    tokio::pin!(work);
    let mut asked = Asked::No;
    let tell = |text: &str| {
        if talk == Talk::All {
            voice.talk(format!("{}\n", paint(DIM, text)));
        }
    };
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Drove::Done(done, asked),
            () = signals.next() => match reception.press() {
                Pressed::Asked => {
                    asked = Asked::Yes;
                    tell("stopping: what is nearly done may finish (again: at once)");
                }
                Pressed::Forced => {
                    asked = Asked::Yes;
                    tell("stopping at once (again: leave)");
                }
                // Nothing is at work yet, or not even force helped.
                Pressed::Idle | Pressed::Leave => return Drove::Left,
            },
        }
    }
}

/// What the program ends with after a run.
pub(super) fn code(outcome: Option<Outcome>, asked: Asked) -> ExitCode {
    match (outcome, asked) {
        (Some(Outcome::Completed), _) => ExitCode::SUCCESS,
        (_, Asked::Yes) => ExitCode::from(130),
        (_, Asked::No) => ExitCode::FAILURE,
    }
}

/// Waits until everything is written, or until somebody does not want to wait.
pub(super) async fn finish(voice: &mut Voice, signals: &mut Signals) -> anyhow::Result<()> {
    tokio::select! {
        written = voice.finish() => written,
        () = signals.next() => Ok(()),
    }
}
