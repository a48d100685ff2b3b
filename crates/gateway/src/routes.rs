//! Every route, and nothing else.

use bytes::Bytes;
use foxwedge_engine::{ApiError, GatewayEndpoint, metrics::MetricRoute};
use http::{HeaderMap, Method};

use crate::{ConnectionAddresses, access::Principal, console, error};

/// What a request wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GatewayRoute {
    /// An endpoint in the form of a provider.
    Endpoint(GatewayEndpoint),
    /// `GET /v1/models` and `/v1/models/{name}`.
    Models,
    /// Sessions, runs, repairs.
    Api,
    /// What the console shows.
    Console,
    /// `GET /health`: whether somebody is there.
    Health(HealthProbe),
    /// `GET /metrics`.
    Metrics,
    /// `GET /openapi.json`.
    OpenApi,
    /// `GET /`, `/ui`, and the files of the page.
    Page,
    /// `OPTIONS`: a browser asks whether a page may ask.
    Preflight,
}

/// What a probe wants to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HealthProbe {
    /// Whether the process is there.
    Live,
    /// Whether requests may be sent here.
    Ready,
}

/// Who may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AuthRequirement {
    /// Whoever has a token.
    Token,
    /// Anybody: it says nothing.
    Public,
}

/// A request for one of our own things.
#[derive(Debug)]
pub(crate) struct ApiRequest<'a> {
    /// How.
    pub(crate) method: &'a Method,
    /// Which.
    pub(crate) path: &'a str,
    /// What stands behind the `?`.
    pub(crate) query: Option<&'a str>,
    /// The headers, without keys.
    pub(crate) headers: &'a HeaderMap,
    /// Who asks.
    pub(crate) principal: &'a Principal,
    /// The body.
    pub(crate) body: Bytes,
    /// The id of the request.
    pub(crate) id: &'a str,
    /// From where it comes.
    pub(crate) peer: ConnectionAddresses,
}

impl GatewayRoute {
    /// Finds it.
    ///
    /// # Errors
    /// If there is no such path, or it is asked in another way.
    pub(crate) fn find(method: &Method, path: &str) -> Result<GatewayRoute, ApiError> {
        if method == Method::OPTIONS {
            return Ok(GatewayRoute::Preflight);
        }
        let place = match path {
            "/v1/chat/completions" => GatewayRoute::Endpoint(GatewayEndpoint::Chat),
            "/v1/responses" => GatewayRoute::Endpoint(GatewayEndpoint::Responses),
            "/v1/messages" => GatewayRoute::Endpoint(GatewayEndpoint::Messages),
            "/v1/messages/count_tokens" => GatewayRoute::Endpoint(GatewayEndpoint::CountTokens),
            "/v1/models" => GatewayRoute::Models,
            "/health" | "/readiness" | "/health/readiness" => {
                GatewayRoute::Health(HealthProbe::Ready)
            }
            "/liveness" | "/health/liveness" => GatewayRoute::Health(HealthProbe::Live),
            "/metrics" => GatewayRoute::Metrics,
            "/openapi.json" => GatewayRoute::OpenApi,
            path if console::has_asset(path) => GatewayRoute::Page,
            path if path.starts_with("/v1/models/") => GatewayRoute::Models,
            path if is_under(path, "/v1/console") => return Ok(GatewayRoute::Console),
            path if API.iter().any(|prefix| is_under(path, prefix)) => {
                return Ok(GatewayRoute::Api);
            }
            _ => return Err(error::not_found()),
        };
        match (place, method) {
            (GatewayRoute::Endpoint(_), &Method::POST) => Ok(place),
            (GatewayRoute::Endpoint(_), _) => Err(error::method_not_allowed("POST")),
            (_, &Method::GET | &Method::HEAD) => Ok(place),
            (_, _) => Err(error::method_not_allowed("GET")),
        }
    }

    /// Who may ask. The name of the server and the origin of a page are looked at in any case.
    pub(crate) fn auth_requirement(self) -> AuthRequirement {
        match self {
            GatewayRoute::Endpoint(_)
            | GatewayRoute::Models
            | GatewayRoute::Api
            | GatewayRoute::Console
            | GatewayRoute::Metrics => AuthRequirement::Token,
            GatewayRoute::Health(_)
            | GatewayRoute::OpenApi
            | GatewayRoute::Page
            | GatewayRoute::Preflight => AuthRequirement::Public,
        }
    }

    /// Its name in metrics.
    pub(crate) fn metrics_route(self) -> MetricRoute {
        match self {
            GatewayRoute::Endpoint(face) => face.into(),
            GatewayRoute::Models => MetricRoute::Models,
            GatewayRoute::Api | GatewayRoute::Console => MetricRoute::Api,
            GatewayRoute::Health(_)
            | GatewayRoute::Metrics
            | GatewayRoute::OpenApi
            | GatewayRoute::Page
            | GatewayRoute::Preflight => MetricRoute::Other,
        }
    }
}

/// Where our own things are.
const API: [&str; 3] = ["/v1/sessions", "/v1/runs", "/v1/repairs"];

fn is_under(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_leads_to_one_place() {
        for (method, path, expected) in [
            (
                Method::POST,
                "/v1/chat/completions",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::Chat)),
            ),
            (Method::POST, "/v1/responses", Ok(GatewayRoute::Endpoint(GatewayEndpoint::Responses))),
            (Method::POST, "/v1/messages", Ok(GatewayRoute::Endpoint(GatewayEndpoint::Messages))),
            (
                Method::POST,
                "/v1/messages/count_tokens",
                Ok(GatewayRoute::Endpoint(GatewayEndpoint::CountTokens)),
            ),
            (Method::GET, "/v1/models", Ok(GatewayRoute::Models)),
            (Method::GET, "/v1/models/a/b", Ok(GatewayRoute::Models)),
            (Method::GET, "/v1/runs", Ok(GatewayRoute::Api)),
            (Method::POST, "/v1/runs/x/stop", Ok(GatewayRoute::Api)),
            (Method::GET, "/v1/sessions", Ok(GatewayRoute::Api)),
            (Method::GET, "/v1/repairs/x", Ok(GatewayRoute::Api)),
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
                GatewayRoute::find(&method, path).map_err(|fault| fault.kind.status().as_u16());
            assert_eq!(found, expected, "{method} {path}");
        }
    }
}
