//! The routes of the gateway.

use crate::{
    AllowedMethods, ApiError, GatewayEndpoint, endpoint::split_method, metrics::MetricRoute,
};
use foxwedge_run::encode::UiFormat;
use http::Method;

use crate::{console, error, forward, ui_chat};

/// The route of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GatewayRoute {
    /// A provider-compatible endpoint.
    Endpoint(GatewayEndpoint),
    /// `GET /v1/models` and `/v1/models/{name}`, also below `/v1beta`.
    Models,
    /// `POST /v1/ui/agui` and `/v1/ui/ai-sdk`: chats of user interfaces.
    UiChat(UiFormat),
    /// Other endpoints of providers, which are forwarded as they are.
    Forwarded,
    /// Sessions, runs, repairs, and operations on documents.
    Api,
    /// The API of the console.
    Console,
    /// `GET /health` and its variants.
    Health(HealthProbe),
    /// `GET /metrics`.
    Metrics,
    /// `GET /openapi.json`.
    OpenApi,
    /// `GET /`, `/ui`, and the files of the console page.
    Page,
    /// `OPTIONS`: a CORS preflight request.
    Preflight,
}

/// What a health probe checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HealthProbe {
    /// Whether the process runs.
    Live,
    /// Whether the server accepts requests.
    Ready,
}

/// Whether a route requires a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AuthRequirement {
    /// A valid token is required.
    Token,
    /// No token is required: the reply holds nothing private.
    Public,
}

impl GatewayRoute {
    /// Finds the route for a method and a path.
    ///
    /// # Errors
    /// If the path does not exist or does not allow the method.
    pub(crate) fn find(method: &Method, path: &str) -> Result<GatewayRoute, ApiError> {
        if method == Method::OPTIONS {
            return Ok(GatewayRoute::Preflight);
        }
        let with_model = GatewayEndpoint::with_model(path).map(|(endpoint, _)| endpoint);
        let route = match with_model {
            Some(endpoint) => GatewayRoute::Endpoint(endpoint),
            None => GatewayRoute::without_model(path)?,
        };
        match (route, method) {
            (GatewayRoute::Api | GatewayRoute::Console, _) => Ok(route),
            (GatewayRoute::Forwarded, &Method::GET | &Method::POST | &Method::DELETE) => Ok(route),
            (GatewayRoute::Forwarded, _) => {
                Err(error::method_not_allowed(AllowedMethods::GetPostDelete))
            }
            (GatewayRoute::Endpoint(_) | GatewayRoute::UiChat(_), &Method::POST) => Ok(route),
            (GatewayRoute::Endpoint(_) | GatewayRoute::UiChat(_), _) => {
                Err(error::method_not_allowed(AllowedMethods::Post))
            }
            (_, &Method::GET | &Method::HEAD) => Ok(route),
            (GatewayRoute::Models, &Method::POST) if names_method(path) => {
                Err(error::unknown_model_method())
            }
            (_, _) => Err(error::method_not_allowed(AllowedMethods::Get)),
        }
    }

    /// Finds the route of a path that names no model for an operation.
    fn without_model(path: &str) -> Result<GatewayRoute, ApiError> {
        if let Some(format) = ui_chat::format_of(path) {
            return Ok(GatewayRoute::UiChat(format));
        }
        Ok(match path {
            "/v1/chat/completions" => GatewayRoute::Endpoint(GatewayEndpoint::Chat),
            "/v1/responses" => GatewayRoute::Endpoint(GatewayEndpoint::Responses),
            "/v1/messages" => GatewayRoute::Endpoint(GatewayEndpoint::Messages),
            "/v1/messages/count_tokens" => GatewayRoute::Endpoint(GatewayEndpoint::CountTokens),
            "/v1beta/interactions" => GatewayRoute::Endpoint(GatewayEndpoint::Interactions),
            "/v1/models" | "/v1beta/models" => GatewayRoute::Models,
            "/health" | "/readiness" | "/health/readiness" => {
                GatewayRoute::Health(HealthProbe::Ready)
            }
            "/liveness" | "/health/liveness" => GatewayRoute::Health(HealthProbe::Live),
            "/metrics" => GatewayRoute::Metrics,
            "/openapi.json" => GatewayRoute::OpenApi,
            path if console::has_asset(path) => GatewayRoute::Page,
            path if forward::is_forwarded(path) => GatewayRoute::Forwarded,
            path if path.starts_with("/v1/models/") || path.starts_with("/v1beta/models/") => {
                GatewayRoute::Models
            }
            path if ui_chat::resumed_chat(path).is_some() => GatewayRoute::Api,
            path if is_under(path, "/v1/console") => GatewayRoute::Console,
            path if API.iter().any(|prefix| is_under(path, prefix)) => GatewayRoute::Api,
            _ => return Err(error::not_found()),
        })
    }

    /// Whether a token is required. `Host` and `Origin` are checked in any case.
    pub(crate) fn auth_requirement(self) -> AuthRequirement {
        match self {
            GatewayRoute::Endpoint(_)
            | GatewayRoute::UiChat(_)
            | GatewayRoute::Models
            | GatewayRoute::Forwarded
            | GatewayRoute::Api
            | GatewayRoute::Console
            | GatewayRoute::Metrics => AuthRequirement::Token,
            GatewayRoute::Health(_)
            | GatewayRoute::OpenApi
            | GatewayRoute::Page
            | GatewayRoute::Preflight => AuthRequirement::Public,
        }
    }

    /// The label in metrics.
    pub(crate) fn metrics_route(self) -> MetricRoute {
        match self {
            GatewayRoute::Endpoint(endpoint) => endpoint.into(),
            GatewayRoute::UiChat(_) => GatewayEndpoint::Chat.into(),
            GatewayRoute::Models => MetricRoute::Models,
            GatewayRoute::Forwarded => MetricRoute::Forwarded,
            GatewayRoute::Api | GatewayRoute::Console => MetricRoute::Api,
            GatewayRoute::Health(_)
            | GatewayRoute::Metrics
            | GatewayRoute::OpenApi
            | GatewayRoute::Page
            | GatewayRoute::Preflight => MetricRoute::Other,
        }
    }
}

/// Path prefixes of the API.
const API: [&str; 7] = [
    "/v1/sessions",
    "/v1/runs",
    "/v1/repairs",
    "/v1/check",
    "/v1/fix",
    "/v1/compact",
    "/v1/convert",
];

/// Whether a path is that of a method of one of Gemini's models.
fn names_method(path: &str) -> bool {
    path.starts_with("/v1beta/models/") && split_method(path).is_some()
}

fn is_under(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_one_route() {
        for (method, path, expected) in [
            (
                Method::POST,
                "/v1/chat/completions",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::Chat)),
            ),
            (Method::POST, "/v1/responses", Ok(GatewayRoute::Endpoint(GatewayEndpoint::Responses))),
            (
                Method::POST,
                "/v1beta/interactions",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::Interactions)),
            ),
            (Method::POST, "/v1/messages", Ok(GatewayRoute::Endpoint(GatewayEndpoint::Messages))),
            (
                Method::POST,
                "/v1/messages/count_tokens",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::CountTokens)),
            ),
            (
                Method::POST,
                "/v1beta/models/gemini-3-pro:generateContent",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::GenerateContent)),
            ),
            (
                Method::POST,
                "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::StreamGenerateContent)),
            ),
            (
                Method::POST,
                "/v1/models/team/a:b:countTokens",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::GeminiCountTokens)),
            ),
            (Method::GET, "/v1beta/models/g:generateContent", Err(405)),
            (
                Method::POST,
                "/v1beta/models/a%3Ab%3AgenerateContent",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::GenerateContent)),
            ),
            (
                Method::POST,
                "/v1beta/models/g%3astreamGenerateContent",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::StreamGenerateContent)),
            ),
            (Method::POST, "/v1beta/models/:generateContent", Err(404)),
            (Method::POST, "/v1beta/models/g:embedContent", Ok(GatewayRoute::Forwarded)),
            (Method::POST, "/v1beta/models/g:tuneContent", Err(404)),
            (Method::POST, "/v1beta/models/g%3Anope", Err(404)),
            (Method::DELETE, "/v1beta/models/g:tuneContent", Err(405)),
            (Method::POST, "/v1beta/models/g", Err(405)),
            (Method::POST, "/else/models/g:generateContent", Err(404)),
            (Method::GET, "/v1beta/models", Ok(GatewayRoute::Models)),
            (Method::GET, "/v1beta/models/g", Ok(GatewayRoute::Models)),
            (Method::GET, "/v1/models", Ok(GatewayRoute::Models)),
            (Method::GET, "/v1/models/a/b", Ok(GatewayRoute::Models)),
            (Method::GET, "/v1/runs", Ok(GatewayRoute::Api)),
            (Method::POST, "/v1/runs/x/stop", Ok(GatewayRoute::Api)),
            (Method::GET, "/v1/sessions", Ok(GatewayRoute::Api)),
            (Method::GET, "/v1/repairs/x", Ok(GatewayRoute::Api)),
            (Method::POST, "/v1/check", Ok(GatewayRoute::Api)),
            (Method::POST, "/v1/fix", Ok(GatewayRoute::Api)),
            (Method::POST, "/v1/compact", Ok(GatewayRoute::Api)),
            (Method::POST, "/v1/convert", Ok(GatewayRoute::Api)),
            (Method::POST, "/v1/fixes", Err(404)),
            (Method::GET, "/health", Ok(GatewayRoute::Health(HealthProbe::Ready))),
            (Method::HEAD, "/health/liveness", Ok(GatewayRoute::Health(HealthProbe::Live))),
            (Method::GET, "/liveness", Ok(GatewayRoute::Health(HealthProbe::Live))),
            (Method::GET, "/readiness", Ok(GatewayRoute::Health(HealthProbe::Ready))),
            (Method::GET, "/metrics", Ok(GatewayRoute::Metrics)),
            (Method::GET, "/openapi.json", Ok(GatewayRoute::OpenApi)),
            (Method::GET, "/", Ok(GatewayRoute::Page)),
            (Method::GET, "/ui", Ok(GatewayRoute::Page)),
            (Method::HEAD, "/ui/", Ok(GatewayRoute::Page)),
            (Method::POST, "/ui", Err(405)),
            (Method::GET, "/ui/nothing", Err(404)),
            (Method::GET, "/ui/../secret", Err(404)),
            (Method::GET, "/v1/console", Ok(GatewayRoute::Console)),
            (Method::POST, "/v1/console/sessions/x/undo", Ok(GatewayRoute::Console)),
            (Method::GET, "/v1/consolex", Err(404)),
            (Method::OPTIONS, "*", Ok(GatewayRoute::Preflight)),
            (Method::POST, "/v1/embeddings", Ok(GatewayRoute::Forwarded)),
            (Method::DELETE, "/v1/files/f-1", Ok(GatewayRoute::Forwarded)),
            (Method::PUT, "/v1/files/f-1", Err(405)),
            (Method::GET, "/v1/fine_tuning/jobs", Err(404)),
            (Method::DELETE, "/v1/responses/resp_1", Ok(GatewayRoute::Forwarded)),
            (Method::PATCH, "/v1/responses/resp_1", Err(405)),
            (Method::GET, "/v1/responses/resp_1/else", Err(404)),
            (Method::POST, "/v1/ui/agui", Ok(GatewayRoute::UiChat(UiFormat::AgUi))),
            (Method::POST, "/v1/ui/ai-sdk", Ok(GatewayRoute::UiChat(UiFormat::AiSdk))),
            (Method::GET, "/v1/ui/ai-sdk", Err(405)),
            (Method::GET, "/v1/ui/ai-sdk/chat-1/stream", Ok(GatewayRoute::Api)),
            (Method::GET, "/v1/ui/ai-sdk/a:b/c%20d/stream", Ok(GatewayRoute::Api)),
            (Method::GET, "/v1/ui/ai-sdk//stream", Err(404)),
            (Method::POST, "/v1/ui/acp", Err(404)),
            (Method::GET, "/v1/chat/completions", Err(405)),
            (Method::DELETE, "/metrics", Err(405)),
            (Method::CONNECT, "/", Err(405)),
            (Method::GET, "/v1/runsx", Err(404)),
            (Method::GET, "/v1/messagesx", Err(404)),
            (Method::GET, "", Err(404)),
            (Method::CONNECT, "", Err(404)),
            (Method::GET, "/../etc/passwd", Err(404)),
        ] {
            let found =
                GatewayRoute::find(&method, path).map_err(|error| error.kind.status().as_u16());
            assert_eq!(found, expected, "{method} {path}");
        }
    }

    #[test]
    fn an_unknown_method_of_a_model_is_answered_with_the_known_ones() {
        let error = GatewayRoute::find(&Method::POST, "/v1beta/models/g:tuneContent")
            .expect_err("an unknown method");
        assert_eq!((error.status().as_u16(), error.code), (404, "not_found"));
        let (_, methods) = error.message.split_once("is one of ").expect("a list");
        let methods: Vec<&str> =
            methods.split([',', ' ']).filter(|name| !name.is_empty()).collect();
        assert_eq!(methods.len(), 7, "{methods:?}");
        for method in methods {
            let path = format!("/v1beta/models/g:{method}");
            assert!(GatewayRoute::find(&Method::POST, &path).is_ok(), "{path}");
        }
    }
}
