//! Requests under a name: which of them continue the named session, and which run beside it.
//!
//! Agents send more than one conversation under one name: the title of a session, a summary, the
//! work of a sub-agent. Such a conversation shares no message with the one that has the session. It
//! gets a session of its own, a branch, which its later requests find by their history.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, time::Instant};

use super::{
    SessionMatchKind, SessionQuery,
    keys::owner_key,
    prefix_index::PrefixNode,
    table::{ResolvedSession, SessionTable},
};
use crate::config::SessionConfig;

impl SessionTable {
    /// The session of a request under a name.
    ///
    /// # Errors
    /// If another request of the same conversation is in progress: what notifies its end.
    pub(super) fn resolve_name(
        &mut self,
        query: &SessionQuery<'_>,
        name: &str,
        now: Instant,
        config: &SessionConfig,
    ) -> Result<ResolvedSession, Arc<Notify>> {
        let in_progress = query.traits.opening.and_then(|opening| self.openings.get(&opening));
        if let Some(waiting) = in_progress.and_then(|serial| self.busy(*serial)) {
            return Err(waiting);
        }
        let named = self.find_named(query.owner, name, now);
        let main = self.main_session(named);
        let known = self.known_reply(query, named, now, config.session_ttl);
        if let Some(node) = known.filter(|node| node.session != main) {
            let serial = node.session;
            if let Some(waiting) = self.busy(serial) {
                return Err(waiting);
            }
            // As without a name: one that continues after an older reply is another branch.
            if self.session(serial).is_some_and(|session| session.newest != node.number) {
                return Ok(self.start_branch(query, serial, now));
            }
            self.pass_name(query, named, main, serial);
            let is_main = self.main_session(named) == serial;
            let kind = if is_main { SessionMatchKind::Named } else { SessionMatchKind::Prefix };
            return Ok((serial, kind, None));
        }
        match self.busy(main) {
            Some(waiting) if known.is_some() || query.traits.opening.is_none() => Err(waiting),
            Some(_) => Ok(self.start_branch(query, named, now)),
            None if known.is_none() && self.is_beside(query, main, now, config) => {
                Ok(self.start_branch(query, named, now))
            }
            None => Ok((main, SessionMatchKind::Named, None)),
        }
    }

    /// Whether a request with an unknown history runs beside the idle session that has the name,
    /// rather than continue it with a rewritten history: that session waits for tool results, or
    /// has tools and this request has none.
    fn is_beside(
        &self,
        query: &SessionQuery<'_>,
        main: u32,
        now: Instant,
        config: &SessionConfig,
    ) -> bool {
        let Some(session) = self.session(main).filter(|session| session.used) else {
            return false;
        };
        let traits = query.traits;
        let waits = session.awaits_results && now.duration_since(session.at) < config.call_timeout;
        let lacks_tools = session.has_tools && !traits.has_tools;
        traits.opening.is_some() && !traits.has_results && (waits || lacks_tools)
    }

    /// The reply that the request continues, and its session. An id that we issued names its session and no
    /// other.
    fn known_reply(
        &mut self,
        query: &SessionQuery<'_>,
        named: u32,
        now: Instant,
        max_age: Duration,
    ) -> Option<PrefixNode> {
        let is_issued = self.session(named).is_some_and(|session| session.is_issued);
        query.prefix_keys().find_map(|key| {
            let node = self.prefixes.get(key)?;
            let session = self.session(node.session)?;
            let is_recent = now.duration_since(session.at) <= max_age;
            let is_own = session.owner.is_none_or(|owner| owner == owner_key(query.owner));
            (is_recent && is_own && (node.session == named || !is_issued)).then_some(node)
        })
    }

    /// The name follows the conversation with tools that goes on, if it began with another: the
    /// title of a session may be requested before its first reply.
    fn pass_name(&mut self, query: &SessionQuery<'_>, named: u32, main: u32, branch: u32) {
        let is_single = self.session(main).is_some_and(|main| main.newest <= 1 && !main.has_tools);
        if is_single
            && query.traits.has_tools
            && let Some(session) = self.session_mut(named)
        {
            session.continued_in = Some(branch);
        }
    }

    /// The session that has the name.
    fn main_session(&self, named: u32) -> u32 {
        let continued = self.session(named).and_then(|session| session.continued_in);
        continued.unwrap_or(named)
    }

    fn start_branch(
        &mut self,
        query: &SessionQuery<'_>,
        parent: u32,
        now: Instant,
    ) -> ResolvedSession {
        let parent = self.session(parent).map(|session| session.id());
        (self.create_unnamed(query.owner, now), SessionMatchKind::New, parent)
    }

    /// What notifies the end of the request that has a session.
    fn busy(&self, serial: u32) -> Option<Arc<Notify>> {
        self.session(serial).and_then(|session| session.busy.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::*;

    const TOOLS: ConversationTraits =
        ConversationTraits { opening: None, has_tools: true, has_results: false };

    fn sessions() -> SessionIndex {
        let busy_wait = BusyPolicy::Refuse;
        SessionIndex::new(config::SessionConfig { busy_wait, ..config::SessionConfig::default() })
    }

    /// A request under the name `mine`: its digests, the first of which is its opening.
    fn named(chain: &[u128], traits: ConversationTraits) -> SessionQuery<'_> {
        SessionQuery {
            owner: "local",
            selector: SessionSelector::Name("mine"),
            chain,
            traits: ConversationTraits { opening: chain.first().copied(), ..traits },
            scope: 0,
            fingerprint: 0,
            retry_mark: RetryMark::Ignored,
            origin: RequestOrigin::Declared,
        }
    }

    async fn claim(
        sessions: &SessionIndex,
        chain: &[u128],
        traits: ConversationTraits,
    ) -> Option<SessionGuard> {
        match sessions.claim(named(chain, traits)).await {
            SessionMatch::Acquired(guard) => Some(guard),
            SessionMatch::Busy => None,
            SessionMatch::Replay(_) | SessionMatch::Elsewhere(_) => panic!("nothing is cached"),
        }
    }

    async fn acquire(sessions: &SessionIndex, chain: &[u128]) -> SessionGuard {
        claim(sessions, chain, TOOLS).await.unwrap_or_else(|| panic!("{chain:?} waits"))
    }

    /// Sends a request and gets its reply. Returns its session.
    async fn exchange(sessions: &SessionIndex, chain: &[u128], tip: u128) -> Arc<str> {
        let mut guard = acquire(sessions, chain).await;
        guard.commit_reply(tip, &[], None, None);
        guard.session().clone()
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_share_no_message_do_not_wait_for_each_other() {
        let sessions = sessions();
        let mut title =
            claim(&sessions, &[1, 2], ConversationTraits::default()).await.expect("one");
        let mut main = acquire(&sessions, &[10]).await;
        assert_eq!((&**title.session(), title.match_kind().name()), ("mine", "session-id"));
        assert_eq!(
            (main.match_kind(), main.forked_from()),
            (SessionMatchKind::New, Some(title.session()))
        );
        // Each of them waits for the one that it continues or repeats.
        for chain in [&[1, 2, 3][..], &[1, 2], &[1], &[10, 11, 12], &[10]] {
            assert!(claim(&sessions, chain, TOOLS).await.is_none(), "{chain:?} does not wait");
        }
        // What is not known to be another conversation waits.
        let query = named(&[20], TOOLS);
        let traits = ConversationTraits { opening: None, ..query.traits };
        let unknown = sessions.claim(SessionQuery { traits, ..query }).await;
        assert!(matches!(unknown, SessionMatch::Busy));
        title.commit_reply(3, &[], None, None);
        main.commit_reply(11, &[], None, None);
        let branch = main.session().clone();
        drop((title, main));
        // The conversation that goes on keeps its session, and has the name from now on.
        assert_eq!(exchange(&sessions, &[10, 11, 12], 13).await, branch);
        let rewritten = acquire(&sessions, &[30]).await;
        assert_eq!((rewritten.session(), rewritten.match_kind().name()), (&branch, "session-id"));
        drop(rewritten);
        assert_eq!(&*exchange(&sessions, &[1, 2, 3, 4], 5).await, "mine");
        assert_eq!(sessions.stats().busy, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rewritten_history_keeps_the_name_and_a_side_request_does_not_take_it() {
        let sessions = sessions();
        assert_eq!(&*exchange(&sessions, &[1], 2).await, "mine");
        assert_eq!(&*exchange(&sessions, &[7], 8).await, "mine", "a compaction by the client");
        let title = claim(&sessions, &[20], ConversationTraits::default()).await.expect("free");
        assert_ne!(&**title.session(), "mine", "a request without tools");
        assert_eq!(&*exchange(&sessions, &[7, 8, 9], 10).await, "mine", "it does not wait");
    }

    #[tokio::test(start_paused = true)]
    async fn sub_agents_do_not_take_a_session_that_waits_for_results() {
        let sessions = sessions();
        let mut main = acquire(&sessions, &[1]).await;
        main.commit_reply(2, &[], None, None);
        main.expect_results();
        drop(main);
        let (one, two) = (acquire(&sessions, &[10]).await, acquire(&sessions, &[20]).await);
        assert!(&**one.session() != "mine" && one.session() != two.session());
        drop((one, two));
        let helper = exchange(&sessions, &[10], 11).await;
        assert_eq!(exchange(&sessions, &[10, 11, 12], 13).await, helper);
        // Results of a rewritten history belong to the session that waits.
        let results = ConversationTraits { has_results: true, ..TOOLS };
        let back = claim(&sessions, &[30], results).await.expect("free");
        assert_eq!(&**back.session(), "mine");
        drop(back);
        assert_eq!(&*exchange(&sessions, &[40], 41).await, "mine", "nothing is open any more");
        let mut main = acquire(&sessions, &[40, 41, 42]).await;
        main.commit_reply(43, &[], None, None);
        main.expect_results();
        drop(main);
        tokio::time::advance(Duration::from_secs(601)).await;
        assert_eq!(&*exchange(&sessions, &[50], 51).await, "mine", "the calls have timed out");
    }

    /// Whatever the order of requests and replies: two requests in progress never have one session,
    /// and one that continues another waits for it.
    #[tokio::test(start_paused = true)]
    async fn conversations_under_a_name_never_share_a_session_in_progress() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |sides: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % sides as u64) as usize
        };
        for _ in 0..200 {
            let sessions = sessions();
            let mut histories: Vec<Vec<u128>> = (0..4).map(|at| vec![at * 1_000 + 1]).collect();
            let mut open: Vec<Option<SessionGuard>> = (0..4).map(|_| None).collect();
            for _ in 0..60 {
                let at = random(4);
                let history = &mut histories[at];
                if let Some(mut guard) = open[at].take() {
                    let again = claim(&sessions, history, TOOLS).await;
                    assert!(again.is_none(), "the same conversation twice at once");
                    if random(4) > 0 {
                        let next = history.last().map_or(0, |last| last + 1);
                        guard.commit_reply(next, &[], None, None);
                        if random(2) == 0 {
                            guard.expect_results();
                        }
                        history.extend([next, next + 1]);
                    }
                    continue;
                }
                let tools = ConversationTraits { has_tools: random(3) > 0, ..TOOLS };
                open[at] = claim(&sessions, history, tools).await;
                let mut held: Vec<&str> =
                    open.iter().flatten().map(|guard| &**guard.session()).collect();
                let count = held.len();
                held.sort_unstable();
                held.dedup();
                assert_eq!(held.len(), count, "a session has two requests");
                assert_eq!(sessions.stats().busy, count);
            }
        }
    }
}
