//! What operators count: how much is asked, found, repaired and lost. Never content, never names
//! that a client chose.
//!
//! What every request touches is made beforehand, so that counting is one addition; the rest is
//! looked up by its labels.

mod labels;

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

use crate::{FindingTally, GuardAction, agent::AgentCounts, session::SessionStats};

pub use labels::{
    ByteDirection, ConnectionRefusal, DroppedItem, GaugeGuard, MetricAction, MetricRoute,
};

/// Counters of one process. A copy counts into the same.
#[derive(Clone)]
pub struct Metrics(Arc<MetricsShared>);

type MetricLabel = Cow<'static, str>;
type LabeledCounter<const N: usize> = Family<[(&'static str, MetricLabel); N], Counter>;

struct MetricsShared {
    registry: Registry,
    requests: Vec<Counter>,
    replies: Vec<Counter>,
    bytes: Vec<Counter>,
    overhead: Histogram,
    session_matches: Vec<(&'static str, Counter)>,
    findings: LabeledCounter<1>,
    repairs: LabeledCounter<2>,
    upstream_400: LabeledCounter<1>,
    runs: Vec<Counter>,
    tools_open: Gauge,
    late_events: Counter,
    sessions: [(&'static str, &'static str, Gauge); 6],
    connections: Gauge,
    agents: [(&'static str, &'static str, Gauge); 4],
    refused_connections: Vec<Counter>,
    active_requests: Gauge,
    upstream_requests: LabeledCounter<2>,
    /// The counters of an upstream by class, found by its name. There are few.
    known_upstreams: RwLock<Vec<(Box<str>, Vec<Counter>)>>,
    retries: LabeledCounter<1>,
    dropped: Vec<Counter>,
}

/// The ways a session is found.
const MATCH_KINDS: [&str; 5] = ["session-id", "prefix", "response", "call", "new"];

/// What the gateway itself costs a request, in seconds: from 5 µs to 0.1 s.
const OVERHEAD_BUCKETS: [f64; 12] =
    [5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 1e-2, 3e-2, 0.1];

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("foxwedge");
        let to = &mut registry;
        let requests = LabeledCounter::default();
        let replies = LabeledCounter::default();
        let bytes = LabeledCounter::default();
        let matched = LabeledCounter::default();
        let runs = LabeledCounter::default();
        let refused = LabeledCounter::default();
        let dropped = LabeledCounter::default();
        let of = |family: &LabeledCounter<1>, key, value: &'static str| {
            family.get_or_create_owned(&[(key, value.into())])
        };
        let of_two = |family: &LabeledCounter<2>,
                      one: (&'static str, &'static str),
                      two: (_, &'static str)| {
            family.get_or_create_owned(&[(one.0, one.1.into()), (two.0, two.1.into())])
        };
        let inner = MetricsShared {
            requests: MetricRoute::ALL
                .iter()
                .flat_map(|route| MetricAction::ALL.map(|tally| (route.name(), tally.name())))
                .map(|(route, action)| of_two(&requests, ("route", route), ("action", action)))
                .collect(),
            replies: MetricRoute::ALL
                .iter()
                .flat_map(|route| STATUS_CLASSES.map(|class| (route.name(), class)))
                .map(|(route, class)| of_two(&replies, ("route", route), ("status", class)))
                .collect(),
            bytes: ByteDirection::ALL.map(|way| of(&bytes, "way", way.name())).into(),
            session_matches: MATCH_KINDS.map(|kind| (kind, of(&matched, "kind", kind))).into(),
            runs: Outcome::ALL.map(|end| of(&runs, "terminal_reason", end.name())).into(),
            refused_connections: ConnectionRefusal::ALL
                .map(|why| of(&refused, "why", why.name()))
                .into(),
            dropped: DroppedItem::ALL.map(|what| of(&dropped, "what", what.name())).into(),
            overhead: Histogram::new(OVERHEAD_BUCKETS),
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
            active_requests: Gauge::default(),
            upstream_requests: Family::default(),
            known_upstreams: RwLock::default(),
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
        to.register(
            "requests_at_work",
            "Requests that are not over",
            inner.active_requests.clone(),
        );
        to.register(
            "upstream_requests",
            "Requests to upstreams, by class of status",
            inner.upstream_requests.clone(),
        );
        to.register("retries", "Requests to upstreams that were sent again", inner.retries.clone());
        to.register("dropped", "What could not be kept because its queue was full", dropped);
        Metrics(Arc::new(MetricsShared { registry, ..inner }))
    }

    /// A request came to a decision. `None`: it failed before.
    pub fn count_request(&self, route: MetricRoute, action: Option<GuardAction>) {
        let place =
            route as usize * MetricAction::ALL.len() + MetricAction::from_action(action) as usize;
        add_to_counter(self.0.requests.get(place), 1);
    }

    /// A reply began.
    pub fn count_reply(&self, route: MetricRoute, status: http::StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, STATUS_CLASSES.len()) - 1;
        add_to_counter(self.0.replies.get(route as usize * STATUS_CLASSES.len() + class), 1);
    }

    /// Bytes of a body.
    pub fn count_bytes(&self, way: ByteDirection, number: usize) {
        add_to_counter(self.0.bytes.get(way as usize), number as u64);
    }

    /// What was found in a history, and what was done about it.
    pub fn count_findings(&self, noted: &[FindingTally], action: GuardAction) {
        for one in noted {
            let code: MetricLabel = format!("FW{}", one.code).into();
            let number = one.count as u64;
            self.0.findings.get_or_create(&[("code", code.clone())]).inc_by(number);
            match action {
                GuardAction::Fixed => {
                    let labels = [("code", code), ("strategy", one.strategy.into())];
                    self.0.repairs.get_or_create(&labels).inc_by(number);
                }
                GuardAction::None | GuardAction::Observed | GuardAction::Rejected => {}
            }
        }
    }

    /// An upstream refused a request for its shape.
    pub fn count_upstream_400(&self, class: &'static str) {
        self.0.upstream_400.get_or_create(&[("class", class.into())]).inc();
    }

    /// A run ended.
    pub fn count_run(&self, outcome: Outcome) {
        let place = Outcome::ALL.iter().position(|one| *one == outcome);
        add_to_counter(place.and_then(|place| self.0.runs.get(place)), 1);
    }

    /// So many more calls wait for an answer, or fewer.
    pub fn change_tools_open(&self, change: i64) {
        self.0.tools_open.inc_by(change);
    }

    /// Events that came after the end of their run.
    pub fn count_late_events(&self, number: u64) {
        self.0.late_events.inc_by(number);
    }

    /// So much is remembered of conversations.
    pub fn set_sessions(&self, stats: SessionStats) {
        let SessionStats { nodes, depth, sessions, busy, replies, reply_bytes } = stats;
        let numbers = [nodes, depth, sessions, busy, replies, reply_bytes];
        for ((_, _, gauge), number) in self.0.sessions.iter().zip(numbers) {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    /// So many live agents there are, and so much they wait for.
    pub fn set_agents(&self, counts: AgentCounts) {
        let numbers = [counts.processes, counts.waiting, counts.calls, counts.questions];
        for ((_, _, gauge), number) in self.0.agents.iter().zip(numbers) {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    /// A session was found, by one of the ways that have a name.
    pub fn count_match(&self, kind: &'static str) {
        add_to_counter(
            self.0.session_matches.iter().find(|(name, _)| *name == kind).map(|(_, to)| to),
            1,
        );
    }

    /// What a request spent in the gateway before it was sent on.
    pub fn observe_overhead(&self, time: Duration) {
        self.0.overhead.observe(time.as_secs_f64());
    }

    /// A connection, counted until it is dropped.
    #[must_use]
    pub fn track_connection(&self) -> GaugeGuard {
        GaugeGuard::new(self.0.connections.clone())
    }

    /// A request at work, counted until it is dropped.
    #[must_use]
    pub fn track_request(&self) -> GaugeGuard {
        GaugeGuard::new(self.0.active_requests.clone())
    }

    /// A connection was closed at once.
    pub fn count_refused(&self, why: ConnectionRefusal) {
        add_to_counter(self.0.refused_connections.get(why as usize), 1);
    }

    /// An upstream replied, or `None`: could not be reached or broke off.
    pub fn count_upstream(&self, name: &str, status: Option<http::StatusCode>) {
        let class = status.map_or(0, |status| usize::from(status.as_u16() / 100));
        let class = class.min(STATUS_CLASSES.len());
        {
            let known = self.0.known_upstreams.read().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, counters)) = known.iter().find(|(one, _)| **one == *name) {
                return add_to_counter(counters.get(class), 1);
            }
        }
        let counters: Vec<_> = std::iter::once("none")
            .chain(STATUS_CLASSES)
            .map(|class| {
                let labels = [("upstream", Cow::Owned(name.to_owned())), ("status", class.into())];
                self.0.upstream_requests.get_or_create_owned(&labels)
            })
            .collect();
        add_to_counter(counters.get(class), 1);
        let mut known = self.0.known_upstreams.write().unwrap_or_else(PoisonError::into_inner);
        if !known.iter().any(|(one, _)| **one == *name) {
            known.push((name.into(), counters));
        }
    }

    /// A request to an upstream was sent again.
    pub fn count_retry(&self, name: &str) {
        self.0.retries.get_or_create(&[("upstream", Cow::Owned(name.to_owned()))]).inc();
    }

    /// Something could not be kept because its queue was full.
    pub fn count_dropped(&self, what: DroppedItem, number: u64) {
        add_to_counter(self.0.dropped.get(what as usize), number);
    }

    /// Everything, as OpenMetrics text.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(8 << 10);
        // Writing into a text cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Meter")
    }
}

/// The classes of a status, `1xx` first.
const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

fn add_to_counter(counter: Option<&Counter>, number: u64) {
    if let Some(counter) = counter {
        counter.inc_by(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_can_be_read() {
        let meter = Metrics::new();
        let noted = [FindingTally { code: 101, strategy: "insert-answer", count: 2 }];
        meter.count_request(MetricRoute::Chat, Some(GuardAction::Fixed));
        meter.count_request(MetricRoute::Other, None);
        meter.count_reply(MetricRoute::Chat, http::StatusCode::OK);
        meter.count_bytes(ByteDirection::In, 12);
        meter.count_findings(&noted, GuardAction::Fixed);
        meter.count_findings(&noted, GuardAction::Observed);
        meter.count_upstream_400("unanswered-call");
        meter.count_run(Outcome::Interrupted);
        meter.change_tools_open(3);
        meter.change_tools_open(-1);
        meter.count_late_events(4);
        meter.set_sessions(SessionStats {
            nodes: 5,
            depth: 3,
            sessions: 2,
            ..SessionStats::default()
        });
        meter.count_match("prefix");
        meter.observe_overhead(Duration::from_micros(30));
        meter.count_refused(ConnectionRefusal::PerAddress);
        meter.count_upstream("main", Some(http::StatusCode::TOO_MANY_REQUESTS));
        meter.count_upstream("main", None);
        meter.count_upstream("main", Some(http::StatusCode::OK));
        meter.count_upstream("main", Some(http::StatusCode::OK));
        meter.count_retry("main");
        meter.count_dropped(DroppedItem::Records, 6);
        let connection = meter.track_connection();
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
