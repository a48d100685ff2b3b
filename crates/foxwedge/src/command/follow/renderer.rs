//! Renders a run while it is followed: as text, or as frames for programs.

use foxwedge_run::{RunEffect, SharedId};

use super::{
    output_thread::{FollowOutput, FollowOutputStyle, FollowOutputThread, OutputReaderGone},
    text::FollowTextView,
};
use crate::cli::{FrameArgs, RunView};
use foxwedge_local::{
    runs::{RunFrameWriter, draw::SignSet},
    screen,
};

/// Renders effects to stdout.
pub(super) struct FollowRenderer {
    output: FollowOutputThread,
    kind: FollowRendererKind,
}

enum FollowRendererKind {
    Text(Box<FollowTextView>),
    Frames(RunFrameWriter),
}

impl FollowRenderer {
    pub(super) fn new(view: RunView, args: FrameArgs, session: Option<SharedId>) -> FollowRenderer {
        match view.format() {
            None => {
                let text = FollowTextView::new(SignSet::here(), screen::terminal_columns());
                let kind = FollowRendererKind::Text(Box::new(text));
                FollowRenderer { output: FollowOutputThread::new(FollowOutputStyle::Styled), kind }
            }
            Some(format) => {
                let kind =
                    FollowRendererKind::Frames(RunFrameWriter::new(format, args.into(), session));
                FollowRenderer { output: FollowOutputThread::new(FollowOutputStyle::Plain), kind }
            }
        }
    }

    /// Whether there is a status line that changes over time.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.kind, FollowRendererKind::Text(_)) && screen::terminal_columns().is_some()
    }

    /// Renders effects and queues the output.
    pub(super) async fn render(
        &mut self,
        effects: &[RunEffect],
        now: u64,
        stopping: bool,
    ) -> Result<(), OutputReaderGone> {
        let output = self.render_output(effects, now, stopping);
        if output.lines.is_empty() && output.status.is_none() {
            return Ok(());
        }
        self.output.write(output).await
    }

    /// Stops the output.
    pub(super) fn mute(&mut self) {
        self.output.mute();
    }

    /// Waits until all output is written.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        self.output.finish().await
    }

    fn render_output(&mut self, effects: &[RunEffect], now: u64, stopping: bool) -> FollowOutput {
        match &mut self.kind {
            FollowRendererKind::Text(text) => {
                text.resize(screen::terminal_columns());
                effects.iter().for_each(|effect| text.push(effect));
                FollowOutput { lines: text.take(), status: text.status(now, stopping) }
            }
            FollowRendererKind::Frames(frames) => {
                let mut lines = String::new();
                effects.iter().for_each(|effect| frames.push(effect, &mut lines));
                FollowOutput { lines, status: None }
            }
        }
    }
}
