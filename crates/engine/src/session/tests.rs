use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn sessions(change: impl FnOnce(&mut config::SessionConfig)) -> SessionIndex {
    let mut config = config::SessionConfig::default();
    change(&mut config);
    SessionIndex::new(config)
}

fn chain(values: &[u128]) -> SessionQuery<'_> {
    SessionQuery {
        owner: "local",
        selector: SessionSelector::None,
        chain: values,
        scope: 0,
        fingerprint: values.iter().sum(),
        retry_mark: RetryMark::First,
        origin: RequestOrigin::Anonymous,
    }
}

fn held(claimed: SessionMatch) -> SessionGuard {
    match claimed {
        SessionMatch::Acquired(held) => held,
        other => panic!("not held: {other:?}"),
    }
}

fn stored(body: &str) -> CachedReply {
    let (status, headers) = (http::StatusCode::OK, http::HeaderMap::new());
    CachedReply { status, headers, body: body.to_owned().into() }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_goes_on_is_found_by_its_longest_beginning() {
    let sessions = sessions(|_| {});
    let mut first = held(sessions.claim(chain(&[1, 2])).await);
    assert_eq!(first.match_kind(), SessionMatchKind::New);
    first.commit_reply(3, &[], None, None);
    let id = first.session().clone();
    drop(first);
    let mut second = held(sessions.claim(chain(&[1, 2, 3, 4])).await);
    assert_eq!((second.session(), second.match_kind()), (&id, SessionMatchKind::Prefix));
    second.commit_reply(5, &[], None, None);
    drop(second);
    // A second conversation with the same beginning is another one.
    let other = held(sessions.claim(chain(&[1, 2])).await);
    assert_eq!((other.match_kind(), other.forked_from()), (SessionMatchKind::New, None));
    assert_ne!(other.session(), &id);
    // One that goes on behind an older reply is a branch.
    let branch = held(sessions.claim(chain(&[1, 2, 3, 9])).await);
    assert_eq!((branch.match_kind(), branch.forked_from()), (SessionMatchKind::New, Some(&id)));
    let third = held(sessions.claim(chain(&[1, 2, 3, 4, 5, 6])).await);
    assert_eq!(third.session(), &id);
    // While it is at work, whoever comes is a branch, too.
    let meanwhile = held(sessions.claim(chain(&[1, 2, 3, 4, 5, 7])).await);
    assert_eq!(meanwhile.forked_from(), Some(&id));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_named_serves_one_request_after_the_other() {
    let sessions = sessions(|config| config.busy = BusyPolicy::Wait(5 * SECOND));
    let wanted = SessionQuery { selector: SessionSelector::Name("mine"), ..chain(&[1]) };
    let first = held(sessions.claim(wanted).await);
    assert_eq!((&**first.session(), first.match_kind()), ("mine", SessionMatchKind::Named));
    assert!(matches!(sessions.claim(wanted).await, SessionMatch::Busy), "nobody set it free");
    let waiting = tokio::spawn({
        let sessions = sessions.clone();
        async move { held(sessions.claim(wanted).await).session().clone() }
    });
    tokio::task::yield_now().await;
    drop(first);
    assert_eq!(&*waiting.await.expect("a task"), "mine");
    let refusing = super::tests::sessions(|config| config.busy = BusyPolicy::Refuse);
    let _first = held(refusing.claim(wanted).await);
    assert!(matches!(refusing.claim(wanted).await, SessionMatch::Busy));
}

#[tokio::test(start_paused = true)]
async fn owners_do_not_meet() {
    let sessions = sessions(|_| {});
    let one = SessionQuery { selector: SessionSelector::Name("mine"), ..chain(&[1]) };
    let first = held(sessions.claim(one).await);
    let second = held(sessions.claim(SessionQuery { owner: "b", ..one }).await);
    assert_ne!(first.session(), second.session());
    let scopes = [("a", "m"), ("b", "m"), ("a", "bm"), ("ab", "m")];
    let names = [
        SessionScope::Unnamed,
        SessionScope::Named("x"),
        SessionScope::Keyed("x"),
        SessionScope::Named("y"),
    ];
    let all = scopes
        .iter()
        .flat_map(|(owner, model)| names.map(|name| conversation_scope(owner, model, name)));
    let all: std::collections::HashSet<u128> = all.collect();
    assert_eq!(all.len(), scopes.len() * names.len());
}

#[tokio::test(start_paused = true)]
async fn an_id_that_was_given_out_names_its_session_for_its_owner_only() {
    let sessions = sessions(|_| {});
    let mut first = held(sessions.claim(chain(&[1])).await);
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    drop(first);
    assert!(sessions.is_issued_name("local", &id) && !sessions.is_issued_name("b", &id));
    assert!(!sessions.is_issued_name("local", "mine"));
    let again = SessionQuery { selector: SessionSelector::Name(&id), ..chain(&[1, 2, 3]) };
    assert_eq!(held(sessions.claim(again).await).session(), &id);
    // Somebody else's id is no way in.
    let of_b = SessionQuery { owner: "b", ..chain(&[7]) };
    let mut b = held(sessions.claim(of_b).await);
    b.commit_reply(8, &[], None, None);
    let theirs = b.session().clone();
    drop(b);
    let mine = SessionQuery { selector: SessionSelector::Name(&theirs), ..chain(&[8]) };
    assert_ne!(held(sessions.claim(mine).await).session(), &theirs);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_again_gets_the_reply_that_was_lost() {
    let sessions = sessions(|_| {});
    let again = SessionQuery { retry_mark: RetryMark::Retry, ..chain(&[1, 2]) };
    let mut first = held(sessions.claim(chain(&[1, 2])).await);
    let waiting = tokio::spawn({
        let sessions = sessions.clone();
        async move {
            sessions.claim(SessionQuery { retry_mark: RetryMark::Retry, ..chain(&[1, 2]) }).await
        }
    });
    tokio::task::yield_now().await;
    first.commit_reply(3, &[], None, Some(stored("words")));
    drop(first);
    let told = |claimed: SessionMatch| match claimed {
        SessionMatch::Replay(stored) => stored.body.clone(),
        other => panic!("asked anew: {other:?}"),
    };
    assert_eq!(told(waiting.await.expect("a task")), "words");
    assert_eq!(told(sessions.claim(again).await), "words");
    // Whoever does not say so is asked anew: it may want another answer.
    drop(held(sessions.claim(SessionQuery { retry_mark: RetryMark::Ignored, ..again }).await));
    assert_eq!(told(sessions.claim(again).await), "words");
    tokio::time::advance(3_600 * SECOND).await;
    drop(held(sessions.claim(again).await));
}

#[tokio::test(start_paused = true)]
async fn replies_are_kept_up_to_so_many_bytes() {
    let sessions = sessions(|config| config.replies = 4_000);
    for at in 0..100 {
        let mut held = held(sessions.claim(chain(&[at])).await);
        held.commit_reply(at + 1_000, &[], None, Some(stored(&"x".repeat(500))));
    }
    let stats = sessions.stats();
    assert!(stats.reply_bytes <= 4_000 && stats.replies == 3, "{stats:?}");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_uses_is_forgotten() {
    let sessions = sessions(|_| {});
    let mut first = held(sessions.claim(chain(&[1])).await);
    first.commit_reply(2, &[], Some("resp_1"), Some(stored("words")));
    drop(first);
    assert_eq!((sessions.stats().sessions, sessions.stats().busy), (1, 0));
    tokio::time::advance(25 * 3_600 * SECOND).await;
    sessions.sweep();
    let stats = sessions.stats();
    assert_eq!(stats, SessionStats::default(), "nothing is left, whatever it was");
    assert_eq!(held(sessions.claim(chain(&[1, 2, 3])).await).match_kind(), SessionMatchKind::New);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_named_finds_its_session_and_so_does_a_restart() {
    let before = sessions(|_| {});
    let mut first = held(before.claim(chain(&[1])).await);
    first.commit_reply(2, &[], Some("resp_1"), None);
    let id = first.session().clone();
    drop(first);
    let named = SessionQuery { selector: SessionSelector::Reply("resp_1"), ..chain(&[9]) };
    let found = held(before.claim(named).await);
    assert_eq!((found.session(), found.match_kind()), (&id, SessionMatchKind::Reply));
    let after = sessions(|_| {});
    after.load([(SessionHead { session: id.clone(), value: 2, at: 0 }, SECOND)]);
    let found = held(after.claim(chain(&[1, 2, 3])).await);
    assert_eq!((found.session(), found.match_kind()), (&id, SessionMatchKind::Prefix));
}

#[tokio::test(start_paused = true)]
async fn a_million_conversations_do_not_grow_without_bound() {
    let sessions = sessions(|config| config.nodes = 1_000);
    for at in 0..20_000_u128 {
        let mut held = held(sessions.claim(chain(&[at * 2])).await);
        held.commit_reply(at * 2 + 1, &[], None, None);
    }
    let stats = sessions.stats();
    assert!(stats.sessions <= 1_000 && stats.nodes <= 1_000, "{stats:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_may_leave_out_a_reply_that_only_repeats_what_was_said() {
    let sessions = sessions(|_| {});
    let mut first = held(sessions.claim(chain(&[1])).await);
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    drop(first);
    let mut again = held(sessions.claim(chain(&[1, 2, 3])).await);
    again.commit_reply(4, &[2], None, None);
    drop(again);
    for rest in [&[1, 2, 3, 5][..], &[1, 2, 3, 4, 6]] {
        let found = held(sessions.claim(chain(rest)).await);
        assert_eq!(
            (found.session(), found.match_kind()),
            (&id, SessionMatchKind::Prefix),
            "{rest:?}"
        );
    }
    // What is new takes the place of both.
    let mut new = held(sessions.claim(chain(&[1, 2, 3, 5])).await);
    new.commit_reply(7, &[], None, None);
    drop(new);
    let branch = held(sessions.claim(chain(&[1, 2, 8])).await);
    assert_eq!((branch.match_kind(), branch.forked_from()), (SessionMatchKind::New, Some(&id)));
}

#[tokio::test(start_paused = true)]
async fn places_go_with_their_sessions_and_stay_with_the_others() {
    let sessions = sessions(|_| {});
    for at in 0..10_u128 {
        let mut held = held(sessions.claim(chain(&[at * 2 + 100])).await);
        held.commit_reply(at * 2 + 101, &[], Some(&format!("resp_{at}")), Some(stored("words")));
    }
    assert_eq!((sessions.stats().nodes, sessions.stats().depth), (20, 1));
    tokio::time::advance(20 * 3_600 * SECOND).await;
    drop(held(sessions.claim(chain(&[100, 101, 1])).await));
    tokio::time::advance(5 * 3_600 * SECOND).await;
    sessions.sweep();
    assert_eq!((sessions.stats().nodes, sessions.stats().sessions), (2, 1));
    assert_eq!(
        held(sessions.claim(chain(&[100, 101, 1])).await).match_kind(),
        SessionMatchKind::Prefix
    );
    tokio::time::advance(25 * 3_600 * SECOND).await;
    sessions.sweep();
    assert_eq!(sessions.stats(), SessionStats::default());
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_reply_leaves_no_session() {
    let sessions = sessions(|_| {});
    for named in [
        SessionSelector::None,
        SessionSelector::Name("mine"),
        SessionSelector::CacheKey("ours"),
        SessionSelector::Reply("r"),
    ] {
        drop(held(sessions.claim(SessionQuery { selector: named, ..chain(&[1]) }).await));
        assert_eq!(sessions.stats(), SessionStats::default(), "{named:?}");
    }
    let mut first = held(sessions.claim(chain(&[1])).await);
    first.commit_reply(2, &[], None, None);
    drop(first);
    drop(held(sessions.claim(chain(&[1, 2, 3])).await));
    assert_eq!((sessions.stats().sessions, sessions.stats().nodes), (1, 1));
    assert_eq!(
        held(sessions.claim(chain(&[1, 2, 3])).await).match_kind(),
        SessionMatchKind::Prefix
    );
}
