use http::Method;

use super::place::{Place, What};

#[test]
fn only_these_paths_lead_to_something() {
    let table = [
        ("/v1/console", Some(Place::About)),
        ("/v1/console/rules/FW101", Some(Place::Rule("FW101"))),
        ("/v1/console/sessions", Some(Place::Sessions)),
        ("/v1/console/sessions/a", Some(Place::File("a", What::About))),
        ("/v1/console/sessions/a/messages", Some(Place::File("a", What::Messages))),
        ("/v1/console/sessions/a/tree", Some(Place::File("a", What::Tree))),
        ("/v1/console/sessions/a/records", Some(Place::File("a", What::Records))),
        ("/v1/console/sessions/a/findings", Some(Place::File("a", What::Findings))),
        ("/v1/console/sessions/a/repair", Some(Place::File("a", What::Repair))),
        ("/v1/console/sessions/a/repair.md", Some(Place::File("a", What::Told))),
        ("/v1/console/sessions/a/undo", Some(Place::File("a", What::Undo))),
        ("/v1/console/sessions/a/compaction", Some(Place::File("a", What::Compaction))),
        ("/v1/console/compaction", Some(Place::Compaction)),
        ("/v1/console/feed", Some(Place::Feed)),
        ("/v1/console/feed/events", Some(Place::Stream)),
        ("/v1/console/feed/q-1", Some(Place::Request("q-1"))),
        ("/v1/console/series", Some(Place::Series)),
        ("/v1/console/", None),
        ("/v1/console/sessions/a/", None),
        ("/v1/console/sessions/a/else", None),
        ("/v1/console/sessions/a/repair/b", None),
        ("/v1/console/sessions/../../etc", None),
        ("/v1/console/feed/events/x", None),
        ("/v1/consolex", None),
    ];
    for (path, expected) in table {
        assert_eq!(Place::find(path), expected, "{path}");
    }
}

#[test]
fn only_two_things_change_anything() {
    let table = [
        (Place::File("a", What::Repair), [true, true]),
        (Place::File("a", What::Undo), [false, true]),
        (Place::File("a", What::Told), [true, false]),
        (Place::Compaction, [false, true]),
        (Place::Sessions, [true, false]),
        (Place::Stream, [true, false]),
    ];
    for (place, expected) in table {
        let allowed = [Method::GET, Method::POST].map(|method| place.allows(&method).is_ok());
        assert_eq!(allowed, expected, "{place:?}");
        assert!(place.allows(&Method::DELETE).is_err(), "{place:?}");
    }
}
