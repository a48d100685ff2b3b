//! Sessions, runs and repairs over HTTP. Everybody sees his own, and an administrator everything:
//! what belongs to somebody else is as if it were not there.

mod ask;
pub(crate) mod shape;
mod lists;
mod one;
mod events;
mod follow;
mod stop;
pub(crate) mod answered;
mod answers;
mod repairs;
mod openapi;
#[cfg(test)]
mod tests;

use foxwedge_core::Wire;
use foxwedge_engine::{Fault, Kind};
use foxwedge_store::StoreError;
use http::{Method, StatusCode};
use serde_json::Value;

use crate::{
    Reply, error,
    outgoing::{JSON, Outgoing},
    routes::Call,
    serve::App,
};

pub(crate) use ask::is_id;
pub(crate) use openapi::openapi;

/// Answers a request for one of our own things; `None` if there is no such thing.
pub(crate) async fn route(app: &App, call: Call<'_>) -> Option<Reply> {
    let place = Place::find(call.path)?;
    let reply = match place.allows(call.method) {
        Ok(()) => answer(app, &call, place).await,
        Err(fault) => Err(fault),
    };
    Some(reply.unwrap_or_else(|fault| error::reply(&fault, Wire::OpenaiChat, call.id)))
}

/// One of our own things.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place<'p> {
    Sessions,
    Session(&'p str),
    Runs,
    Run(&'p str),
    Events(&'p str),
    Stop(&'p str),
    Answers(&'p str),
    Repairs,
    Repair(&'p str),
}

impl<'p> Place<'p> {
    fn find(path: &'p str) -> Option<Place<'p>> {
        let mut parts = path.strip_prefix("/v1/")?.split('/');
        let place = match (parts.next()?, parts.next(), parts.next()) {
            ("sessions", None, None) => Place::Sessions,
            ("sessions", Some(id), None) => Place::Session(id),
            ("runs", None, None) => Place::Runs,
            ("runs", Some(id), None) => Place::Run(id),
            ("runs", Some(id), Some("events")) => Place::Events(id),
            ("runs", Some(id), Some("stop")) => Place::Stop(id),
            ("runs", Some(id), Some("answers")) => Place::Answers(id),
            ("repairs", None, None) => Place::Repairs,
            ("repairs", Some(id), None) => Place::Repair(id),
            _ => return None,
        };
        parts.next().is_none().then_some(place)
    }

    fn allows(self, method: &Method) -> Result<(), Fault> {
        match (self, method) {
            (Place::Stop(_), &Method::POST) => Ok(()),
            (Place::Stop(_), _) => Err(error::method("POST")),
            (Place::Answers(_), &Method::GET | &Method::HEAD | &Method::POST) => Ok(()),
            (Place::Answers(_), _) => Err(error::method("GET and POST")),
            (
                Place::Sessions
                | Place::Session(_)
                | Place::Runs
                | Place::Run(_)
                | Place::Events(_)
                | Place::Repairs
                | Place::Repair(_),
                &Method::GET | &Method::HEAD,
            ) => Ok(()),
            (_, _) => Err(error::method("GET")),
        }
    }
}

async fn answer(app: &App, call: &Call<'_>, place: Place<'_>) -> Result<Reply, Fault> {
    match place {
        Place::Sessions => lists::sessions(app, call).await,
        Place::Session(id) => one::session(app, call, id).await,
        Place::Runs => lists::runs(app, call).await,
        Place::Run(id) => one::run(app, call, id).await,
        Place::Events(id) => events::events(app, call, id).await,
        Place::Stop(id) => stop::stop(app, call, id).await,
        Place::Answers(id) if call.method == Method::POST => answers::decide(app, call, id).await,
        Place::Answers(id) => answers::list(app, call, id).await,
        Place::Repairs => repairs::list(app, call),
        Place::Repair(id) => repairs::one(app, call, id),
    }
}

fn json(value: &Value) -> Reply {
    Outgoing::reply(StatusCode::OK, JSON, value.to_string())
}

/// Not there, or not the caller's: nobody can tell which.
fn unknown(what: &'static str) -> Fault {
    let (code, words) = match what {
        "session" => ("session_not_found", "no such session"),
        "run" => ("run_not_found", "no such run"),
        _ => ("repair_not_found", "no such repair"),
    };
    Fault::new(Kind::NotFound, code, words)
}

/// What a store could not do. Its words may name ids of others, and stay here.
pub(crate) fn trouble(error: StoreError) -> Fault {
    match error {
        StoreError::NoSession(_) => unknown("session"),
        StoreError::NoRun(_) => unknown("run"),
        StoreError::Unavailable(_) => {
            let mut fault =
                Fault::new(Kind::Unavailable, "store_unavailable", "the store cannot be reached");
            fault.retry_after = Some(1);
            fault
        }
        _ => Fault::new(Kind::Server, "store_failed", "the store could not do it"),
    }
}
