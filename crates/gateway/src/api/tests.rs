use http::Method;

use super::ApiRoute;

#[test]
fn only_known_paths_have_a_route() {
    let table = [
        ("/v1/sessions", Some(ApiRoute::Sessions)),
        ("/v1/sessions/a", Some(ApiRoute::Session("a"))),
        ("/v1/runs", Some(ApiRoute::Runs)),
        ("/v1/runs/a", Some(ApiRoute::Run("a"))),
        ("/v1/runs/a/events", Some(ApiRoute::Events("a"))),
        ("/v1/runs/a/stop", Some(ApiRoute::Stop("a"))),
        ("/v1/runs/a/answers", Some(ApiRoute::Answers("a"))),
        ("/v1/repairs", Some(ApiRoute::Repairs)),
        ("/v1/repairs/a", Some(ApiRoute::Repair("a"))),
        ("/v1/runs/a/events/b", None),
        ("/v1/runs/a/", None),
        ("/v1/runs/a/else", None),
        ("/v1/sessions/a/runs", None),
        ("/v1/others", None),
        ("/v1/", None),
        ("/runs", None),
    ];
    for (path, expected) in table {
        assert_eq!(ApiRoute::find(path), expected, "{path}");
    }
    assert!(ApiRoute::Stop("a").check_method(&Method::POST).is_ok());
    assert!(ApiRoute::Stop("a").check_method(&Method::GET).is_err());
    assert!(ApiRoute::Runs.check_method(&Method::HEAD).is_ok());
    assert!(ApiRoute::Runs.check_method(&Method::DELETE).is_err());
}
