use std::future::{pending, ready};

use http::Method;
use tokio::time::Instant;

use super::{ANSWER_TIMEOUT, ApiRoute, answer_in_time, not_found};

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

#[tokio::test(start_paused = true)]
async fn a_frozen_store_held_up_answers_for_a_minute() {
    let began = Instant::now();
    let frozen = answer_in_time::<()>(pending()).await.expect_err("no answer");
    assert_eq!(began.elapsed(), ANSWER_TIMEOUT);
    assert_eq!((frozen.status().as_u16(), frozen.code), (503, "store_unavailable"));
    assert!(frozen.message.contains("`store`"), "{}", frozen.message);
    assert_eq!(answer_in_time(ready(Ok(7))).await.ok(), Some(7));
    let missing = answer_in_time::<()>(ready(Err(not_found("run")))).await.expect_err("no run");
    assert_eq!(missing.code, "run_not_found");
    for path in ["sessions", "sessions/a", "runs", "runs/a", "runs/a/stop", "runs/a/events"] {
        let path = format!("/v1/{path}");
        assert!(ApiRoute::find(&path).is_some_and(ApiRoute::reads_store), "{path}");
    }
}
