//! Reads a run's log page by page and encodes it in a UI format.

use std::{collections::VecDeque, sync::Arc};

use foxwedge_run::{
    MachineInput, MachineSettings, RunEffect, SessionMachine, SharedId,
    encode::{EncoderOptions, FrameId, RunEncoder, UiFormat, UiFrame},
};

use super::{EventTextSource, SseFrame, reader::FrameLog};
use crate::{Result, Store};

/// Events read per page.
const PAGE: usize = 500;

/// Reads a log and encodes it. The machine and the encoder keep the state of earlier events.
pub(super) struct LogEncoder {
    run: SharedId,
    read: u64,
    session: SessionMachine,
    encoder: RunEncoder,
    over: bool,
    texts: Option<Arc<dyn EventTextSource>>,
}

impl std::fmt::Debug for LogEncoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Teller").field("run", &self.run).field("read", &self.read).finish()
    }
}

impl LogEncoder {
    pub(super) fn new(
        run: &str,
        format: UiFormat,
        options: EncoderOptions,
        texts: Option<Arc<dyn EventTextSource>>,
    ) -> LogEncoder {
        let run = SharedId::from(run);
        let options = EncoderOptions { run: Some(run.clone()), ..options };
        LogEncoder {
            run,
            read: 0,
            session: SessionMachine::new(MachineSettings::default()),
            encoder: RunEncoder::new(format, options),
            over: false,
            texts,
        }
    }

    /// Sequence number of the last event that was read.
    pub(super) fn place(&self) -> u64 {
        self.read
    }

    /// Whether the end was encoded.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Reads one more page at most and returns its frames.
    pub(super) async fn read<S: Store>(&mut self, store: &S) -> Result<Vec<SseFrame>> {
        let page = store.events(&self.run, self.read, PAGE).await?;
        let (mut effects, mut frames) = (Vec::new(), Vec::new());
        for mut stored in page {
            self.read = stored.seq;
            if let Some(texts) = &self.texts {
                texts.restore(&mut stored.event);
            }
            // A log has no gaps, so the time does not matter.
            self.session.apply(0, MachineInput::Event(stored.event), &mut effects);
        }
        for effect in &effects {
            self.encoder.push(effect, &mut frames);
            self.over |= matches!(effect, RunEffect::Announce { .. });
        }
        if self.over {
            self.encoder.finish(&mut frames);
        }
        Ok(frames.iter().map(sse_frame).collect())
    }
}

/// The log of a stored run, encoded for one reader.
#[derive(Debug)]
pub(super) struct StoreLog<S> {
    store: Arc<S>,
    run: SharedId,
    format: UiFormat,
    options: EncoderOptions,
    texts: Option<Arc<dyn EventTextSource>>,
    /// Read state, while a reader needs it.
    progress: Option<Box<LogProgress>>,
}

/// The read state of a log.
#[derive(Debug)]
struct LogProgress {
    encoder: LogEncoder,
    /// Encoded frames that were not returned yet.
    frames: VecDeque<SseFrame>,
}

impl<S> StoreLog<S> {
    pub(super) fn new(
        store: Arc<S>,
        run: &str,
        format: UiFormat,
        options: EncoderOptions,
        texts: Option<Arc<dyn EventTextSource>>,
    ) -> StoreLog<S> {
        StoreLog { store, run: SharedId::from(run), format, options, texts, progress: None }
    }
}

impl<S: Store> FrameLog for StoreLog<S> {
    async fn next_after(&mut self, last: FrameId) -> Result<Option<SseFrame>> {
        let StoreLog { store, run, format, options, texts, progress } = self;
        let LogProgress { encoder, frames } = &mut **progress.get_or_insert_with(|| {
            let encoder = LogEncoder::new(run, *format, options.clone(), texts.clone());
            Box::new(LogProgress { encoder, frames: VecDeque::new() })
        });
        loop {
            while let Some(frame) = frames.pop_front() {
                if frame.id > last {
                    return Ok(Some(frame));
                }
            }
            let before = encoder.place();
            let more = encoder.read(&**store).await?;
            if encoder.place() == before {
                return Ok(None);
            }
            frames.extend(more);
        }
    }

    fn release(&mut self) {
        self.progress = None;
    }
}

fn sse_frame(frame: &UiFrame) -> SseFrame {
    let mut sse = String::new();
    frame.write_sse(&mut sse);
    SseFrame { id: frame.id, sse: sse.into_boxed_str() }
}
