//! A request that is at work: what happens in it, handed on as it happens.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use foxwedge_core::Wire;
use foxwedge_dialect::{canon, stream::event::Event};
use http::StatusCode;
use tokio::time::Instant;

use super::{
    Begin, Ended, Inner, Recorder, Repair, cards,
    heard::Heard,
    now,
    queue::{Closing, Ending, Line, Told, Whole},
    side::Side,
    waiting::Wait,
};
use crate::{
    Guarded,
    agent::Presence,
    config::{Content, Mode},
    meter::Dropped,
};

/// A request that is at work. Dropped before its end: the client is gone.
#[derive(Debug)]
pub struct Recording {
    recorder: Recorder,
    session: Arc<str>,
    place: Place,
    heard: Heard,
    noted: Noted,
    /// The live agent that replies.
    agent: Option<Presence>,
    /// The way to the writer; none if nothing is kept, there was no room, or it is over.
    line: Option<Line>,
}

/// What is known of the request itself, for a repair that comes later.
#[derive(Debug)]
struct Noted {
    owner: Arc<str>,
    request: Arc<str>,
    model: Arc<str>,
    before: Bytes,
    mode: Mode,
    wire: Wire,
    changes: usize,
    repair: Option<u64>,
}

/// Where a request stands in its run.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) run: Arc<str>,
    /// Which request of the run it is, from 1 on.
    pub(super) turn: u32,
    /// Calls of earlier replies that are still without an answer.
    pub(super) open: Vec<Arc<str>>,
}

impl Recording {
    pub(super) fn new(
        recorder: &Recorder,
        begin: &Begin<'_>,
        place: Place,
        line: Option<Line>,
    ) -> Recording {
        let mut recording = Recording {
            recorder: recorder.clone(),
            session: begin.session.clone(),
            heard: {
                let words = recorder.0.words.as_ref().filter(|_| line.is_some());
                let room = words.map(|words| words.room());
                Heard::new(recorder.0.config.content, room, place.turn)
            },
            noted: Noted {
                owner: begin.owner.clone(),
                request: begin.request.clone(),
                model: begin.model.clone(),
                before: begin.before.clone(),
                mode: begin.mode,
                wire: begin.wire,
                changes: begin.guarded.changes.len(),
                repair: None,
            },
            place,
            agent: None,
            line,
        };
        recording.note_repair(begin.guarded);
        recording
    }

    /// The run.
    pub fn run(&self) -> &Arc<str> {
        &self.place.run
    }

    /// A way into the run for what happens beside the reply; none if nothing is kept.
    pub(crate) fn side(&mut self) -> Option<Side> {
        let line = self.line.as_mut()?;
        let told = self.heard.early();
        if !told.is_empty() {
            self.recorder.0.more(line, told);
        }
        Some(Side {
            queue: self.recorder.0.queue.clone(),
            session: self.session.clone(),
            run: self.place.run.clone(),
            content: self.recorder.0.config.content,
            waiting: self.recorder.0.waiting.clone(),
            asked: HashMap::new(),
        })
    }

    /// A live agent replies: it closes calls that nobody answers in time.
    pub(crate) fn serves(&mut self, agent: Presence) {
        self.agent = Some(agent);
    }

    /// Something happens in a reply that comes in pieces.
    pub fn see(&mut self, event: &Event<'_>) {
        let Some(line) = &mut self.line else {
            // Calls still leave the run open, and nothing else is of use.
            return;
        };
        self.heard.see(event);
        self.recorder.0.remember(&self.place.run, &mut self.heard);
        if let Some(told) = self.heard.due(Instant::now()) {
            self.recorder.0.more(line, told);
        }
    }

    /// A reply that came whole.
    pub fn whole(&mut self, reply: &canon::Reply<'_>) {
        if self.line.is_some() {
            self.heard.whole(reply);
        }
    }

    /// The request was repaired once more, since the upstream refused it.
    pub fn changed(&mut self, guarded: &Guarded) {
        if guarded.changes.len() > self.noted.changes {
            self.noted.changes = guarded.changes.len();
            self.note_repair(guarded);
            self.heard.cards(cards::of(guarded, self.place.turn));
        }
        // The body is not needed any more, and may be large.
        self.noted.before = Bytes::new();
    }

    /// The reply has ended; behind it the conversation has this value.
    pub fn ended(mut self, ended: Ended, tip: Option<u128>) {
        let ending = match ended {
            Ended::Replied => self.heard.ending(),
            Ended::Failed => Ending::failed(self.heard.trouble()),
            Ended::Cut => Ending::failed("upstream_cut"),
        };
        self.close(ending, tip);
    }

    /// The upstream refused, or was in trouble.
    pub fn failed(mut self, status: StatusCode) {
        self.close(Ending::failed(format!("upstream_{}", status.as_u16())), None);
    }

    /// Something went wrong on our side, in a word.
    pub fn fault(mut self, code: &'static str) {
        let ending = match code {
            "run_stopped" => Ending::Stopped,
            code => Ending::failed(code),
        };
        self.close(ending, None);
    }

    /// Somebody stopped the run.
    pub fn stopped(mut self) {
        self.close(Ending::Stopped, None);
    }

    fn close(&mut self, ending: Ending, tip: Option<u128>) {
        let Some(line) = self.line.take() else { return };
        let inner = self.recorder.0.clone();
        let said = self.heard.finish(&ending);
        inner.remember(&self.place.run, &mut self.heard);
        if let (Ending::Waits, Whole::Yes) = (&ending, line.whole()) {
            let mut calls = std::mem::take(&mut self.place.open);
            // Calls that are still open may have been listed once more.
            calls.retain(|call| !said.calls.contains(call));
            calls.extend(said.calls);
            let run = self.place.run.clone();
            let due = Instant::now() + inner.call;
            // Before the writer hears of it: the answers may come at once.
            let (turn, agent) = (self.place.turn, self.agent.take());
            inner.waiting.insert(&self.session, Wait { run, turn, calls, due, agent });
        }
        line.close(Box::new(Closing {
            run: self.place.run.clone(),
            turn: self.place.turn,
            at: now(),
            told: said.told,
            usage: said.usage,
            text: said.text,
            ending,
            tip,
        }));
    }

    fn note_repair(&mut self, guarded: &Guarded) {
        let repairs = &self.recorder.0.repairs;
        if !Repair::is_worth(guarded) || !repairs.keeps() {
            return;
        }
        let noted = &mut self.noted;
        let bodies = match self.recorder.0.config.content {
            Content::Kept => Some((noted.before.clone(), guarded.body.clone())),
            Content::Left => None,
        };
        let repair = Repair {
            number: 0,
            at: now(),
            request: noted.request.clone(),
            owner: noted.owner.clone(),
            session: self.session.clone(),
            run: self.place.run.clone(),
            model: noted.model.clone(),
            mode: noted.mode,
            wire: noted.wire,
            action: guarded.action,
            findings: guarded.findings.clone(),
            changes: guarded.changes.clone(),
            losses: guarded.losses.clone(),
            compacted: guarded.compacted,
            bytes: (noted.before.len(), guarded.body.len()),
            bodies,
        };
        noted.repair = Some(repairs.keep(noted.repair, repair));
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.close(Ending::Stopped, None);
    }
}

impl Inner {
    /// Before the writer hears of it: whoever follows the run reads both.
    fn remember(&self, run: &Arc<str>, heard: &mut Heard) {
        if let Some(words) = &self.words {
            for (place, said) in heard.aside() {
                words.keep(run, place, said);
            }
        }
    }

    fn more(&self, line: &mut Line, told: Vec<Told>) {
        if line.more(told).is_err() {
            self.meter.dropped(Dropped::Records, 1);
        }
    }
}
