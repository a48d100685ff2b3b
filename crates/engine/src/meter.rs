//! What operators count: how much is asked, found, repaired and lost. Never content, never names
//! that a client chose.
//!
//! What every request touches is made beforehand, so that counting is one addition; the rest is
//! looked up by its labels.

mod route;

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use foxwedge_run::Outcome;
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::{Action, Noted, agent::Counts, session::Stats};

pub use route::{Bytes, Dropped, Metered, Refusal, Route, Tally};

/// Counters of one process. A copy counts into the same.
#[derive(Clone)]
pub struct Meter(Arc<Inner>);

type Label = Cow<'static, str>;
type Labelled<const N: usize> = Family<[(&'static str, Label); N], Counter>;

struct Inner {
    registry: Registry,
    requests: Vec<Counter>,
    replies: Vec<Counter>,
    bytes: Vec<Counter>,
    overhead: Histogram,
    matched: Vec<(&'static str, Counter)>,
    findings: Labelled<1>,
    repairs: Labelled<2>,
    upstream_400: Labelled<1>,
    runs: Vec<Counter>,
    tools_open: Gauge,
    late_events: Counter,
    sessions: [(&'static str, &'static str, Gauge); 6],
    connections: Gauge,
    agents: [(&'static str, &'static str, Gauge); 4],
    refused: Vec<Counter>,
    at_work: Gauge,
    upstream: Labelled<2>,
    /// The counters of an upstream by class, found by its name. There are few.
    upstreams: RwLock<Vec<(Box<str>, Vec<Counter>)>>,
    retries: Labelled<1>,
    dropped: Vec<Counter>,
}

/// The ways a session is found.
const KINDS: [&str; 5] = ["session-id", "prefix", "response", "call", "new"];

/// What the gateway itself costs a request, in seconds: from 5 µs to 0.1 s.
const OVERHEAD: [f64; 12] = [5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 1e-2, 3e-2, 0.1];

impl Default for Meter {
    fn default() -> Meter {
        Meter::new()
    }
}

impl Meter {
    /// All at zero.
    pub fn new() -> Meter {
        let mut registry = Registry::with_prefix("foxwedge");
        let to = &mut registry;
        let requests = Labelled::default();
        let replies = Labelled::default();
        let bytes = Labelled::default();
        let matched = Labelled::default();
        let runs = Labelled::default();
        let refused = Labelled::default();
        let dropped = Labelled::default();
        let of = |family: &Labelled<1>, key, value: &'static str| {
            family.get_or_create_owned(&[(key, value.into())])
        };
        let of_two =
            |family: &Labelled<2>, one: (&'static str, &'static str), two: (_, &'static str)| {
                family.get_or_create_owned(&[(one.0, one.1.into()), (two.0, two.1.into())])
            };
        let inner = Inner {
            requests: Route::ALL
                .iter()
                .flat_map(|route| Tally::ALL.map(|tally| (route.name(), tally.name())))
                .map(|(route, action)| of_two(&requests, ("route", route), ("action", action)))
                .collect(),
            replies: Route::ALL
                .iter()
                .flat_map(|route| CLASSES.map(|class| (route.name(), class)))
                .map(|(route, class)| of_two(&replies, ("route", route), ("status", class)))
                .collect(),
            bytes: Bytes::ALL.map(|way| of(&bytes, "way", way.name())).into(),
            matched: KINDS.map(|kind| (kind, of(&matched, "kind", kind))).into(),
            runs: Outcome::ALL.map(|end| of(&runs, "terminal_reason", end.name())).into(),
            refused: Refusal::ALL.map(|why| of(&refused, "why", why.name())).into(),
            dropped: Dropped::ALL.map(|what| of(&dropped, "what", what.name())).into(),
            overhead: Histogram::new(OVERHEAD),
            findings: Family::default(),
            repairs: Family::default(),
            upstream_400: Family::default(),
            tools_open: Gauge::default(),
            late_events: Counter::default(),
            sessions: [
                ("trie_nodes", "Places in conversations that are remembered"),
                ("trie_depth", "Replies of the longest conversation that is remembered"),
                ("sessions", "Sessions that are remembered"),
                ("sessions_busy", "Sessions with a request that is not over"),
                ("snapshots", "Replies that are kept for clients that ask again"),
                ("snapshot_bytes", "Bytes of these replies"),
            ]
            .map(|(name, help)| (name, help, Gauge::default())),
            connections: Gauge::default(),
            agents: [
                ("agent_processes", "Live agents"),
                ("agents_waiting", "Live agents that wait for answers of their clients"),
                ("agent_calls_open", "Calls of live agents without an answer"),
                ("agent_questions", "Questions of live agents that wait for a person"),
            ]
            .map(|(name, help)| (name, help, Gauge::default())),
            at_work: Gauge::default(),
            upstream: Family::default(),
            upstreams: RwLock::default(),
            retries: Family::default(),
            registry: Registry::default(),
        };
        to.register("requests", "Requests, by endpoint and what was done about them", requests);
        to.register("replies", "Replies, by endpoint and class of status", replies);
        to.register("bytes", "Bytes of bodies", bytes);
        to.register("findings", "Rules broken by histories", inner.findings.clone());
        to.register("repairs", "Repairs, by rule and what was done", inner.repairs.clone());
        to.register(
            "upstream_400",
            "Refusals by upstreams for the shape of a request",
            inner.upstream_400.clone(),
        );
        to.register("runs", "Runs that ended, and how", runs);
        to.register("tools_open", "Calls without an answer", inner.tools_open.clone());
        to.register(
            "late_events",
            "Events that came after the end of their run",
            inner.late_events.clone(),
        );
        for (name, help, gauge) in &inner.sessions {
            to.register(*name, *help, gauge.clone());
        }
        to.register("match", "How the session of a request was found", matched);
        to.register(
            "overhead_seconds",
            "What a request spent in the gateway before it was sent on",
            inner.overhead.clone(),
        );
        for (name, help, gauge) in &inner.agents {
            to.register(*name, *help, gauge.clone());
        }
        to.register("connections", "Connections of clients", inner.connections.clone());
        to.register("connections_refused", "Connections that were closed at once", refused);
        to.register("requests_at_work", "Requests that are not over", inner.at_work.clone());
        to.register(
            "upstream_requests",
            "Requests to upstreams, by class of status",
            inner.upstream.clone(),
        );
        to.register("retries", "Requests to upstreams that were sent again", inner.retries.clone());
        to.register("dropped", "What could not be kept because its queue was full", dropped);
        Meter(Arc::new(Inner { registry, ..inner }))
    }

    /// A request came to a decision. `None`: it failed before.
    pub fn request(&self, route: Route, action: Option<Action>) {
        let place = route as usize * Tally::ALL.len() + Tally::of(action) as usize;
        count(self.0.requests.get(place), 1);
    }

    /// A reply began.
    pub fn reply(&self, route: Route, status: http::StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        count(self.0.replies.get(route as usize * CLASSES.len() + class), 1);
    }

    /// Bytes of a body.
    pub fn bytes(&self, way: Bytes, number: usize) {
        count(self.0.bytes.get(way as usize), number as u64);
    }

    /// What was found in a history, and what was done about it.
    pub fn noted(&self, noted: &[Noted], action: Action) {
        for one in noted {
            let code: Label = format!("FW{}", one.code).into();
            let number = one.count as u64;
            self.0.findings.get_or_create(&[("code", code.clone())]).inc_by(number);
            match action {
                Action::Fixed => {
                    let labels = [("code", code), ("strategy", one.strategy.into())];
                    self.0.repairs.get_or_create(&labels).inc_by(number);
                }
                Action::None | Action::Observed | Action::Rejected => {}
            }
        }
    }

    /// An upstream refused a request for its shape.
    pub fn upstream_400(&self, class: &'static str) {
        self.0.upstream_400.get_or_create(&[("class", class.into())]).inc();
    }

    /// A run ended.
    pub fn run(&self, outcome: Outcome) {
        let place = Outcome::ALL.iter().position(|one| *one == outcome);
        count(place.and_then(|place| self.0.runs.get(place)), 1);
    }

    /// So many more calls wait for an answer, or fewer.
    pub fn tools_open(&self, change: i64) {
        self.0.tools_open.inc_by(change);
    }

    /// Events that came after the end of their run.
    pub fn late_events(&self, number: u64) {
        self.0.late_events.inc_by(number);
    }

    /// So much is remembered of conversations.
    pub fn sessions(&self, stats: Stats) {
        let Stats { nodes, depth, sessions, busy, replies, reply_bytes } = stats;
        let numbers = [nodes, depth, sessions, busy, replies, reply_bytes];
        for ((_, _, gauge), number) in self.0.sessions.iter().zip(numbers) {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    /// So many live agents there are, and so much they wait for.
    pub fn agents(&self, counts: Counts) {
        let numbers = [counts.processes, counts.waiting, counts.calls, counts.questions];
        for ((_, _, gauge), number) in self.0.agents.iter().zip(numbers) {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    /// A session was found, by one of the ways that have a name.
    pub fn matched(&self, kind: &'static str) {
        count(self.0.matched.iter().find(|(name, _)| *name == kind).map(|(_, to)| to), 1);
    }

    /// What a request spent in the gateway before it was sent on.
    pub fn overhead(&self, time: Duration) {
        self.0.overhead.observe(time.as_secs_f64());
    }

    /// A connection, counted until it is dropped.
    #[must_use]
    pub fn connection(&self) -> Metered {
        Metered::new(self.0.connections.clone())
    }

    /// A request at work, counted until it is dropped.
    #[must_use]
    pub fn at_work(&self) -> Metered {
        Metered::new(self.0.at_work.clone())
    }

    /// A connection was closed at once.
    pub fn refused(&self, why: Refusal) {
        count(self.0.refused.get(why as usize), 1);
    }

    /// An upstream replied, or `None`: could not be reached or broke off.
    pub fn upstream(&self, name: &str, status: Option<http::StatusCode>) {
        let class = status.map_or(0, |status| usize::from(status.as_u16() / 100));
        let class = class.min(CLASSES.len());
        {
            let known = self.0.upstreams.read().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, counters)) = known.iter().find(|(one, _)| **one == *name) {
                return count(counters.get(class), 1);
            }
        }
        let counters: Vec<_> = std::iter::once("none")
            .chain(CLASSES)
            .map(|class| {
                let labels = [("upstream", Cow::Owned(name.to_owned())), ("status", class.into())];
                self.0.upstream.get_or_create_owned(&labels)
            })
            .collect();
        count(counters.get(class), 1);
        let mut known = self.0.upstreams.write().unwrap_or_else(PoisonError::into_inner);
        if !known.iter().any(|(one, _)| **one == *name) {
            known.push((name.into(), counters));
        }
    }

    /// A request to an upstream was sent again.
    pub fn retry(&self, name: &str) {
        self.0.retries.get_or_create(&[("upstream", Cow::Owned(name.to_owned()))]).inc();
    }

    /// Something could not be kept because its queue was full.
    pub fn dropped(&self, what: Dropped, number: u64) {
        count(self.0.dropped.get(what as usize), number);
    }

    /// Everything, as OpenMetrics text.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(8 << 10);
        // Writing into a text cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Meter")
    }
}

/// The classes of a status, `1xx` first.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

fn count(counter: Option<&Counter>, number: u64) {
    if let Some(counter) = counter {
        counter.inc_by(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_can_be_read() {
        let meter = Meter::new();
        let noted = [Noted { code: 101, strategy: "insert-answer", count: 2 }];
        meter.request(Route::Chat, Some(Action::Fixed));
        meter.request(Route::Other, None);
        meter.reply(Route::Chat, http::StatusCode::OK);
        meter.bytes(Bytes::In, 12);
        meter.noted(&noted, Action::Fixed);
        meter.noted(&noted, Action::Observed);
        meter.upstream_400("unanswered-call");
        meter.run(Outcome::Interrupted);
        meter.tools_open(3);
        meter.tools_open(-1);
        meter.late_events(4);
        meter.sessions(Stats { nodes: 5, depth: 3, sessions: 2, ..Stats::default() });
        meter.matched("prefix");
        meter.overhead(Duration::from_micros(30));
        meter.refused(Refusal::PerAddress);
        meter.upstream("main", Some(http::StatusCode::TOO_MANY_REQUESTS));
        meter.upstream("main", None);
        meter.upstream("main", Some(http::StatusCode::OK));
        meter.upstream("main", Some(http::StatusCode::OK));
        meter.retry("main");
        meter.dropped(Dropped::Records, 6);
        let connection = meter.connection();
        let text = meter.render();
        for line in [
            r#"foxwedge_requests_total{route="chat",action="fixed"} 1"#,
            r#"foxwedge_requests_total{route="other",action="failed"} 1"#,
            r#"foxwedge_requests_total{route="messages",action="none"} 0"#,
            r#"foxwedge_replies_total{route="chat",status="2xx"} 1"#,
            r#"foxwedge_bytes_total{way="in"} 12"#,
            r#"foxwedge_findings_total{code="FW101"} 4"#,
            r#"foxwedge_repairs_total{code="FW101",strategy="insert-answer"} 2"#,
            r#"foxwedge_upstream_400_total{class="unanswered-call"} 1"#,
            r#"foxwedge_runs_total{terminal_reason="interrupted"} 1"#,
            "foxwedge_tools_open 2",
            "foxwedge_late_events_total 4",
            "foxwedge_trie_nodes 5",
            "foxwedge_trie_depth 3",
            "foxwedge_sessions 2",
            "foxwedge_snapshots 0",
            r#"foxwedge_match_total{kind="prefix"} 1"#,
            r#"foxwedge_overhead_seconds_bucket{le="0.00005"} 1"#,
            "foxwedge_connections 1",
            r#"foxwedge_connections_refused_total{why="per-address"} 1"#,
            r#"foxwedge_upstream_requests_total{upstream="main",status="4xx"} 1"#,
            r#"foxwedge_upstream_requests_total{upstream="main",status="none"} 1"#,
            r#"foxwedge_upstream_requests_total{upstream="main",status="2xx"} 2"#,
            r#"foxwedge_retries_total{upstream="main"} 1"#,
            r#"foxwedge_dropped_total{what="records"} 6"#,
            "# EOF",
        ] {
            assert!(text.lines().any(|one| one == line), "`{line}` is missing in:\n{text}");
        }
        drop(connection);
        assert!(meter.render().lines().any(|line| line == "foxwedge_connections 0"));
    }
}
