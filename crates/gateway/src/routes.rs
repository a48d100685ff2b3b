//! Every route, and nothing else.

use bytes::Bytes;
use foxwedge_engine::{Face, Fault, meter::Route};
use http::{HeaderMap, Method};

use crate::{Peer, access::Visitor, console, error};

/// What a request wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// An endpoint in the form of a provider.
    Face(Face),
    /// `GET /v1/models` and `/v1/models/{name}`.
    Models,
    /// Sessions, runs, repairs.
    Api,
    /// What the console shows.
    Console,
    /// `GET /health`: whether somebody is there.
    Health(Health),
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
pub(crate) enum Health {
    /// Whether the process is there.
    Live,
    /// Whether requests may be sent here.
    Ready,
}

/// Who may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// Whoever has a token.
    Token,
    /// Anybody: it says nothing.
    Nothing,
}

/// A request for one of our own things.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// How.
    pub(crate) method: &'a Method,
    /// Which.
    pub(crate) path: &'a str,
    /// What stands behind the `?`.
    pub(crate) query: Option<&'a str>,
    /// The headers, without keys.
    pub(crate) headers: &'a HeaderMap,
    /// Who asks.
    pub(crate) visitor: &'a Visitor,
    /// The body.
    pub(crate) body: Bytes,
    /// The id of the request.
    pub(crate) id: &'a str,
    /// From where it comes.
    pub(crate) peer: Peer,
}

impl Place {
    /// Finds it.
    ///
    /// # Errors
    /// If there is no such path, or it is asked in another way.
    pub(crate) fn find(method: &Method, path: &str) -> Result<Place, Fault> {
        if method == Method::OPTIONS {
            return Ok(Place::Preflight);
        }
        let place = match path {
            "/v1/chat/completions" => Place::Face(Face::Chat),
            "/v1/responses" => Place::Face(Face::Responses),
            "/v1/messages" => Place::Face(Face::Messages),
            "/v1/messages/count_tokens" => Place::Face(Face::CountTokens),
            "/v1/models" => Place::Models,
            "/health" | "/readiness" | "/health/readiness" => Place::Health(Health::Ready),
            "/liveness" | "/health/liveness" => Place::Health(Health::Live),
            "/metrics" => Place::Metrics,
            "/openapi.json" => Place::OpenApi,
            path if console::has(path) => Place::Page,
            path if path.starts_with("/v1/models/") => Place::Models,
            path if is_under(path, "/v1/console") => return Ok(Place::Console),
            path if API.iter().any(|prefix| is_under(path, prefix)) => return Ok(Place::Api),
            _ => return Err(error::not_found()),
        };
        match (place, method) {
            (Place::Face(_), &Method::POST) => Ok(place),
            (Place::Face(_), _) => Err(error::method("POST")),
            (_, &Method::GET | &Method::HEAD) => Ok(place),
            (_, _) => Err(error::method("GET")),
        }
    }

    /// Who may ask. The name of the server and the origin of a page are looked at in any case.
    pub(crate) fn need(self) -> Need {
        match self {
            Place::Face(_) | Place::Models | Place::Api | Place::Console | Place::Metrics => {
                Need::Token
            }
            Place::Health(_) | Place::OpenApi | Place::Page | Place::Preflight => Need::Nothing,
        }
    }

    /// Its name in metrics.
    pub(crate) fn route(self) -> Route {
        match self {
            Place::Face(face) => face.into(),
            Place::Models => Route::Models,
            Place::Api | Place::Console => Route::Api,
            Place::Health(_) | Place::Metrics | Place::OpenApi | Place::Page | Place::Preflight => {
                Route::Other
            }
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
            (Method::POST, "/v1/chat/completions", Ok(Place::Face(Face::Chat))),
            (Method::POST, "/v1/responses", Ok(Place::Face(Face::Responses))),
            (Method::POST, "/v1/messages", Ok(Place::Face(Face::Messages))),
            (Method::POST, "/v1/messages/count_tokens", Ok(Place::Face(Face::CountTokens))),
            (Method::GET, "/v1/models", Ok(Place::Models)),
            (Method::GET, "/v1/models/a/b", Ok(Place::Models)),
            (Method::GET, "/v1/runs", Ok(Place::Api)),
            (Method::POST, "/v1/runs/x/stop", Ok(Place::Api)),
            (Method::GET, "/v1/sessions", Ok(Place::Api)),
            (Method::GET, "/v1/repairs/x", Ok(Place::Api)),
            (Method::GET, "/health", Ok(Place::Health(Health::Ready))),
            (Method::HEAD, "/health/liveness", Ok(Place::Health(Health::Live))),
            (Method::GET, "/liveness", Ok(Place::Health(Health::Live))),
            (Method::GET, "/readiness", Ok(Place::Health(Health::Ready))),
            (Method::GET, "/metrics", Ok(Place::Metrics)),
            (Method::GET, "/openapi.json", Ok(Place::OpenApi)),
            (Method::GET, "/", Ok(Place::Page)),
            (Method::GET, "/ui", Ok(Place::Page)),
            (Method::HEAD, "/ui/", Ok(Place::Page)),
            (Method::POST, "/ui", Err(405)),
            (Method::GET, "/ui/nothing", Err(404)),
            (Method::GET, "/ui/../secret", Err(404)),
            (Method::GET, "/v1/console", Ok(Place::Console)),
            (Method::POST, "/v1/console/sessions/x/undo", Ok(Place::Console)),
            (Method::GET, "/v1/consolex", Err(404)),
            (Method::OPTIONS, "*", Ok(Place::Preflight)),
            (Method::GET, "/v1/chat/completions", Err(405)),
            (Method::DELETE, "/metrics", Err(405)),
            (Method::CONNECT, "/", Err(405)),
            (Method::GET, "/v1/runsx", Err(404)),
            (Method::GET, "/v1/messagesx", Err(404)),
            (Method::GET, "", Err(404)),
            (Method::CONNECT, "", Err(404)),
            (Method::GET, "/../etc/passwd", Err(404)),
        ] {
            let found = Place::find(&method, path).map_err(|fault| fault.kind.status().as_u16());
            assert_eq!(found, expected, "{method} {path}");
        }
    }
}
