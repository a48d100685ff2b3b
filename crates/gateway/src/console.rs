//! The console: a web page and its API below `/v1/console`. The page and its files are public; the
//! API is not.
//!
//! Session files are read and repaired by [`foxwedge_local::console`], and only for an administrator
//! on this machine.

mod request;
mod assets;
mod routes;
mod about;
mod sessions;
mod files;
mod feed;
mod stream;
mod series;
#[cfg(test)]
mod tests;

use crate::ApiError;
use foxwedge_core::Format;
use foxwedge_local::language::ReaderLanguage;
use http::StatusCode;
use serde_json::Value;

use crate::{
    HttpReply,
    api_request::ApiRequest,
    error,
    gateway_state::GatewayState,
    response_body::{JSON, ResponseBody},
};

pub(crate) use assets::{asset_reply, has_asset};
pub(crate) use routes::ConsoleRoute;

/// Handles a request to the console API; `None` if the path does not exist.
pub(crate) async fn route(app: &GatewayState, request: ApiRequest<'_>) -> Option<HttpReply> {
    let route = ConsoleRoute::find(request.path)?;
    let reply = match route.check_method(request.method) {
        Ok(()) => answer(app, &request, route).await,
        Err(error) => Err(error),
    };
    Some(reply.unwrap_or_else(|mut error| {
        error.message = reader_language(&request).localize(error.message).into_owned();
        error::reply(&error, Format::OpenaiChat, request.id)
    }))
}

/// The language that the request asks for: in `lang`, or as browsers do.
fn reader_language(request: &ApiRequest<'_>) -> ReaderLanguage {
    let parameter = request.parameter("lang").ok().flatten();
    let header = || request.headers.get(http::header::ACCEPT_LANGUAGE)?.to_str().ok();
    parameter.as_deref().or_else(header).map_or(ReaderLanguage::English, ReaderLanguage::parse)
}

/// Replaces the texts under this key, if there are any, by those for the reader.
fn localize_texts(language: ReaderLanguage, object: &mut Value, key: &str) {
    let localize = |value: &mut Value| {
        if let Value::String(text) = value {
            *text = language.localize(std::mem::take(text)).into_owned();
        }
    };
    match object.get_mut(key) {
        Some(Value::Array(list)) => list.iter_mut().for_each(localize),
        Some(value) => localize(value),
        None => {}
    }
}

async fn answer(
    app: &GatewayState,
    http_request: &ApiRequest<'_>,
    route: ConsoleRoute<'_>,
) -> Result<HttpReply, ApiError> {
    match route {
        ConsoleRoute::About => Ok(about::about(app, http_request)),
        ConsoleRoute::Rule(code) => about::rule(code, http_request),
        ConsoleRoute::Sessions => sessions::list(app, http_request).await,
        ConsoleRoute::File(id, file_route) => {
            files::answer(app, http_request, id, file_route).await
        }
        ConsoleRoute::Compaction => files::compaction(app, http_request).await,
        ConsoleRoute::Feed => feed::list(app, http_request),
        ConsoleRoute::Request(id) => feed::one(app, http_request, id),
        ConsoleRoute::Stream => stream::follow(app, http_request),
        ConsoleRoute::Series => series::answer(app, http_request),
    }
}

fn json_reply(value: &Value) -> HttpReply {
    ResponseBody::reply(StatusCode::OK, JSON, value.to_string())
}
