//! The course of a run: ask, listen, run tools, answer, until there is an end. Every wait can be
//! interrupted, and whatever the end is, it leaves by one door.

mod hear;
mod labour;

use std::{collections::HashMap, sync::Arc, time::Duration};

use foxwedge_core::Wire;
use foxwedge_dialect::canon::Renamed;
use foxwedge_run::{Body, Ended, Id, Outcome, Problem, Turn, Usage, history};
use foxwedge_store::Store;
use foxwedge_tools::{Stage, Stop, Toolbox};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{
    Approver, Finished, Limits, LoopError, Note,
    context::{Context, calls},
    entry::Entry,
    keeper::{Keeper, Trouble},
    offer::ToolOffer,
    shelf::{Anew, Shelf, chained},
    shorten::{Shortener, Shortening},
};
use crate::{
    guard::changes,
    model::{Called, Model, Sealed, StopKind},
};
use hear::Heard;

/// How often is looked whether the run is still ours: somebody may have ended it from outside.
const PULSE: Duration = Duration::from_secs(1);

/// A run on its way.
pub(super) struct Drive<'a, S> {
    pub(super) keeper: Keeper<'a, S>,
    pub(super) shelf: &'a mut Shelf<S>,
    pub(super) model: Arc<dyn Model>,
    pub(super) tools: &'a Toolbox,
    pub(super) approver: &'a Arc<dyn Approver>,
    pub(super) instructions: &'a str,
    pub(super) limits: Limits,
    pub(super) stop: Stop,
    pub(super) shortener: &'a Shortener,
    offer: &'a mut ToolOffer,
    /// When somebody looks whether the run is still ours.
    pulse: Interval,
    turn: u32,
    /// Messages of this run that are in the session.
    written: usize,
    /// What the model said in this turn, in its own format.
    said: Option<(Wire, String)>,
    /// Names of tools that the model knows under another name.
    names: Vec<Renamed>,
    /// Whether the conversation was repaired for good in this run.
    mended: bool,
    /// Bytes that the answers of this turn may still have.
    room: usize,
    /// What earlier turns cost.
    spent: Usage,
    /// What the turn before did, and how often it was done in a row.
    before: (String, u32),
}

/// What is needed to drive.
pub(super) struct Gear<'a> {
    pub(super) model: Arc<dyn Model>,
    pub(super) tools: &'a Toolbox,
    pub(super) approver: &'a Arc<dyn Approver>,
    pub(super) instructions: &'a str,
    pub(super) limits: Limits,
    pub(super) stop: Stop,
    pub(super) shortener: &'a Shortener,
    pub(super) offer: &'a mut ToolOffer,
}

/// How a run comes to its end.
enum End {
    /// The model is done.
    Said,
    /// The model would not.
    Refused,
    /// Somebody wanted it.
    Stopped,
    /// There is no turn left.
    Turns,
    /// Something went wrong.
    Failed(Problem),
}

impl<'a, S: Store> Drive<'a, S> {
    pub(super) fn new(keeper: Keeper<'a, S>, shelf: &'a mut Shelf<S>, gear: Gear<'a>) -> Self {
        let Gear { model, tools, approver, instructions, limits, stop, shortener, offer } = gear;
        let mut pulse = interval((limits.lease / 3).clamp(Duration::from_millis(10), PULSE));
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Drive {
            keeper,
            shelf,
            model,
            tools,
            approver,
            instructions,
            limits,
            stop,
            shortener,
            offer,
            pulse,
            turn: 0,
            written: 0,
            said: None,
            names: Vec::new(),
            mended: false,
            room: 0,
            spent: Usage::default(),
            before: (String::new(), 0),
        }
    }

    /// Drives to the end.
    pub(super) async fn run(mut self) -> Result<Finished, LoopError> {
        let names = self.tools.iter().map(|tool| Id::from(&*tool.about().name)).collect();
        let available = foxwedge_run::ToolsAvailable { version: None, ready: true, tools: names };
        self.keeper.note(Body::ToolsAvailable(available));
        let finished = match self.course().await {
            Ok(end) => self.leave(end).await,
            Err(trouble) => Err(trouble),
        };
        match finished {
            Ok(finished) => Ok(finished),
            Err(Trouble::Taken) => {
                let finished = self.keeper.taken().await?;
                self.shelf.load().await?;
                Ok(finished)
            }
            Err(Trouble::Loop(error)) => Err(error),
        }
    }

    async fn course(&mut self) -> Result<End, Trouble> {
        self.keeper.save().await?;
        let mut tight = false;
        loop {
            if self.is_stopped() {
                return Ok(End::Stopped);
            }
            if self.turn >= self.limits.turns {
                return Ok(End::Turns);
            }
            let shortening = if tight { Shortening::Must } else { Shortening::IfFull };
            let request = match self.request(shortening).await? {
                Ok(request) => request,
                Err(end) => return Ok(end),
            };
            self.turn += 1;
            self.keeper.note(Body::Turn(Turn { turn: Some(self.turn), message: None }));
            self.keeper.save().await?;
            let (calls, stop) = match self.hear(request).await? {
                Heard::All(calls, stop) => (calls, stop),
                Heard::Stopped => return Ok(End::Stopped),
                // A provider that counts otherwise than we do is believed, once.
                Heard::Failed(error) if error.code == "overflow" && !tight => {
                    tight = true;
                    continue;
                }
                // So is one that takes fewer tools than anybody knew.
                Heard::Failed(error) if error.code == "too_many_tools" && self.offer_fewer() => {
                    continue;
                }
                Heard::Failed(error) => return Ok(End::Failed(failure(error.code, error.message))),
            };
            tight = false;
            self.record(Upto::Said).await?;
            if calls.is_empty() {
                match stop {
                    StopKind::Pause => continue,
                    StopKind::Refused => return Ok(End::Refused),
                    StopKind::Done => return Ok(End::Said),
                    StopKind::Length => {
                        let words = "the model was not allowed to say more: its reply is cut off";
                        let problem = Problem { fatal: false, ..failure("length", words.into()) };
                        self.keeper.note(Body::Problem(problem));
                        return Ok(End::Said);
                    }
                }
            }
            self.labour(&calls).await?;
            if self.keeper.is_over() || self.is_stopped() {
                return Ok(End::Stopped);
            }
            self.record(Upto::Answered).await?;
            if let Some(problem) = self.repeats(&calls) {
                return Ok(End::Failed(problem));
            }
        }
    }

    /// Offers fewer tools from now on; whether there are still some.
    fn offer_fewer(&mut self) -> bool {
        let all = self.tools.len();
        let offered = self.offer.most(self.model.about().profile).min(all);
        let fewer = self.offer.refused(offered);
        if let Some(offered) = fewer {
            self.keeper.tell_note(Note::FewerTools { offered, all });
        }
        fewer.is_some()
    }

    fn is_stopped(&self) -> bool {
        self.stop.stage() > Stage::Quiet
    }

    /// The next request: short enough, sound, and proven to be; or why there is none.
    async fn request(&mut self, shortening: Shortening) -> Result<Result<Sealed, End>, Trouble> {
        let mut composed = self.context().compose(&self.shelf.entries)?;
        match self.fit(&composed.body, shortening).await? {
            Fit::AsItIs => {}
            Fit::Shorter => composed = self.context().compose(&self.shelf.entries)?,
            Fit::End(end) => return Ok(Err(end)),
        }
        if !composed.edits.is_empty() && !self.mended {
            // For good: the same is not found again with every request. What comes back all the
            // same is mended on its way, and not written down each time.
            self.mended = true;
            let messages = self.context().messages(&composed.body)?;
            self.anew(Anew::Repaired, messages).await?;
            let changes = changes(std::mem::take(&mut composed.edits));
            self.keeper.tell_note(Note::Repaired(changes));
        }
        self.names = composed.names;
        match self.context().seal(composed.body) {
            Ok(sealed) => Ok(Ok(sealed)),
            Err(error) => Ok(Err(End::Failed(failure("unsound", error.to_string())))),
        }
    }

    /// Makes the history shorter if it has to be. Never in vain: what is too long for the model is
    /// told before anybody is asked.
    async fn fit(&mut self, body: &str, shortening: Shortening) -> Result<Fit, Trouble> {
        let (question, limits) = (self.context().question(), self.limits);
        let about = self.model.about();
        let load = self.shortener.judge(body, about, question, &limits, shortening);
        let Some(load) = load else { return Ok(Fit::AsItIs) };
        self.keeper.tell_note(Note::Compacting);
        let mut stop = self.stop.clone();
        let (shortener, model) = (self.shortener, self.model.clone());
        let shorten = shortener.shorten(load, &model, None, self.stop.clone());
        tokio::pin!(shorten);
        let shortened = loop {
            tokio::select! {
                biased;
                () = stop.reached(Stage::Asked) => return Ok(Fit::End(End::Stopped)),
                shortened = &mut shorten => break shortened,
                _ = self.pulse.tick() => self.keeper.pulse(&limits).await?,
            }
        };
        match shortened {
            Ok(Some(shorter)) => {
                let messages = self.context().messages(&shorter.body)?;
                self.anew(Anew::Compacted(shorter.before, shorter.after), messages).await?;
                self.keeper.tell_note(Note::Compacted(shorter.before, shorter.after));
                Ok(Fit::Shorter)
            }
            Ok(None) => Ok(Fit::AsItIs),
            Err(failed) if failed.fits => Ok(Fit::AsItIs),
            Err(failed) => Ok(Fit::End(End::Failed(failure("overflow", failed.why)))),
        }
    }

    async fn anew(&mut self, why: Anew<'_>, messages: Vec<(Wire, String)>) -> Result<(), Trouble> {
        let mark = format!("{}-{}", self.keeper.epoch(), self.written);
        let run = Arc::from(&**self.keeper.id());
        self.shelf.anew(why, messages, &mark, Some(&run)).await?;
        Ok(())
    }

    fn context(&self) -> Context<'_> {
        Context {
            about: self.model.about(),
            instructions: self.instructions,
            tools: self.tools,
            most_tools: self.offer.most(self.model.about().profile),
            reply: self.limits.reply,
        }
    }

    /// Puts what was said into the session.
    async fn record(&mut self, upto: Upto) -> Result<(), Trouble> {
        let entries = self.entries(upto);
        self.written += entries.len();
        if !entries.is_empty() {
            self.shelf.append(entries).await?;
        }
        Ok(())
    }

    /// The messages of the run that are not in the session yet.
    fn entries(&mut self, upto: Upto) -> Vec<Entry> {
        let Some(run) = self.keeper.run() else { return Vec::new() };
        let mut messages = history(run);
        if matches!(upto, Upto::Said) && messages.last().is_some_and(|last| last.role == "user") {
            messages.pop();
        }
        let (epoch, id): (_, Arc<str>) = (self.keeper.epoch(), Arc::from(&**self.keeper.id()));
        let mut entries = Vec::new();
        for (place, message) in messages.into_iter().enumerate().skip(self.written) {
            let raw = (message.role == "assistant").then(|| self.said.take()).flatten();
            let raw = raw.filter(|(wire, body)| calls(body, *wire) == Some(called(&message)));
            let (wire, body) =
                raw.unwrap_or_else(|| (Wire::Anthropic, message.value().to_string()));
            entries.push(Entry {
                id: format!("{epoch}-{}", place + 1).into(),
                wire,
                body: body.into(),
                run: Some(id.clone()),
            });
        }
        entries
    }

    /// The one way out.
    async fn leave(&mut self, end: End) -> Result<Finished, Trouble> {
        if !self.keeper.is_over() {
            match end {
                End::Said => self.keeper.note(Body::Ended(Ended::default())),
                End::Refused => self.keeper.note(ended(Outcome::Refused)),
                End::Turns => self.keeper.note(ended(Outcome::MaxTurns)),
                End::Failed(problem) => {
                    let (outcome, problem) = (Some(Outcome::Failed), Some(problem));
                    self.keeper.note(Body::Ended(Ended { outcome, problem, ..Ended::default() }));
                }
                End::Stopped => self.keeper.note(Body::Stop(foxwedge_run::Stop { grace: 0 })),
            }
        }
        let entries = self.entries(Upto::Answered);
        let records = chained(&entries, self.shelf.tip());
        let finished = self.keeper.finish(records).await?;
        self.shelf.appended(entries);
        Ok(finished)
    }

    /// Whether the model does the same again and again.
    fn repeats(&mut self, calls: &[Called]) -> Option<Problem> {
        let run = self.keeper.run()?;
        let tools = run.tools().iter().filter(|tool| tool.turn() == self.turn);
        let answers: HashMap<&str, String> =
            tools.map(|tool| (&*tool.call, tool.told().raw().to_owned())).collect();
        let did: String = calls
            .iter()
            .map(|call| {
                let answer = answers.get(call.id.as_str()).map_or("", String::as_str);
                format!("{}\0{}\0{answer}\0", call.name, call.arguments)
            })
            .collect();
        self.before = match std::mem::take(&mut self.before) {
            (before, times) if before == did => (before, times + 1),
            _ => (did, 1),
        };
        (self.before.1 >= self.limits.repeats.max(2)).then(|| {
            let words = format!(
                "the model made the same calls {} times in a row and got the same answers",
                self.before.1
            );
            failure("repeated_calls", words)
        })
    }
}

/// Whether a request can be sent.
enum Fit {
    AsItIs,
    /// The conversation became shorter.
    Shorter,
    End(End),
}

/// How much of a turn is over.
#[derive(Clone, Copy)]
enum Upto {
    /// What the model said.
    Said,
    /// The answers, too.
    Answered,
}

fn ended(outcome: Outcome) -> Body {
    Body::Ended(Ended { outcome: Some(outcome), ..Ended::default() })
}

fn failure(code: &'static str, message: String) -> Problem {
    Problem { message, code: Some(code.into()), fatal: true }
}

/// The ids of the calls in a message of the history.
fn called(message: &foxwedge_run::Message) -> Vec<String> {
    let calls = message.content.iter().filter(|block| block["type"] == "tool_use");
    calls.filter_map(|block| block["id"].as_str().map(str::to_owned)).collect()
}
