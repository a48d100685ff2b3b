//! A run's log, read page by page and told in a format.

use std::{collections::VecDeque, sync::Arc};

use foxwedge_run::{
    Effect, Id, Input, Session, Settings,
    encode::{Encoder, Format, Frame, FrameId, Options},
};

use super::{EventWords, Sent, reader::Log};
use crate::{Result, Store};

/// How many events are read at once.
const PAGE: usize = 500;

/// Reads a log and tells it. The machine and the encoder remember what came before.
pub(super) struct Teller {
    run: Id,
    read: u64,
    session: Session,
    encoder: Encoder,
    over: bool,
    words: Option<Arc<dyn EventWords>>,
}

impl std::fmt::Debug for Teller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Teller").field("run", &self.run).field("read", &self.read).finish()
    }
}

impl Teller {
    pub(super) fn new(
        run: &str,
        format: Format,
        options: Options,
        words: Option<Arc<dyn EventWords>>,
    ) -> Teller {
        let run = Id::from(run);
        let options = Options { run: Some(run.clone()), ..options };
        Teller {
            run,
            read: 0,
            session: Session::new(Settings::default()),
            encoder: Encoder::new(format, options),
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
    pub(super) async fn read<S: Store>(&mut self, store: &S) -> Result<Vec<Sent>> {
        let page = store.events(&self.run, self.read, PAGE).await?;
        let (mut effects, mut frames) = (Vec::new(), Vec::new());
        for mut stored in page {
            self.read = stored.seq;
            if let Some(words) = &self.words {
                words.restore(&mut stored.event);
            }
            // A log has no gaps, so that nothing depends on the time.
            self.session.apply(0, Input::Event(stored.event), &mut effects);
        }
        for effect in &effects {
            self.encoder.push(effect, &mut frames);
            self.over |= matches!(effect, Effect::Announce { .. });
        }
        if self.over {
            self.encoder.finish(&mut frames);
        }
        Ok(frames.iter().map(sent).collect())
    }
}

/// A log of a store, told for one reader.
#[derive(Debug)]
pub(super) struct Logged<S> {
    store: Arc<S>,
    run: Id,
    format: Format,
    options: Options,
    words: Option<Arc<dyn EventWords>>,
    /// How far it was read, while somebody reads it.
    told: Option<Box<LogProgress>>,
}

/// How far a log was read.
#[derive(Debug)]
struct LogProgress {
    teller: Teller,
    /// Told, but not handed on yet.
    frames: VecDeque<Sent>,
}

impl<S> Logged<S> {
    pub(super) fn new(
        store: Arc<S>,
        run: &str,
        format: Format,
        options: Options,
        words: Option<Arc<dyn EventWords>>,
    ) -> Logged<S> {
        Logged { store, run: Id::from(run), format, options, words, told: None }
    }
}

impl<S: Store> Log for Logged<S> {
    async fn next_behind(&mut self, last: FrameId) -> Result<Option<Sent>> {
        let Logged { store, run, format, options, words, told } = self;
        let LogProgress { teller, frames } = &mut **told.get_or_insert_with(|| {
            let teller = Teller::new(run, *format, options.clone(), words.clone());
            Box::new(LogProgress { teller, frames: VecDeque::new() })
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

    fn rest(&mut self) {
        self.told = None;
    }
}

fn sent(frame: &Frame) -> Sent {
    let mut sse = String::new();
    frame.write_sse(&mut sse);
    Sent { id: frame.id, sse: sse.into_boxed_str() }
}
