//! What can be asked of the console.

use foxwedge_engine::Fault;
use http::Method;

use crate::error;

/// Something of the console.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place<'p> {
    About,
    Rule(&'p str),
    Sessions,
    /// Something about a session file.
    File(&'p str, What),
    Compaction,
    Feed,
    Request(&'p str),
    Stream,
    Series,
}

/// What is asked about a session file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    About,
    Messages,
    Tree,
    Records,
    Findings,
    /// The plan of a repair, or the repair itself.
    Repair,
    /// The plan as Markdown.
    Told,
    Undo,
    Compaction,
}

impl<'p> Place<'p> {
    /// Finds it.
    pub(crate) fn find(path: &'p str) -> Option<Place<'p>> {
        let rest = path.strip_prefix("/v1/console")?;
        if rest.is_empty() {
            return Some(Place::About);
        }
        let mut parts = rest.strip_prefix('/')?.split('/');
        let place = match (parts.next()?, parts.next(), parts.next()) {
            ("rules", Some(code), None) => Place::Rule(code),
            ("sessions", None, None) => Place::Sessions,
            ("sessions", Some(id), None) => Place::File(id, What::About),
            ("sessions", Some(id), Some(what)) => Place::File(id, What::find(what)?),
            ("compaction", None, None) => Place::Compaction,
            ("feed", None, None) => Place::Feed,
            ("feed", Some("events"), None) => Place::Stream,
            ("feed", Some(id), None) => Place::Request(id),
            ("series", None, None) => Place::Series,
            _ => return None,
        };
        parts.next().is_none().then_some(place)
    }

    /// Whether it may be asked in this way.
    pub(crate) fn allows(self, method: &Method) -> Result<(), Fault> {
        let (reads, writes) = match self {
            Place::File(_, What::Repair) => (true, true),
            Place::File(_, What::Undo) | Place::Compaction => (false, true),
            Place::About
            | Place::Rule(_)
            | Place::Sessions
            | Place::File(
                _,
                What::About
                | What::Messages
                | What::Tree
                | What::Records
                | What::Findings
                | What::Told
                | What::Compaction,
            )
            | Place::Feed
            | Place::Request(_)
            | Place::Stream
            | Place::Series => (true, false),
        };
        match (method, reads, writes) {
            (&Method::GET | &Method::HEAD, true, _) | (&Method::POST, _, true) => Ok(()),
            (_, true, true) => Err(error::method("GET and POST")),
            (_, false, _) => Err(error::method("POST")),
            (_, true, false) => Err(error::method("GET")),
        }
    }
}

impl What {
    fn find(word: &str) -> Option<What> {
        Some(match word {
            "messages" => What::Messages,
            "tree" => What::Tree,
            "records" => What::Records,
            "findings" => What::Findings,
            "repair" => What::Repair,
            "repair.md" => What::Told,
            "undo" => What::Undo,
            "compaction" => What::Compaction,
            _ => return None,
        })
    }
}
