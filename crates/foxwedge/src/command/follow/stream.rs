//! The loop: lines come in, the machine decides, the store keeps, and then somebody is told.

use std::{collections::BTreeMap, io, time::Duration};

use anyhow::Context;
use foxwedge_run::{
    Body, Effect, Ended, Event, Id, Input as Step, Outcome, Session, Settings, Stop as Wish,
};
use tokio::{sync::mpsc, time};

use super::{
    feed::{Feed, Tally},
    keeper::{Keeper, Lost},
    lines::{Input, Line},
    source_clock::SourceClock,
    stop::Stop,
    teller::Teller,
    warnings::Warnings,
};
use crate::runs::{
    Clock,
    draw::{word, worded},
    replay,
};

/// How long calls at work may take to finish after a first Ctrl-C, in milliseconds.
const GRACE: u64 = 1_000;
/// How often the line below the others is drawn anew.
const REDRAW: Duration = Duration::from_millis(250);

/// Everything that is known about one stream.
pub(super) struct Stream {
    feed: Feed,
    keeper: Option<Keeper>,
    teller: Teller,
    heard: bool,
    stop: Stop,
    session: Option<Id>,
    machine: Session,
    clock: Clock,
    source: SourceClock,
    effects: Vec<Effect>,
    /// How the runs ended, by their ids.
    pub(super) ended: BTreeMap<Id, Outcome>,
    /// The last place of each run that somebody was told of.
    told: BTreeMap<Id, u64>,
    warnings: Warnings,
}

/// Why it is over.
pub(super) enum End {
    /// The stream is.
    Over,
    /// Somebody stopped it.
    Stopped,
    /// Nobody reads it, and nobody keeps it.
    Unheard,
    /// The run is somebody else's now, or was ended by somebody else.
    Taken(String),
}

/// What happens next.
enum Next {
    Lines(Option<io::Result<Vec<Line>>>),
    Asked,
    Lost(Id),
    Time,
    Redraw,
}

impl Stream {
    pub(super) fn new(
        feed: Feed,
        keeper: Option<Keeper>,
        teller: Teller,
        session: Option<Id>,
        settings: Settings,
    ) -> anyhow::Result<Stream> {
        Ok(Stream {
            feed,
            keeper,
            teller,
            heard: true,
            stop: Stop::listen().context("Ctrl-C cannot be heard")?,
            session,
            machine: Session::new(settings),
            clock: Clock::new(),
            source: SourceClock::default(),
            effects: Vec::new(),
            ended: BTreeMap::new(),
            told: BTreeMap::new(),
            warnings: Warnings::default(),
        })
    }

    /// Follows an input to its end, or until somebody stops it.
    pub(super) async fn run(&mut self, input: Input) -> anyhow::Result<End> {
        let shown = input.shown.clone();
        let mut lines = input.lines();
        loop {
            let done = match self.next(&mut lines).await {
                Next::Lines(Some(Ok(lines))) => {
                    self.take_lines(lines).await?;
                    None
                }
                // Whoever stopped it stopped the agent, too.
                Next::Lines(None) if self.stop.times() > 0 => {
                    self.stop(0);
                    Some(End::Stopped)
                }
                Next::Lines(None) => {
                    self.close().await?;
                    Some(End::Over)
                }
                Next::Lines(Some(Err(error))) => {
                    self.close().await?;
                    self.pass_on().await?;
                    return Err(error).with_context(|| format!("{shown}: cannot be read"));
                }
                Next::Asked => {
                    self.stop(if self.stop.times() > 1 { 0 } else { GRACE });
                    None
                }
                Next::Lost(run) => return self.taken(&run).await,
                Next::Time => {
                    self.machine.apply(self.clock.now(), Step::Tick, &mut self.effects);
                    self.take_lines(Vec::new()).await?;
                    None
                }
                Next::Redraw => None,
            };
            if let Some(end) = self.pass_on().await?.or(done) {
                return Ok(end);
            }
            if self.stop.times() > 0 && self.machine.runs().iter().all(|run| run.is_over()) {
                return Ok(End::Stopped);
            }
        }
    }

    /// Waits until everything is written, or until somebody does not want to wait.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        tokio::select! {
            written = self.teller.finish() => written,
            () = self.stop.asked() => Ok(()),
        }
    }

    /// Hears how often somebody asked to stop.
    pub(super) fn stop_requests(&self) -> Stop {
        self.stop.clone()
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.feed.tally
    }

    /// What an operator may want to know: the first of it, and how much there was.
    pub(super) fn warnings(&self) -> (Vec<String>, usize) {
        let notes: Vec<&String> = self.keeper.iter().flat_map(|keeper| &keeper.notes).collect();
        let all = self.feed.warnings.all + self.warnings.all + notes.len();
        let warnings = self.feed.warnings.first.iter().chain(&self.warnings.first);
        (warnings.map(worded).chain(notes.into_iter().cloned()).collect(), all)
    }

    pub(super) fn is_decided(&self) -> bool {
        self.feed.is_decided()
    }

    /// Where it is kept, if it is.
    pub(super) fn kept(&self) -> Option<String> {
        let keeper = self.keeper.as_ref()?;
        Some(format!("{}, session {}", keeper.kept.url, keeper.session()?))
    }

    async fn next(&mut self, lines: &mut mpsc::Receiver<io::Result<Vec<Line>>>) -> Next {
        let live = self.heard && self.teller.is_live() && self.machine.active().is_some();
        let deadline = [self.machine.deadline(), self.feed.deadline()].into_iter().flatten().min();
        let wait = deadline.map_or(0, |at| at.saturating_sub(self.clock.now()));
        let wait = Duration::from_millis(wait);
        let (stop, keeper) = (&mut self.stop, &mut self.keeper);
        let lost = async {
            match keeper {
                Some(keeper) => keeper.news().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            () = stop.asked() => Next::Asked,
            Some(run) = lost => Next::Lost(run),
            () = time::sleep(wait), if deadline.is_some() => Next::Time,
            lines = lines.recv() => Next::Lines(lines),
            () = time::sleep(REDRAW), if live => Next::Redraw,
        }
    }

    async fn take_lines(&mut self, lines: Vec<Line>) -> anyhow::Result<()> {
        let now = self.clock.now();
        let events = self.feed.lines(now, lines);
        self.take_all(events).await
    }

    async fn take_all(&mut self, mut events: Vec<Event>) -> anyhow::Result<()> {
        self.source.stamp(self.clock.now(), &mut events);
        for event in events {
            self.take(event).await?;
        }
        Ok(())
    }

    /// Gives an event to the machine, with everything that its source left out.
    async fn take(&mut self, mut event: Event) -> anyhow::Result<()> {
        let now = self.clock.now();
        if let Body::Started(started) = &mut event.body
            && let Some(session) = &self.session
        {
            started.session = Some(session.clone());
        }
        if let Some(keeper) = &mut self.keeper {
            keeper.prepare(&mut event).await?;
        }
        self.machine.apply(now, Step::Event(event), &mut self.effects);
        Ok(())
    }

    /// The stream is over: what did not end is told as what it is.
    async fn close(&mut self) -> anyhow::Result<()> {
        let events = self.feed.finish(self.clock.now());
        self.take_all(events).await?;
        let ended = Ended { outcome: Some(Outcome::Interrupted), ..Ended::default() };
        let at = Some(self.source.at(self.clock.now()));
        for run in self.open() {
            self.take(Event { at, ..Event::new(&run, Body::Ended(ended.clone())) }).await?;
        }
        Ok(())
    }

    /// Somebody wants it to stop, and lets calls at work take so long.
    fn stop(&mut self, grace: u64) {
        let now = self.clock.now();
        let at = Some(self.source.at(now));
        for run in self.open() {
            let wish = Event { at, ..Event::new(&run, Body::Stop(Wish { grace })) };
            self.machine.apply(now, Step::Event(wish), &mut self.effects);
        }
    }

    fn open(&self) -> Vec<Id> {
        let open = self.machine.runs().iter().filter(|run| !run.is_over());
        open.map(|run| run.id().clone()).collect()
    }

    /// Stores what happened, and then tells it.
    async fn pass_on(&mut self) -> anyhow::Result<Option<End>> {
        let effects = std::mem::take(&mut self.effects);
        if let Some(keeper) = &mut self.keeper {
            match keeper.keep(&self.machine, &effects).await {
                Ok(()) => {}
                Err(Lost::Broken(error)) => return Err(error),
                Err(Lost::Taken(run)) => return self.taken(&run).await.map(Some),
            }
        }
        self.note(&effects);
        self.tell(&effects).await;
        Ok((!self.heard && self.keeper.is_none()).then(|| match self.stop.times() {
            0 => End::Unheard,
            _ => End::Stopped,
        }))
    }

    async fn tell(&mut self, effects: &[Effect]) {
        if !self.heard {
            return;
        }
        let now = self.source.at(self.clock.now());
        let mut again = self.stop.clone();
        let stopping = self.stop.times() > 0;
        self.heard = tokio::select! {
            told = self.teller.tell(effects, now, stopping) => told.is_ok(),
            // Whoever asks twice does not want to wait for a reader that does not read.
            () = again.insisted() => {
                self.teller.mute();
                false
            }
        };
    }

    /// The run is somebody else's, or was ended by somebody else: what they wrote is the truth.
    async fn taken(&mut self, run: &Id) -> anyhow::Result<End> {
        let Some(keeper) = &self.keeper else { return Ok(End::Over) };
        let kept = keeper.kept.clone();
        let told = self.told.get(run).copied().unwrap_or(0);
        let mut rest = Vec::new();
        let mut new = false;
        let session = replay(&kept, run, |effect| {
            if let Effect::Emit(event) = effect {
                new = event.seq > Some(told);
            }
            if new {
                rest.push(effect.clone());
            }
        });
        let session = session.await?;
        self.note(&rest);
        self.tell(&rest).await;
        let outcome = session.run(run).and_then(|run| run.outcome());
        Ok(End::Taken(match outcome {
            Some(outcome) => format!("run `{run}` was ended from outside: {}", word(outcome)),
            None => format!("run `{run}` is somebody else's now: its lease ran out"),
        }))
    }

    fn note(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Announce { run, ended, .. } => {
                    let outcome = ended.outcome.unwrap_or(Outcome::Failed);
                    self.ended.insert(run.clone(), outcome);
                }
                Effect::Warn(warning) => self.warnings.push(warning),
                Effect::Emit(event) => {
                    self.told.insert(event.run.clone(), event.seq.unwrap_or(0));
                }
                Effect::Show { .. }
                | Effect::Resolve { .. }
                | Effect::CallOff { .. }
                | Effect::Drain { .. } => {}
            }
        }
    }
}
