//! The console: a page, and what it shows. The page and its files say nothing and are for anybody;
//! what they ask for is answered here, below `/v1/console`.
//!
//! Nothing here reads a session file of an agent: a [`Machine`] does, and is asked in the name of
//! an administrator who sits at this very machine, or not at all.

mod machine;
mod ask;
mod shelf;
mod place;
mod about;
mod sessions;
mod files;
mod watch;
mod feed;
mod stream;
mod series;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::SystemTime};

use foxwedge_core::Wire;
use foxwedge_engine::Fault;
use http::StatusCode;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::{
    Reply, error,
    outgoing::{JSON, Outgoing},
    routes::Call,
    serve::App,
};

pub use machine::{
    Cut, Health, Listed, Looked, Machine, Only, Page, Refusal, Scan, SessionFile, Subject, Wish,
};
pub(crate) use place::Place;
pub(crate) use shelf::{file, has};
pub(crate) use watch::{Seen, Watch};

/// How many may make the machine work at the same time: a session can be large.
const AT_WORK: usize = 2;

/// What the console shows beside what is stored.
pub(crate) struct Console {
    /// What was asked of this process.
    pub(crate) watch: Arc<Watch>,
    /// The machine that we run on, if it may be looked at.
    machine: Option<Arc<dyn Machine>>,
    permits: Arc<Semaphore>,
    /// When this process began to serve, in milliseconds since 1970.
    started: u64,
}

impl Console {
    /// A console over a machine, or over none.
    pub(crate) fn new(machine: Option<Arc<dyn Machine>>) -> Console {
        let permits = Arc::new(Semaphore::new(AT_WORK));
        let started = watch::milliseconds(SystemTime::now());
        Console { watch: Arc::new(Watch::new()), machine, permits, started }
    }
}

/// Answers a request of the console; `None` if there is no such thing.
pub(crate) async fn route(app: &App, call: Call<'_>) -> Option<Reply> {
    let place = Place::find(call.path)?;
    let reply = match place.allows(call.method) {
        Ok(()) => answer(app, &call, place).await,
        Err(fault) => Err(fault),
    };
    Some(reply.unwrap_or_else(|fault| error::reply(&fault, Wire::OpenaiChat, call.id)))
}

async fn answer(app: &App, call: &Call<'_>, place: Place<'_>) -> Result<Reply, Fault> {
    match place {
        Place::About => Ok(about::about(app, call)),
        Place::Rule(code) => about::rule(code),
        Place::Sessions => sessions::list(app, call).await,
        Place::File(id, what) => files::answer(app, call, id, what).await,
        Place::Compaction => files::compaction(app, call).await,
        Place::Feed => feed::list(app, call),
        Place::Request(id) => feed::one(app, call, id),
        Place::Stream => stream::follow(app, call),
        Place::Series => series::answer(app, call),
    }
}

fn json(value: &Value) -> Reply {
    Outgoing::reply(StatusCode::OK, JSON, value.to_string())
}
