use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn sessions(change: impl FnOnce(&mut config::SessionConfig)) -> SessionIndex {
    let mut config = config::SessionConfig::default();
    change(&mut config);
    SessionIndex::new(config)
}

fn chain(digests: &[u128]) -> SessionQuery<'_> {
    SessionQuery {
        owner: "local",
        selector: SessionSelector::None,
        chain: digests,
        traits: ConversationTraits::default(),
        scope: 0,
        fingerprint: digests.iter().sum(),
        retry_mark: RetryMark::First,
        origin: RequestOrigin::Anonymous,
    }
}

fn claimed_guard(claimed: SessionMatch) -> SessionGuard {
    match claimed {
        SessionMatch::Acquired(guard) => guard,
        other => panic!("not held: {other:?}"),
    }
}

fn cached_reply(body: &str) -> CachedReply {
    let (status, headers) = (http::StatusCode::OK, Box::default());
    CachedReply { status, headers, body: body.to_owned().into() }
}

#[tokio::test(start_paused = true)]
async fn a_continued_conversation_is_found_by_its_longest_prefix() {
    let sessions = sessions(|_| {});
    let mut first = claimed_guard(sessions.claim(chain(&[1, 2])).await);
    assert_eq!(first.match_kind(), SessionMatchKind::New);
    first.commit_reply(3, &[], None, None);
    let id = first.session().clone();
    drop(first);
    let mut second = claimed_guard(sessions.claim(chain(&[1, 2, 3, 4])).await);
    assert_eq!((second.session(), second.match_kind()), (&id, SessionMatchKind::Prefix));
    second.commit_reply(5, &[], None, None);
    drop(second);
    // A second conversation with the same prefix is a separate one.
    let other = claimed_guard(sessions.claim(chain(&[1, 2])).await);
    assert_eq!((other.match_kind(), other.forked_from()), (SessionMatchKind::New, None));
    assert_ne!(other.session(), &id);
    // One that continues after an older reply is a branch.
    let branch = claimed_guard(sessions.claim(chain(&[1, 2, 3, 9])).await);
    assert_eq!((branch.match_kind(), branch.forked_from()), (SessionMatchKind::New, Some(&id)));
    let third = claimed_guard(sessions.claim(chain(&[1, 2, 3, 4, 5, 6])).await);
    assert_eq!(third.session(), &id);
    // While it is busy, a request is a branch, too.
    let meanwhile = claimed_guard(sessions.claim(chain(&[1, 2, 3, 4, 5, 7])).await);
    assert_eq!(meanwhile.forked_from(), Some(&id));
}

#[tokio::test(start_paused = true)]
async fn a_named_session_handles_one_request_at_a_time() {
    let sessions = sessions(|config| config.busy_wait = BusyPolicy::Wait(5 * SECOND));
    let query = SessionQuery { selector: SessionSelector::Name("mine"), ..chain(&[1]) };
    let first = claimed_guard(sessions.claim(query).await);
    assert_eq!((&**first.session(), first.match_kind()), ("mine", SessionMatchKind::Named));
    assert!(matches!(sessions.claim(query).await, SessionMatch::Busy), "nobody set it free");
    let waiting = tokio::spawn({
        let sessions = sessions.clone();
        async move { claimed_guard(sessions.claim(query).await).session().clone() }
    });
    tokio::task::yield_now().await;
    drop(first);
    assert_eq!(&*waiting.await.expect("a task"), "mine");
    let refusing = super::tests::sessions(|config| config.busy_wait = BusyPolicy::Refuse);
    let _first = claimed_guard(refusing.claim(query).await);
    assert!(matches!(refusing.claim(query).await, SessionMatch::Busy));
}

#[tokio::test(start_paused = true)]
async fn owners_do_not_share_sessions_or_scopes() {
    let sessions = sessions(|_| {});
    let one = SessionQuery { selector: SessionSelector::Name("mine"), ..chain(&[1]) };
    let first = claimed_guard(sessions.claim(one).await);
    let second = claimed_guard(sessions.claim(SessionQuery { owner: "b", ..one }).await);
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
async fn an_issued_id_names_its_session_for_its_owner_only() {
    let sessions = sessions(|_| {});
    let mut first = claimed_guard(sessions.claim(chain(&[1])).await);
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    drop(first);
    assert!(sessions.is_issued_name("local", &id) && !sessions.is_issued_name("b", &id));
    assert!(!sessions.is_issued_name("local", "mine"));
    let again = SessionQuery { selector: SessionSelector::Name(&id), ..chain(&[1, 2, 3]) };
    assert_eq!(claimed_guard(sessions.claim(again).await).session(), &id);
    // Another owner's id gives no access.
    let of_b = SessionQuery { owner: "b", ..chain(&[7]) };
    let mut b = claimed_guard(sessions.claim(of_b).await);
    b.commit_reply(8, &[], None, None);
    let theirs = b.session().clone();
    drop(b);
    let mine = SessionQuery { selector: SessionSelector::Name(&theirs), ..chain(&[8]) };
    assert_ne!(claimed_guard(sessions.claim(mine).await).session(), &theirs);
}

#[tokio::test(start_paused = true)]
async fn a_retry_gets_the_reply_that_was_lost() {
    let sessions = sessions(|_| {});
    let again = SessionQuery { retry_mark: RetryMark::Retry, ..chain(&[1, 2]) };
    let mut first = claimed_guard(sessions.claim(chain(&[1, 2])).await);
    let waiting = tokio::spawn({
        let sessions = sessions.clone();
        async move {
            sessions.claim(SessionQuery { retry_mark: RetryMark::Retry, ..chain(&[1, 2]) }).await
        }
    });
    tokio::task::yield_now().await;
    first.commit_reply(3, &[], None, Some(cached_reply("words")));
    drop(first);
    let replayed_body = |claimed: SessionMatch| match claimed {
        SessionMatch::Replay(reply) => reply.body.clone(),
        other => panic!("asked anew: {other:?}"),
    };
    assert_eq!(replayed_body(waiting.await.expect("a task")), "words");
    assert_eq!(replayed_body(sessions.claim(again).await), "words");
    // A request that is not marked as a retry is sent again: the client may want another reply.
    drop(claimed_guard(
        sessions.claim(SessionQuery { retry_mark: RetryMark::Ignored, ..again }).await,
    ));
    assert_eq!(replayed_body(sessions.claim(again).await), "words");
    tokio::time::advance(3_600 * SECOND).await;
    drop(claimed_guard(sessions.claim(again).await));
}

#[tokio::test(start_paused = true)]
async fn cached_replies_stay_within_the_byte_limit() {
    let sessions = sessions(|config| config.reply_cache = 8 * 4_000);
    for at in 0..100 {
        let mut guard = claimed_guard(sessions.claim(chain(&[at])).await);
        guard.commit_reply(at + 1_000, &[], None, Some(cached_reply(&"x".repeat(500))));
    }
    let stats = sessions.stats();
    assert!(stats.reply_bytes <= 4_000 && stats.replies == 4, "{stats:?}");
}

#[tokio::test(start_paused = true)]
async fn equal_requests_of_many_clients_take_no_memory_each() {
    let sessions = sessions(|_| {});
    for _ in 0..1_000 {
        let mut guard = claimed_guard(sessions.claim(chain(&[7])).await);
        guard.commit_reply(1_000, &[], None, Some(cached_reply("words")));
        tokio::time::advance(SECOND).await;
        sessions.sweep();
        let state = sessions.0.lock();
        assert!(state.replies.queued() <= 2 && state.replies.size().0 <= 1);
    }
}

#[test]
fn a_known_session_takes_little_memory() {
    assert!(size_of::<table::IndexedSession>() <= 104);
    for id in [
        "mine",
        "",
        "s-",
        "s-+123456789abcdef0123456789abcdef",
        "s-0123456789ABCDEF0123456789ABCDEF",
    ] {
        let compact = session_ids::CompactId::new(id);
        assert!(matches!(compact, session_ids::CompactId::Text(_)) && *compact.text() == *id);
    }
    for _ in 0..100 {
        let id = session_ids::new_session_id();
        let compact = session_ids::CompactId::new(&id);
        assert!(matches!(compact, session_ids::CompactId::Issued(_)) && compact.text() == id);
    }
}

#[tokio::test(start_paused = true)]
async fn expired_sessions_and_replies_are_removed() {
    let sessions = sessions(|_| {});
    let mut first = claimed_guard(sessions.claim(chain(&[1])).await);
    first.commit_reply(2, &[], Some("resp_1"), Some(cached_reply("words")));
    drop(first);
    assert_eq!((sessions.stats().sessions, sessions.stats().busy), (1, 0));
    tokio::time::advance(25 * 3_600 * SECOND).await;
    sessions.sweep();
    let stats = sessions.stats();
    assert_eq!(stats, SessionStats::default(), "nothing is left, whatever it was");
    assert_eq!(
        claimed_guard(sessions.claim(chain(&[1, 2, 3])).await).match_kind(),
        SessionMatchKind::New
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_is_found_by_reply_id_and_after_a_restart() {
    let before = sessions(|_| {});
    let mut first = claimed_guard(before.claim(chain(&[1])).await);
    first.commit_reply(2, &[], Some("resp_1"), None);
    let id = first.session().clone();
    drop(first);
    let named = SessionQuery { selector: SessionSelector::Reply("resp_1"), ..chain(&[9]) };
    let found = claimed_guard(before.claim(named).await);
    assert_eq!((found.session(), found.match_kind()), (&id, SessionMatchKind::Reply));
    let after = sessions(|_| {});
    after.load([(SessionHead { session: id.clone(), value: 2, at: 0 }, SECOND)]);
    let found = claimed_guard(after.claim(chain(&[1, 2, 3])).await);
    assert_eq!((found.session(), found.match_kind()), (&id, SessionMatchKind::Prefix));
}

#[tokio::test(start_paused = true)]
async fn a_million_conversations_do_not_grow_without_bound() {
    let sessions = sessions(|config| config.max_prefixes = 1_000);
    for at in 0..20_000_u128 {
        let mut guard = claimed_guard(sessions.claim(chain(&[at * 2])).await);
        guard.commit_reply(at * 2 + 1, &[], None, None);
    }
    let stats = sessions.stats();
    assert!(stats.sessions <= 1_000 && stats.nodes <= 1_000, "{stats:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_may_leave_out_a_reply_that_only_repeats_earlier_calls() {
    let sessions = sessions(|_| {});
    let mut first = claimed_guard(sessions.claim(chain(&[1])).await);
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    drop(first);
    let mut again = claimed_guard(sessions.claim(chain(&[1, 2, 3])).await);
    again.commit_reply(4, &[2], None, None);
    drop(again);
    for rest in [&[1, 2, 3, 5][..], &[1, 2, 3, 4, 6]] {
        let found = claimed_guard(sessions.claim(chain(rest)).await);
        assert_eq!(
            (found.session(), found.match_kind()),
            (&id, SessionMatchKind::Prefix),
            "{rest:?}"
        );
    }
    // A new reply replaces both.
    let mut new = claimed_guard(sessions.claim(chain(&[1, 2, 3, 5])).await);
    new.commit_reply(7, &[], None, None);
    drop(new);
    let branch = claimed_guard(sessions.claim(chain(&[1, 2, 8])).await);
    assert_eq!((branch.match_kind(), branch.forked_from()), (SessionMatchKind::New, Some(&id)));
}

#[tokio::test(start_paused = true)]
async fn prefixes_are_removed_with_their_sessions_only() {
    let sessions = sessions(|_| {});
    for at in 0..10_u128 {
        let mut guard = claimed_guard(sessions.claim(chain(&[at * 2 + 100])).await);
        guard.commit_reply(
            at * 2 + 101,
            &[],
            Some(&format!("resp_{at}")),
            Some(cached_reply("words")),
        );
    }
    assert_eq!((sessions.stats().nodes, sessions.stats().depth), (20, 1));
    tokio::time::advance(20 * 3_600 * SECOND).await;
    drop(claimed_guard(sessions.claim(chain(&[100, 101, 1])).await));
    tokio::time::advance(5 * 3_600 * SECOND).await;
    sessions.sweep();
    assert_eq!((sessions.stats().nodes, sessions.stats().sessions), (2, 1));
    assert_eq!(
        claimed_guard(sessions.claim(chain(&[100, 101, 1])).await).match_kind(),
        SessionMatchKind::Prefix
    );
    tokio::time::advance(25 * 3_600 * SECOND).await;
    sessions.sweep();
    assert_eq!(sessions.stats(), SessionStats::default());
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_reply_leaves_no_session() {
    let sessions = sessions(|_| {});
    for selector in [
        SessionSelector::None,
        SessionSelector::Name("mine"),
        SessionSelector::CacheKey("ours"),
        SessionSelector::Reply("r"),
    ] {
        drop(claimed_guard(sessions.claim(SessionQuery { selector, ..chain(&[1]) }).await));
        assert_eq!(sessions.stats(), SessionStats::default(), "{selector:?}");
    }
    let mut first = claimed_guard(sessions.claim(chain(&[1])).await);
    first.commit_reply(2, &[], None, None);
    drop(first);
    drop(claimed_guard(sessions.claim(chain(&[1, 2, 3])).await));
    assert_eq!((sessions.stats().sessions, sessions.stats().nodes), (1, 1));
    assert_eq!(
        claimed_guard(sessions.claim(chain(&[1, 2, 3])).await).match_kind(),
        SessionMatchKind::Prefix
    );
}
