//! The tool loop: asks a model, runs the tools it calls, tells it the answers, until it is done or
//! somebody stops it. Whatever happens in between, the history stays valid and nothing finished is
//! lost.
//!
//! Everything is kept before anybody sees it, and everything goes through the run machine. What is
//! left when a process dies is what the store holds, and the next start reads that: starting and
//! going on are one path.

mod settings;
mod listener;
mod error;
mod handle;
mod inbox;
mod live;
mod entry;
mod shelf;
mod context;
mod plan;
mod work;
mod answers;
mod keeper;
mod shorten;
mod offer;
mod drive;

use std::sync::Arc;

use foxwedge_core::Wire;
use foxwedge_dialect::convert::Options;
use foxwedge_run::{Body, Ended, Outcome, Started as Start, Summary};
use foxwedge_store::{
    Authority, Filter, NewRun, NewSession, Page, RunRow, Started, Store, StoreError, close, limits,
    process,
};
use foxwedge_tools::Toolbox;
use serde_json::json;
use tokio::task::spawn_blocking;

pub use entry::Entry;
pub use error::LoopError;
pub use handle::{Handle, Pressed};
pub use inbox::Inbox;
pub use listener::{
    Approver, Asking, Decision, Everything, Listener, Note, ReadingOnly, Silent, Told,
};
pub use settings::{Limits, Setup};

use crate::{Change, CountedList, guard::changes, model::Model};
use context::Context;
use drive::{Drive, Gear};
use keeper::{Keeper, now};
use live::Live;
use offer::ToolOffer;
use shelf::{Anew, Shelf};
use shorten::{Shortener, Shortening};

/// How many runs of a session may be open at once before somebody looks at them.
const OPEN: usize = 100;

/// How long a run of somebody else is ours while it is closed, in milliseconds.
const TAKEN: u64 = 5_000;

/// An agent on one session: a model, its tools, and the conversation in a store.
pub struct ToolLoop<S> {
    setup: Setup,
    model: Arc<dyn Model>,
    tools: Toolbox,
    approver: Arc<dyn Approver>,
    shelf: Shelf<S>,
    shortener: Shortener,
    handle: Handle,
    offer: ToolOffer,
}

/// A run that is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// The run.
    pub run: String,
    /// How it ended.
    pub ended: Ended,
    /// In numbers.
    pub summary: Summary,
}

/// How a conversation is to be made shorter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    /// What a person wants to be kept.
    pub focus: Option<String>,
}

/// What became of a wish to make a conversation shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compaction {
    /// It is shorter.
    Shorter {
        /// Tokens before.
        before: u64,
        /// Tokens now.
        after: u64,
    },
    /// It is as short as it can be.
    NothingToGain,
    /// Somebody stopped it: it is as it was.
    Stopped,
}

impl<S: Store> ToolLoop<S> {
    /// Opens a session, or makes it. Runs whose process is gone are closed, and what is wrong with
    /// the conversation is repaired for good.
    ///
    /// # Errors
    /// If the store cannot be used, or somebody else works on the session.
    pub async fn open(
        store: Arc<S>,
        setup: Setup,
        model: Arc<dyn Model>,
        tools: Toolbox,
        approver: Arc<dyn Approver>,
    ) -> Result<ToolLoop<S>, LoopError> {
        let new = NewSession {
            id: setup.session.clone(),
            owner: setup.owner.clone(),
            title: setup.title.clone(),
            meta: Some(setup.meta.clone().unwrap_or_else(|| json!({ "kind": "chat" }).to_string())),
        };
        store.create_session(new).await?;
        let shelf = Shelf::new(store, &setup.session);
        let (shortener, handle) = (Shortener::default(), Handle::default());
        let offer = ToolOffer::default();
        let mut this = ToolLoop { setup, model, tools, approver, shelf, shortener, handle, offer };
        this.alone(None).await?;
        this.shelf.load().await?;
        this.repair().await?;
        Ok(this)
    }

    /// Interrupts what is at work, from another task.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Where input waits while a run is at work.
    pub fn inbox(&self) -> Inbox<S> {
        Inbox::new(self.shelf.store.clone(), self.shelf.session.clone())
    }

    /// Says something to the model: one run, until it is done, a limit is reached, somebody stops it
    /// or something goes wrong. However it ends, the conversation is valid, and it is kept.
    ///
    /// # Errors
    /// If the store fails, somebody else works on the session, or there is nothing to say.
    pub async fn say(
        &mut self,
        prompt: &str,
        listener: &mut dyn Listener,
    ) -> Result<Finished, LoopError> {
        if prompt.trim().is_empty() {
            return Err(LoopError::Nothing);
        }
        let body = json!({ "role": "user", "content": prompt }).to_string();
        if body.len() > limits::RECORD_BYTES {
            let (bytes, most) = (body.len(), limits::RECORD_BYTES);
            return Err(LoopError::TooLarge { what: "the prompt", bytes, most });
        }
        self.run(Some(body), listener).await
    }

    /// Goes on with what is there: after a crash, an error or a stop.
    ///
    /// # Errors
    /// As [`ToolLoop::say`]; if the model has had the last word, there is nothing to go on with.
    pub async fn go_on(&mut self, listener: &mut dyn Listener) -> Result<Finished, LoopError> {
        self.shelf.refresh().await?;
        if !context::is_open(&self.shelf.entries) {
            return Err(LoopError::Nothing);
        }
        self.run(None, listener).await
    }

    /// Makes the conversation shorter now. What was there before stays in the store.
    ///
    /// # Errors
    /// If the store fails, or the history cannot be made shorter; it then stays as it is.
    pub async fn compact(
        &mut self,
        wish: Wish,
        listener: &mut dyn Listener,
    ) -> Result<Compaction, LoopError> {
        let busy = self.handle.begin();
        self.alone(None).await?;
        self.shelf.refresh().await?;
        let context = self.context();
        let body = context.compose(&self.shelf.entries)?.body;
        let (question, limits) = (context.question(), &self.setup.limits);
        let about = self.model.about();
        let load = self.shortener.judge(&body, about, question, limits, Shortening::Wanted);
        let Some(load) = load else { return Ok(Compaction::NothingToGain) };
        listener.told(Told::Note(Note::Compacting));
        let shorten = self.shortener.shorten(load, &self.model, wish.focus, busy.stop.clone());
        let mut stop = busy.stop.clone();
        let shortened = tokio::select! {
            biased;
            () = stop.reached(foxwedge_tools::Stage::Asked) => return Ok(Compaction::Stopped),
            shortened = shorten => shortened,
        };
        let shorter = match shortened {
            Ok(Some(shorter)) if shorter.after < shorter.before => shorter,
            Ok(_) => return Ok(Compaction::NothingToGain),
            Err(failed) => return Err(LoopError::Compaction(failed.why)),
        };
        let messages = self.context().messages(&shorter.body)?;
        let (before, after) = (shorter.before, shorter.after);
        self.shelf.anew(Anew::Compacted(before, after), messages, "base", None).await?;
        listener.told(Told::Note(Note::Compacted(before, after)));
        Ok(Compaction::Shorter { before, after })
    }

    /// Takes the last prompt back, and everything behind it: returns what it said. Nothing is deleted.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn undo(&mut self) -> Result<Option<String>, LoopError> {
        self.alone(None).await?;
        self.shelf.refresh().await?;
        let entries = self.shelf.entries.iter().enumerate().rev();
        let mut prompts = entries.filter_map(|(place, it)| Some((place, context::prompt(it)?)));
        let Some((place, prompt)) = prompts.next() else { return Ok(None) };
        self.shelf.rewind(place).await?;
        Ok(Some(prompt))
    }

    /// Copies the conversation into a new session.
    ///
    /// # Errors
    /// If the store fails, or there is such a session.
    pub async fn fork(&self, session: &str) -> Result<(), LoopError> {
        let store = &self.shelf.store;
        let row = store.session(&self.shelf.session).await?;
        let (title, meta) = row.map(|row| (row.title, row.meta)).unwrap_or_default();
        let owner = self.setup.owner.clone();
        store.create_session(NewSession { id: session.to_owned(), owner, title, meta }).await?;
        let mut copy = Shelf::new(store.clone(), session);
        copy.load().await?;
        if copy.tip().is_some() {
            return Err(LoopError::Untold(format!("session `{session}` is there already")));
        }
        let entries = self.shelf.entries.iter();
        let messages = entries.map(|entry| (entry.wire, entry.body.to_string())).collect();
        copy.anew(Anew::Forked(&self.shelf.session), messages, "base", None).await
    }

    /// The conversation as a request in a format, with instructions and tools.
    ///
    /// # Errors
    /// If it cannot be told in that format.
    pub fn document(&self, wire: Wire) -> Result<String, LoopError> {
        let options = match wire == self.model.about().wire {
            true => Options { profile: Some(self.model.about().profile), ..Options::default() },
            false => Options::default(),
        };
        Ok(self.context().compose_as(&self.shelf.entries, wire, options)?.body)
    }

    /// How many tokens the conversation takes, with instructions and tools; `None` if nobody knows.
    pub fn tokens(&self) -> Option<u64> {
        let body = self.context().compose(&self.shelf.entries).ok()?.body;
        self.shortener.weigh(&body, self.model.about())
    }

    /// The conversation.
    pub fn history(&self) -> &[Entry] {
        &self.shelf.entries
    }

    /// The session.
    pub fn session(&self) -> &str {
        &self.shelf.session
    }

    /// Who is asked.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// Asks another model from now on.
    pub fn set_model(&mut self, model: Arc<dyn Model>) {
        self.model = model;
        self.offer = ToolOffer::default();
    }

    /// What may be called.
    pub fn tools(&self) -> &Toolbox {
        &self.tools
    }

    /// Offers other tools from now on.
    pub fn set_tools(&mut self, tools: Toolbox) {
        self.tools = tools;
    }

    async fn run(
        &mut self,
        prompt: Option<String>,
        listener: &mut dyn Listener,
    ) -> Result<Finished, LoopError> {
        let busy = self.handle.begin();
        self.alone(None).await?;
        self.shelf.refresh().await?;
        let start = Start {
            session: Some(self.setup.session.as_str().into()),
            agent: Some("foxwedge".into()),
            model: Some((&*self.model.about().name).into()),
            ..Start::default()
        };
        let new = NewRun {
            id: fresh_id(),
            session: self.setup.session.clone(),
            key: None,
            owner: self.setup.process.clone(),
            ttl: u64::try_from(self.setup.limits.lease.as_millis()).unwrap_or(u64::MAX),
            start: start.clone(),
            at: Some(now()),
        };
        let live = Live::new(&new.id);
        let (row, lease) = match self.shelf.store.start_run(new).await? {
            Started::New { run, lease } => (run, lease),
            Started::Existing(run) => return Err(self.is_busy(&run)),
        };
        // Two may have started at the same moment: the first one stays.
        if let Err(error) = self.alone(Some(&row)).await {
            let (store, authority) = (&*self.shelf.store, Authority::Holder(lease));
            close(store, &row.id, ending(Outcome::Replaced), authority).await?;
            return Err(error);
        }
        if let Some(body) = prompt {
            self.shelf
                .append(vec![Entry {
                    id: format!("{}-0", row.epoch).into(),
                    wire: Wire::Anthropic,
                    body: body.into(),
                    run: Some(row.id.as_str().into()),
                }])
                .await?;
        }
        let keeper = Keeper::new(self.shelf.store.clone(), &row, lease, start, listener);
        let gear = Gear {
            model: self.model.clone(),
            tools: &self.tools,
            approver: &self.approver,
            instructions: &self.setup.instructions,
            limits: self.setup.limits,
            stop: busy.stop.clone(),
            shortener: &self.shortener,
            offer: &mut self.offer,
        };
        let finished = Drive::new(keeper, &mut self.shelf, gear).run().await;
        drop(live);
        finished
    }

    /// Makes sure that nobody else works on the session: closes what dead processes left open. Of
    /// two runs the older one has the right.
    async fn alone(&self, mine: Option<&RunRow>) -> Result<(), LoopError> {
        let session = Some(self.setup.session.clone());
        let of = Filter { session, open: Some(true), ..Filter::default() };
        let store = &*self.shelf.store;
        for run in store.runs(of, Page { after: None, limit: OPEN }).await? {
            if mine.is_some_and(|mine| run.epoch >= mine.epoch) {
                continue;
            }
            let owner = run.lease.as_ref().map_or("", |lease| lease.owner.as_str());
            let dead = process::is_gone(owner);
            if dead {
                // Whoever was killed could not end what its tools had started.
                let _ = spawn_blocking(foxwedge_tools::end_orphans).await;
            }
            let authority = match dead || live::is_left_by_us(owner, &run.id) {
                true => Authority::Operator,
                false => match store.take_over(&run.id, &self.setup.process, TAKEN).await? {
                    Some(lease) => Authority::Holder(lease),
                    None => return Err(self.is_busy(&run)),
                },
            };
            match close(store, &run.id, ending(Outcome::Interrupted), authority).await {
                // Somebody else was faster, or deleted it.
                Ok(_) | Err(StoreError::Ended(_) | StoreError::NoRun(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn is_busy(&self, run: &RunRow) -> LoopError {
        let owner = run.lease.as_ref().map_or("nobody", |lease| lease.owner.as_str());
        LoopError::Busy {
            session: self.setup.session.clone(),
            run: run.id.clone(),
            owner: owner.to_owned(),
        }
    }

    /// Repairs the conversation for good, if a provider would refuse it.
    async fn repair(&mut self) -> Result<CountedList<Change>, LoopError> {
        if self.shelf.entries.is_empty() {
            return Ok(CountedList::default());
        }
        let composed = self.context().compose(&self.shelf.entries)?;
        if composed.edits.is_empty() {
            return Ok(CountedList::default());
        }
        let messages = self.context().messages(&composed.body)?;
        self.shelf.anew(Anew::Repaired, messages, "base", None).await?;
        Ok(changes(composed.edits))
    }

    fn context(&self) -> Context<'_> {
        Context {
            about: self.model.about(),
            instructions: &self.setup.instructions,
            tools: &self.tools,
            most_tools: self.offer.most(self.model.about().profile),
            reply: self.setup.limits.reply,
        }
    }
}

fn ending(outcome: Outcome) -> Body {
    Body::Ended(Ended { outcome: Some(outcome), ..Ended::default() })
}

/// An id that nobody has.
fn fresh_id() -> String {
    let (one, two) = (getrandom::u64().unwrap_or_default(), getrandom::u64().unwrap_or_default());
    format!("run_{:012x}{one:016x}{:04x}", now(), two & 0xffff)
}
