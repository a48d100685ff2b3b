//! What can be asked of the console.

use foxwedge_engine::ApiError;
use http::Method;

use crate::error;

/// Something of the console.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConsoleRoute<'p> {
    About,
    Rule(&'p str),
    Sessions,
    /// Something about a session file.
    File(&'p str, SessionFileRoute),
    Compaction,
    Feed,
    Request(&'p str),
    Stream,
    Series,
}

/// What is asked about a session file.
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
    /// Finds it.
    pub(crate) fn find(path: &'p str) -> Option<ConsoleRoute<'p>> {
        let rest = path.strip_prefix("/v1/console")?;
        if rest.is_empty() {
            return Some(ConsoleRoute::About);
        }
        let mut parts = rest.strip_prefix('/')?.split('/');
        let place = match (parts.next()?, parts.next(), parts.next()) {
            ("rules", Some(code), None) => ConsoleRoute::Rule(code),
            ("sessions", None, None) => ConsoleRoute::Sessions,
            ("sessions", Some(id), None) => ConsoleRoute::File(id, SessionFileRoute::About),
            ("sessions", Some(id), Some(what)) => {
                ConsoleRoute::File(id, SessionFileRoute::find(what)?)
            }
            ("compaction", None, None) => ConsoleRoute::Compaction,
            ("feed", None, None) => ConsoleRoute::Feed,
            ("feed", Some("events"), None) => ConsoleRoute::Stream,
            ("feed", Some(id), None) => ConsoleRoute::Request(id),
            ("series", None, None) => ConsoleRoute::Series,
            _ => return None,
        };
        parts.next().is_none().then_some(place)
    }

    /// Whether it may be asked in this way.
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
            (_, true, true) => Err(error::method_not_allowed("GET and POST")),
            (_, false, _) => Err(error::method_not_allowed("POST")),
            (_, true, false) => Err(error::method_not_allowed("GET")),
        }
    }
}

impl SessionFileRoute {
    fn find(word: &str) -> Option<SessionFileRoute> {
        Some(match word {
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
