use http::Method;

use super::routes::{ConsoleRoute, SessionFileRoute};

#[test]
fn only_known_paths_have_a_route() {
    let table = [
        ("/v1/console", Some(ConsoleRoute::About)),
        ("/v1/console/rules/FW101", Some(ConsoleRoute::Rule("FW101"))),
        ("/v1/console/sessions", Some(ConsoleRoute::Sessions)),
        ("/v1/console/sessions/a", Some(ConsoleRoute::File("a", SessionFileRoute::About))),
        (
            "/v1/console/sessions/a/messages",
            Some(ConsoleRoute::File("a", SessionFileRoute::Messages)),
        ),
        ("/v1/console/sessions/a/tree", Some(ConsoleRoute::File("a", SessionFileRoute::Tree))),
        (
            "/v1/console/sessions/a/records",
            Some(ConsoleRoute::File("a", SessionFileRoute::Records)),
        ),
        (
            "/v1/console/sessions/a/findings",
            Some(ConsoleRoute::File("a", SessionFileRoute::Findings)),
        ),
        ("/v1/console/sessions/a/repair", Some(ConsoleRoute::File("a", SessionFileRoute::Repair))),
        (
            "/v1/console/sessions/a/repair.md",
            Some(ConsoleRoute::File("a", SessionFileRoute::RepairMarkdown)),
        ),
        ("/v1/console/sessions/a/undo", Some(ConsoleRoute::File("a", SessionFileRoute::Undo))),
        (
            "/v1/console/sessions/a/compaction",
            Some(ConsoleRoute::File("a", SessionFileRoute::Compaction)),
        ),
        ("/v1/console/compaction", Some(ConsoleRoute::Compaction)),
        ("/v1/console/feed", Some(ConsoleRoute::Feed)),
        ("/v1/console/feed/events", Some(ConsoleRoute::Stream)),
        ("/v1/console/feed/q-1", Some(ConsoleRoute::Request("q-1"))),
        ("/v1/console/series", Some(ConsoleRoute::Series)),
        ("/v1/console/", None),
        ("/v1/console/sessions/a/", None),
        ("/v1/console/sessions/a/else", None),
        ("/v1/console/sessions/a/repair/b", None),
        ("/v1/console/sessions/../../etc", None),
        ("/v1/console/feed/events/x", None),
        ("/v1/consolex", None),
    ];
    for (path, expected) in table {
        assert_eq!(ConsoleRoute::find(path), expected, "{path}");
    }
}

#[test]
fn only_two_things_change_anything() {
    let table = [
        (ConsoleRoute::File("a", SessionFileRoute::Repair), [true, true]),
        (ConsoleRoute::File("a", SessionFileRoute::Undo), [false, true]),
        (ConsoleRoute::File("a", SessionFileRoute::RepairMarkdown), [true, false]),
        (ConsoleRoute::Compaction, [false, true]),
        (ConsoleRoute::Sessions, [true, false]),
        (ConsoleRoute::Stream, [true, false]),
    ];
    for (place, expected) in table {
        let allowed = [Method::GET, Method::POST].map(|method| place.check_method(&method).is_ok());
        assert_eq!(allowed, expected, "{place:?}");
        assert!(place.check_method(&Method::DELETE).is_err(), "{place:?}");
    }
}
