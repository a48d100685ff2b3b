//! Sessions, runs, repairs and operations on documents over HTTP. Users see their own, administrators see all. What belongs
//! to another owner is reported as not found.

mod lookup;
pub(crate) mod shape;
mod lists;
mod details;
mod events;
mod follow;
mod stop;
mod owner;
mod answers;
mod repairs;
mod documents;
mod openapi;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::{AllowedMethods, ApiError, ApiErrorKind};
use foxwedge_core::Format;
use foxwedge_store::StoreError;
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    HttpReply,
    api_request::ApiRequest,
    error,
    gateway_state::GatewayState,
    response_body::{JSON, ResponseBody},
    ui_chat,
};

use documents::DocumentOperation;
pub(crate) use lookup::is_id;
pub(crate) use openapi::openapi;

/// How long an answer may take. For events, which are a stream, the time until they begin.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Handles a request to the API; `None` if the path does not exist.
pub(crate) async fn route(app: &GatewayState, request: ApiRequest<'_>) -> Option<HttpReply> {
    let route = ApiRoute::find(request.path)?;
    let reply = match route.check_method(request.method) {
        Ok(()) if route.reads_store() => answer_in_time(answer(app, &request, route)).await,
        Ok(()) => answer(app, &request, route).await,
        Err(error) => Err(error),
    };
    Some(reply.unwrap_or_else(|error| error::reply(&error, Format::OpenaiChat, request.id)))
}

/// A route of the API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ApiRoute<'p> {
    Sessions,
    Session(&'p str),
    Runs,
    Run(&'p str),
    Events(&'p str),
    Stop(&'p str),
    Answers(&'p str),
    /// The open run of a chat of the AI SDK.
    Resume(&'p str),
    Repairs,
    Repair(&'p str),
    Document(DocumentOperation),
}

impl<'p> ApiRoute<'p> {
    fn find(path: &'p str) -> Option<ApiRoute<'p>> {
        if let Some(id) = ui_chat::resumed_chat(path) {
            return Some(ApiRoute::Resume(id));
        }
        let mut parts = path.strip_prefix("/v1/")?.split('/');
        let route = match (parts.next()?, parts.next(), parts.next()) {
            ("sessions", None, None) => ApiRoute::Sessions,
            ("sessions", Some(id), None) => ApiRoute::Session(id),
            ("runs", None, None) => ApiRoute::Runs,
            ("runs", Some(id), None) => ApiRoute::Run(id),
            ("runs", Some(id), Some("events")) => ApiRoute::Events(id),
            ("runs", Some(id), Some("stop")) => ApiRoute::Stop(id),
            ("runs", Some(id), Some("answers")) => ApiRoute::Answers(id),
            ("repairs", None, None) => ApiRoute::Repairs,
            ("repairs", Some(id), None) => ApiRoute::Repair(id),
            (name, None, None) => ApiRoute::Document(DocumentOperation::find(name)?),
            _ => return None,
        };
        parts.next().is_none().then_some(route)
    }

    /// Whether the answer depends on the store. A long document may take longer than the store.
    fn reads_store(self) -> bool {
        match self {
            ApiRoute::Sessions
            | ApiRoute::Session(_)
            | ApiRoute::Runs
            | ApiRoute::Run(_)
            | ApiRoute::Events(_)
            | ApiRoute::Stop(_)
            | ApiRoute::Answers(_)
            | ApiRoute::Resume(_) => true,
            ApiRoute::Repairs | ApiRoute::Repair(_) | ApiRoute::Document(_) => false,
        }
    }

    fn check_method(self, method: &Method) -> Result<(), ApiError> {
        match (self, method) {
            (ApiRoute::Stop(_) | ApiRoute::Document(_), &Method::POST) => Ok(()),
            (ApiRoute::Stop(_) | ApiRoute::Document(_), _) => {
                Err(error::method_not_allowed(AllowedMethods::Post))
            }
            (ApiRoute::Answers(_), &Method::GET | &Method::HEAD | &Method::POST) => Ok(()),
            (ApiRoute::Answers(_), _) => Err(error::method_not_allowed(AllowedMethods::GetPost)),
            (
                ApiRoute::Sessions
                | ApiRoute::Session(_)
                | ApiRoute::Runs
                | ApiRoute::Run(_)
                | ApiRoute::Events(_)
                | ApiRoute::Resume(_)
                | ApiRoute::Repairs
                | ApiRoute::Repair(_),
                &Method::GET | &Method::HEAD,
            ) => Ok(()),
            (_, _) => Err(error::method_not_allowed(AllowedMethods::Get)),
        }
    }
}

/// Waits for an answer that needs the store. A store that is frozen answers nothing, and reports no
/// error.
async fn answer_in_time<T>(
    answer: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    timeout(ANSWER_TIMEOUT, answer).await.unwrap_or_else(|_| {
        let message = format!(
            "the store did not answer within {} seconds: check that the database which `store` names \
             is running and can be reached",
            ANSWER_TIMEOUT.as_secs()
        );
        Err(unavailable_store(message))
    })
}

async fn answer(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    route: ApiRoute<'_>,
) -> Result<HttpReply, ApiError> {
    match route {
        ApiRoute::Sessions => lists::sessions(app, request).await,
        ApiRoute::Session(id) => details::session(app, request, id).await,
        ApiRoute::Runs => lists::runs(app, request).await,
        ApiRoute::Run(id) => details::run(app, request, id).await,
        ApiRoute::Events(id) => events::events(app, request, id).await,
        ApiRoute::Resume(id) => events::resume(app, request, id).await,
        ApiRoute::Stop(id) => stop::stop(app, request, id).await,
        ApiRoute::Answers(id) if request.method == Method::POST => {
            answers::decide(app, request, id).await
        }
        ApiRoute::Answers(id) => answers::list(app, request, id).await,
        ApiRoute::Repairs => repairs::list(app, request),
        ApiRoute::Repair(id) => repairs::one(app, request, id),
        ApiRoute::Document(operation) => documents::call(app, request, operation).await,
    }
}

fn json_reply(value: &Value) -> HttpReply {
    ResponseBody::reply(StatusCode::OK, JSON, value.to_string())
}

/// The error for a missing object and for one of another owner: both look the same.
fn not_found(what: &'static str) -> ApiError {
    let (code, message) = match what {
        "session" => ("session_not_found", "no such session"),
        "run" => ("run_not_found", "no such run"),
        _ => ("repair_not_found", "no such repair"),
    };
    ApiError::new(ApiErrorKind::NotFound, code, message)
}

/// Converts a store error. Its message may name ids of other owners and is dropped.
pub(crate) fn store_error(error: StoreError) -> ApiError {
    match error {
        StoreError::NoSession(_) => not_found("session"),
        StoreError::NoRun(_) => not_found("run"),
        StoreError::Unavailable(_) => unavailable_store("the store cannot be reached".to_owned()),
        _ => ApiError::new(ApiErrorKind::Server, "store_failed", "the store operation failed"),
    }
}

fn unavailable_store(message: String) -> ApiError {
    let mut error = ApiError::new(ApiErrorKind::Unavailable, "store_unavailable", message);
    error.retry_after = Some(1);
    error
}
