//! A run's log, read page by page and told in a format.

use std::{collections::VecDeque, sync::Arc};

use foxwedge_run::{
    MachineInput, MachineSettings, RunEffect, SessionMachine, SharedId,
    encode::{EncoderOptions, FrameId, RunEncoder, UiFormat, UiFrame},
};

use super::{EventTextSource, SseFrame, reader::FrameLog};
use crate::{Result, Store};

/// How many events are read at once.
const PAGE: usize = 500;

/// Reads a log and tells it. The machine and the encoder remember what came before.
pub(super) struct LogEncoder {
    run: SharedId,
    read: u64,
    session: SessionMachine,
    encoder: RunEncoder,
    over: bool,
    words: Option<Arc<dyn EventTextSource>>,
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
        words: Option<Arc<dyn EventTextSource>>,
    ) -> LogEncoder {
        let run = SharedId::from(run);
        let options = EncoderOptions { run: Some(run.clone()), ..options };
        LogEncoder {
            run,
            read: 0,
            session: SessionMachine::new(MachineSettings::default()),
            encoder: RunEncoder::new(format, options),
            over: false,
            words,
        }
    }

    /// The place of the last event that was read.
    pub(super) fn place(&self) -> u64 {
        self.read
    }

    /// Whether the end was told.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Reads on, a page at most: what comes of it.
    pub(super) async fn read<S: Store>(&mut self, store: &S) -> Result<Vec<SseFrame>> {
        let page = store.events(&self.run, self.read, PAGE).await?;
        let (mut effects, mut frames) = (Vec::new(), Vec::new());
        for mut stored in page {
            self.read = stored.seq;
            if let Some(words) = &self.words {
                words.restore(&mut stored.event);
            }
            // A log has no gaps, so that nothing depends on the time.
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

/// A log of a store, told for one reader.
#[derive(Debug)]
pub(super) struct StoreLog<S> {
    store: Arc<S>,
    run: SharedId,
    format: UiFormat,
    options: EncoderOptions,
    words: Option<Arc<dyn EventTextSource>>,
    /// How far it was read, while somebody reads it.
    progress: Option<Box<LogProgress>>,
}

/// How far a log was read.
#[derive(Debug)]
struct LogProgress {
    encoder: LogEncoder,
    /// Told, but not handed on yet.
    frames: VecDeque<SseFrame>,
}

impl<S> StoreLog<S> {
    pub(super) fn new(
        store: Arc<S>,
        run: &str,
        format: UiFormat,
        options: EncoderOptions,
        words: Option<Arc<dyn EventTextSource>>,
    ) -> StoreLog<S> {
        StoreLog { store, run: SharedId::from(run), format, options, words, progress: None }
    }
}

impl<S: Store> FrameLog for StoreLog<S> {
    async fn next_after(&mut self, last: FrameId) -> Result<Option<SseFrame>> {
        let StoreLog { store, run, format, options, words, progress: told } = self;
        let LogProgress { encoder: teller, frames } = &mut **told.get_or_insert_with(|| {
            let teller = LogEncoder::new(run, *format, options.clone(), words.clone());
            Box::new(LogProgress { encoder: teller, frames: VecDeque::new() })
        });
        loop {
            while let Some(frame) = frames.pop_front() {
                if frame.id > last {
                    return Ok(Some(frame));
                }
            }
            let before = teller.place();
            let more = teller.read(&**store).await?;
            if teller.place() == before {
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
