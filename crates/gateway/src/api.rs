//! Sessions, runs and repairs over HTTP. Everybody sees his own, and an administrator everything:
//! what belongs to somebody else is as if it were not there.

mod lookup;
pub(crate) mod shape;
mod lists;
mod details;
mod events;
mod follow;
mod stop;
pub(crate) mod decisions;
mod answers;
mod repairs;
mod openapi;
#[cfg(test)]
mod tests;

use foxwedge_core::Format;
use foxwedge_engine::{ApiError, ApiErrorKind};
use foxwedge_store::StoreError;
use http::{Method, StatusCode};
use serde_json::Value;

use crate::{
    HttpReply, error,
    response_body::{JSON, ResponseBody},
    routes::ApiRequest,
    serve::GatewayState,
};

pub(crate) use lookup::is_id;
pub(crate) use openapi::openapi;

/// Answers a request for one of our own things; `None` if there is no such thing.
pub(crate) async fn route(app: &GatewayState, call: ApiRequest<'_>) -> Option<HttpReply> {
    let place = ApiRoute::find(call.path)?;
    let reply = match place.check_method(call.method) {
        Ok(()) => answer(app, &call, place).await,
        Err(fault) => Err(fault),
    };
    Some(reply.unwrap_or_else(|fault| error::reply(&fault, Format::OpenaiChat, call.id)))
}

/// One of our own things.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ApiRoute<'p> {
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

impl<'p> ApiRoute<'p> {
    fn find(path: &'p str) -> Option<ApiRoute<'p>> {
        let mut parts = path.strip_prefix("/v1/")?.split('/');
        let place = match (parts.next()?, parts.next(), parts.next()) {
            ("sessions", None, None) => ApiRoute::Sessions,
            ("sessions", Some(id), None) => ApiRoute::Session(id),
            ("runs", None, None) => ApiRoute::Runs,
            ("runs", Some(id), None) => ApiRoute::Run(id),
            ("runs", Some(id), Some("events")) => ApiRoute::Events(id),
            ("runs", Some(id), Some("stop")) => ApiRoute::Stop(id),
            ("runs", Some(id), Some("answers")) => ApiRoute::Answers(id),
            ("repairs", None, None) => ApiRoute::Repairs,
            ("repairs", Some(id), None) => ApiRoute::Repair(id),
            _ => return None,
        };
        parts.next().is_none().then_some(place)
    }

    fn check_method(self, method: &Method) -> Result<(), ApiError> {
        match (self, method) {
            (ApiRoute::Stop(_), &Method::POST) => Ok(()),
            (ApiRoute::Stop(_), _) => Err(error::method_not_allowed("POST")),
            (ApiRoute::Answers(_), &Method::GET | &Method::HEAD | &Method::POST) => Ok(()),
            (ApiRoute::Answers(_), _) => Err(error::method_not_allowed("GET and POST")),
            (
                ApiRoute::Sessions
                | ApiRoute::Session(_)
                | ApiRoute::Runs
                | ApiRoute::Run(_)
                | ApiRoute::Events(_)
                | ApiRoute::Repairs
                | ApiRoute::Repair(_),
                &Method::GET | &Method::HEAD,
            ) => Ok(()),
            (_, _) => Err(error::method_not_allowed("GET")),
        }
    }
}

async fn answer(
    app: &GatewayState,
    call: &ApiRequest<'_>,
    place: ApiRoute<'_>,
) -> Result<HttpReply, ApiError> {
    match place {
        ApiRoute::Sessions => lists::sessions(app, call).await,
        ApiRoute::Session(id) => details::session(app, call, id).await,
        ApiRoute::Runs => lists::runs(app, call).await,
        ApiRoute::Run(id) => details::run(app, call, id).await,
        ApiRoute::Events(id) => events::events(app, call, id).await,
        ApiRoute::Stop(id) => stop::stop(app, call, id).await,
        ApiRoute::Answers(id) if call.method == Method::POST => {
            answers::decide(app, call, id).await
        }
        ApiRoute::Answers(id) => answers::list(app, call, id).await,
        ApiRoute::Repairs => repairs::list(app, call),
        ApiRoute::Repair(id) => repairs::one(app, call, id),
    }
}

fn json_reply(value: &Value) -> HttpReply {
    ResponseBody::reply(StatusCode::OK, JSON, value.to_string())
}

/// Not there, or not the caller's: nobody can tell which.
fn not_found(what: &'static str) -> ApiError {
    let (code, words) = match what {
        "session" => ("session_not_found", "no such session"),
        "run" => ("run_not_found", "no such run"),
        _ => ("repair_not_found", "no such repair"),
    };
    ApiError::new(ApiErrorKind::NotFound, code, words)
}

/// What a store could not do. Its words may name ids of others, and stay here.
pub(crate) fn store_error(error: StoreError) -> ApiError {
    match error {
        StoreError::NoSession(_) => not_found("session"),
        StoreError::NoRun(_) => not_found("run"),
        StoreError::Unavailable(_) => {
            let mut fault = ApiError::new(
                ApiErrorKind::Unavailable,
                "store_unavailable",
                "the store cannot be reached",
            );
            fault.retry_after = Some(1);
            fault
        }
        _ => ApiError::new(ApiErrorKind::Server, "store_failed", "the store could not do it"),
    }
}
