use http::Method;

use super::Place;

#[test]
fn only_these_paths_lead_to_something() {
    let table = [
        ("/v1/sessions", Some(Place::Sessions)),
        ("/v1/sessions/a", Some(Place::Session("a"))),
        ("/v1/runs", Some(Place::Runs)),
        ("/v1/runs/a", Some(Place::Run("a"))),
        ("/v1/runs/a/events", Some(Place::Events("a"))),
        ("/v1/runs/a/stop", Some(Place::Stop("a"))),
        ("/v1/runs/a/answers", Some(Place::Answers("a"))),
        ("/v1/repairs", Some(Place::Repairs)),
        ("/v1/repairs/a", Some(Place::Repair("a"))),
        ("/v1/runs/a/events/b", None),
        ("/v1/runs/a/", None),
        ("/v1/runs/a/else", None),
        ("/v1/sessions/a/runs", None),
        ("/v1/others", None),
        ("/v1/", None),
        ("/runs", None),
    ];
    for (path, expected) in table {
        assert_eq!(Place::find(path), expected, "{path}");
    }
    assert!(Place::Stop("a").allows(&Method::POST).is_ok());
    assert!(Place::Stop("a").allows(&Method::GET).is_err());
    assert!(Place::Runs.allows(&Method::HEAD).is_ok());
    assert!(Place::Runs.allows(&Method::DELETE).is_err());
}
