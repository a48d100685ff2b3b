//! The routes of the console API.

use crate::{AllowedMethods, ApiError};
use http::Method;

use crate::error;

/// A route of the console API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConsoleRoute<'p> {
    About,
    Rule(&'p str),
    Sessions,
    /// A session file by its id.
    File(&'p str, SessionFileRoute),
    Compaction,
    Feed,
    Request(&'p str),
    Stream,
    Series,
}

/// A route below one session file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SessionFileRoute {
    About,
    Messages,
    Tree,
    Records,
    Findings,
    /// The plan of a repair, or the repair itself.
    Repair,
    /// The plan as Markdown.
    RepairMarkdown,
    Undo,
    Compaction,
}

impl<'p> ConsoleRoute<'p> {
    /// Finds the route for a path.
    pub(crate) fn find(path: &'p str) -> Option<ConsoleRoute<'p>> {
        let rest = path.strip_prefix("/v1/console")?;
        if rest.is_empty() {
            return Some(ConsoleRoute::About);
        }
        let mut parts = rest.strip_prefix('/')?.split('/');
        let route = match (parts.next()?, parts.next(), parts.next()) {
            ("rules", Some(code), None) => ConsoleRoute::Rule(code),
            ("sessions", None, None) => ConsoleRoute::Sessions,
            ("sessions", Some(id), None) => ConsoleRoute::File(id, SessionFileRoute::About),
            ("sessions", Some(id), Some(name)) => {
                ConsoleRoute::File(id, SessionFileRoute::find(name)?)
            }
            ("compaction", None, None) => ConsoleRoute::Compaction,
            ("feed", None, None) => ConsoleRoute::Feed,
            ("feed", Some("events"), None) => ConsoleRoute::Stream,
            ("feed", Some(id), None) => ConsoleRoute::Request(id),
            ("series", None, None) => ConsoleRoute::Series,
            _ => return None,
        };
        parts.next().is_none().then_some(route)
    }

    /// Whether the route allows this method.
    pub(crate) fn check_method(self, method: &Method) -> Result<(), ApiError> {
        let (reads, writes) = match self {
            ConsoleRoute::File(_, SessionFileRoute::Repair) => (true, true),
            ConsoleRoute::File(_, SessionFileRoute::Undo) | ConsoleRoute::Compaction => {
                (false, true)
            }
            ConsoleRoute::About
            | ConsoleRoute::Rule(_)
            | ConsoleRoute::Sessions
            | ConsoleRoute::File(
                _,
                SessionFileRoute::About
                | SessionFileRoute::Messages
                | SessionFileRoute::Tree
                | SessionFileRoute::Records
                | SessionFileRoute::Findings
                | SessionFileRoute::RepairMarkdown
                | SessionFileRoute::Compaction,
            )
            | ConsoleRoute::Feed
            | ConsoleRoute::Request(_)
            | ConsoleRoute::Stream
            | ConsoleRoute::Series => (true, false),
        };
        match (method, reads, writes) {
            (&Method::GET | &Method::HEAD, true, _) | (&Method::POST, _, true) => Ok(()),
            (_, true, true) => Err(error::method_not_allowed(AllowedMethods::GetPost)),
            (_, false, _) => Err(error::method_not_allowed(AllowedMethods::Post)),
            (_, true, false) => Err(error::method_not_allowed(AllowedMethods::Get)),
        }
    }
}

impl SessionFileRoute {
    fn find(name: &str) -> Option<SessionFileRoute> {
        Some(match name {
            "messages" => SessionFileRoute::Messages,
            "tree" => SessionFileRoute::Tree,
            "records" => SessionFileRoute::Records,
            "findings" => SessionFileRoute::Findings,
            "repair" => SessionFileRoute::Repair,
            "repair.md" => SessionFileRoute::RepairMarkdown,
            "undo" => SessionFileRoute::Undo,
            "compaction" => SessionFileRoute::Compaction,
            _ => return None,
        })
    }
}
