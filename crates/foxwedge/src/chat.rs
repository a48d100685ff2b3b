//! The agent in the terminal and over pipes: one conversation with a model that may use tools, kept
//! in the store from its first word on.
//!
//! [`Chat`] owns the loop and everything that can be asked of it. Who prints and who types is
//! decided elsewhere: `pipe` and `once` over pipes, `terminal` on a screen.

mod marks;
mod slash;
mod approval;
mod instructions;
mod lines;
mod document;
mod voice;
mod models;
mod sessions;
mod paper;
mod world;
mod desk;
mod commands;
mod drive;
mod input;
mod pipe;
mod once;
mod host;
mod terminal;
pub(crate) mod start;

use std::sync::Arc;

use foxwedge_core::Wire;
use foxwedge_engine::{
    model::Model,
    tool_loop::{Approver, Finished, Limits, Listener, LoopError, Setup, ToolLoop},
};
use foxwedge_store::{AnyStore, NewSession, Store};
use foxwedge_tools::Toolbox;

use self::{approval::Allowed, desk::Reception, models::Models, paper::Paper, sessions::Known};
use crate::{
    runs::{self, Kept},
    say::Trouble,
};

/// One conversation, and everything around it.
pub(crate) struct Chat {
    pub(crate) kept: Kept,
    models: Models,
    model: Arc<dyn Model>,
    tools: Toolbox,
    allowed: Allowed,
    approver: Arc<dyn Approver>,
    /// The folder that tools work in, as sessions remember it.
    folder: String,
    instructions: String,
    turns: Option<u32>,
    /// The flag that named the store, for commands that somebody may type next.
    store: Option<String>,
    session: Session,
    reception: Reception,
    last: Option<Finished>,
    /// What waits in the session that a command turned to, until somebody asks.
    turned: Option<Vec<String>>,
}

/// The session. It is made with the first prompt, so that one that was never used is never kept.
enum Session {
    New(String),
    Open(String, Box<ToolLoop<AnyStore>>),
}

/// What a conversation is made of.
pub(crate) struct Parts {
    pub(crate) kept: Kept,
    pub(crate) models: Models,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: Toolbox,
    pub(crate) allowed: Allowed,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) folder: String,
    pub(crate) instructions: String,
    pub(crate) turns: Option<u32>,
    pub(crate) store: Option<String>,
}

impl Chat {
    /// A conversation that has not begun.
    pub(crate) fn new(parts: Parts) -> Chat {
        let Parts { kept, models, model, tools, allowed, approver, folder, .. } = parts;
        Chat {
            kept,
            models,
            model,
            tools,
            allowed,
            approver,
            folder,
            instructions: parts.instructions,
            turns: parts.turns,
            store: parts.store,
            session: Session::New(sessions::fresh()),
            reception: Reception::default(),
            last: None,
            turned: None,
        }
    }

    /// The id of the session, which may not be there yet.
    pub(crate) fn session(&self) -> &str {
        match &self.session {
            Session::New(id) | Session::Open(id, _) => id,
        }
    }

    /// Whether anything was ever said in it.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.session, Session::New(_))
    }

    /// The model's name.
    pub(crate) fn model(&self) -> &str {
        &self.model.about().name
    }

    /// Stops what is at work, and keeps what waits; usable while a run is at work.
    pub(crate) fn reception(&self) -> Reception {
        self.reception.clone()
    }

    /// One run: the prompt, and whatever follows from it.
    pub(crate) async fn prompt(
        &mut self,
        prompt: &str,
        listener: &mut dyn Listener,
    ) -> anyhow::Result<Finished> {
        if let Session::New(id) = &self.session {
            let id = id.clone();
            self.open(&id, prompt).await?;
        }
        let Session::Open(_, tool_loop) = &mut self.session else { return Err(nothing()) };
        let finished = tool_loop.say(prompt, listener).await;
        self.finished(finished)
    }

    /// One run without a new prompt.
    pub(crate) async fn go_on(&mut self, listener: &mut dyn Listener) -> anyhow::Result<Finished> {
        let Session::Open(_, tool_loop) = &mut self.session else { return Err(nothing()) };
        let finished = tool_loop.go_on(listener).await;
        self.finished(finished)
    }

    /// Goes on with a session that is there, and tells what waits in it.
    pub(crate) async fn resume(&mut self, known: &Known) -> anyhow::Result<Vec<String>> {
        sessions::check_free(&self.kept, &known.id).await?;
        self.open(&known.id, &known.title).await
    }

    /// Goes on in a copy of this session, and tells what waits in it.
    pub(crate) async fn fork(&mut self) -> anyhow::Result<Vec<String>> {
        let Session::Open(old, tool_loop) = &self.session else { return Err(nothing()) };
        let row = self.kept.or_tell(self.kept.store.session(old).await)?;
        let title = row.map(|row| row.title).unwrap_or_default();
        let id = sessions::fresh();
        // What the list says about it is said before the copy is made: it may be another folder.
        let new = self.described(&id, &title);
        self.kept.or_tell(self.kept.store.create_session(new).await)?;
        tool_loop.fork(&id).await.map_err(|error| self.told(error))?;
        self.open(&id, &title).await
    }

    /// The conversation as a document; `None` if nothing was said yet.
    fn paper(&self) -> anyhow::Result<Option<Paper>> {
        let Session::Open(_, tool_loop) = &self.session else { return Ok(None) };
        let text = tool_loop.document(Wire::Anthropic).map_err(|error| self.told(error))?;
        Ok(Some(Paper(text)))
    }

    /// What waits for the end of a run, from a process that is gone.
    pub(crate) async fn queued(&self) -> anyhow::Result<Vec<String>> {
        match &self.session {
            Session::New(_) => Ok(Vec::new()),
            Session::Open(_, tool_loop) => {
                tool_loop.inbox().get().await.map_err(|error| self.told(error))
            }
        }
    }

    /// The command that goes on with this session.
    pub(crate) fn comeback(&self) -> Option<String> {
        let again = runs::again(self.store.as_deref());
        (!self.is_new()).then(|| format!("foxwedge chat --resume {}{again}", self.session()))
    }

    /// What a list says about a session.
    fn described(&self, id: &str, title: &str) -> NewSession {
        sessions::new(id, title, &self.folder, self.model())
    }

    /// Opens a session, and tells what waits in it.
    async fn open(&mut self, id: &str, title: &str) -> anyhow::Result<Vec<String>> {
        let NewSession { id: session, owner, title, meta } = self.described(id, title);
        let usual = Limits::default();
        let setup = Setup {
            session,
            owner,
            process: runs::me(),
            title,
            meta,
            instructions: self.instructions.clone(),
            limits: Limits { turns: self.turns.unwrap_or(usual.turns), ..usual },
        };
        let opened = ToolLoop::open(
            Arc::clone(&self.kept.store),
            setup,
            Arc::clone(&self.model),
            self.tools.clone(),
            Arc::clone(&self.approver),
        );
        let tool_loop = opened.await.map_err(|error| self.told(error))?;
        // From here on what is typed is kept in its place.
        let waiting = tool_loop.inbox().get().await.map_err(|error| self.told(error))?;
        self.reception.turn_to(&tool_loop);
        self.session = Session::Open(id.to_owned(), Box::new(tool_loop));
        self.last = None;
        Ok(waiting)
    }

    fn finished(&mut self, finished: Result<Finished, LoopError>) -> anyhow::Result<Finished> {
        let finished = finished.map_err(|error| self.told(error))?;
        self.last = Some(finished.clone());
        Ok(finished)
    }

    /// An error of the loop, for people.
    fn told(&self, error: LoopError) -> anyhow::Error {
        match error {
            LoopError::Store(error) => match self.kept.or_tell::<()>(Err(error)) {
                Err(error) => error,
                Ok(()) => nothing(),
            },
            LoopError::Busy { session, run, owner } => {
                sessions::busy(&session, &run, &runs::named(&owner)).into()
            }
            LoopError::Nothing => nothing(),
            error => Trouble::new(error.to_string()).into(),
        }
    }
}

fn nothing() -> anyhow::Error {
    Trouble::new("there is nothing to go on with").help("say something first").into()
}
