//! Metrics for operators: counts of requests, findings, repairs and losses. Never content, never
//! names that a client chose.
//!
//! Counters that every request touches are created in advance, so that counting is one addition;
//! the others are looked up by their labels.

mod format;
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

use crate::{AgentCounts, FindingTally, GuardAction, session::SessionStats};

pub use format::MetricsFormat;
pub use labels::{
    ByteDirection, ConnectionRefusal, DroppedItem, GaugeGuard, MetricAction, MetricRoute,
    ReloadResult,
};

/// The metrics of one process. Cheap to clone; clones share state.
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
    repaired_calls: Counter,
    compactions: Counter,
    sessions: [(&'static str, &'static str, Gauge); 6],
    connections: Gauge,
    agents: [(&'static str, &'static str, Gauge); 4],
    refused_connections: Vec<Counter>,
    active_requests: Gauge,
    upstream_requests: LabeledCounter<2>,
    /// The counters of each upstream by status class. There are few upstreams.
    known_upstreams: RwLock<Vec<(Box<str>, Vec<Counter>)>>,
    retries: LabeledCounter<1>,
    fallbacks: LabeledCounter<1>,
    dropped: Vec<Counter>,
    reloads: Vec<Counter>,
}

/// How sessions are matched.
const MATCH_KINDS: [&str; 5] = ["session-id", "prefix", "response", "call", "new"];

/// The gateway's own latency per request, in seconds: from 5 µs to 0.1 s.
const OVERHEAD_BUCKETS: [f64; 12] =
    [5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 1e-2, 3e-2, 0.1];

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl Metrics {
    /// Creates metrics that are all zero.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("foxwedge");
        let registry_ref = &mut registry;
        let requests = LabeledCounter::default();
        let replies = LabeledCounter::default();
        let bytes = LabeledCounter::default();
        let matched = LabeledCounter::default();
        let runs = LabeledCounter::default();
        let refused = LabeledCounter::default();
        let dropped = LabeledCounter::default();
        let reloads = LabeledCounter::default();
        let counter = |family: &LabeledCounter<1>, key, value: &'static str| {
            family.get_or_create_owned(&[(key, value.into())])
        };
        let counter_of_two = |family: &LabeledCounter<2>,
                              first: (&'static str, &'static str),
                              second: (_, &'static str)| {
            family.get_or_create_owned(&[(first.0, first.1.into()), (second.0, second.1.into())])
        };
        let inner = MetricsShared {
            requests: MetricRoute::ALL
                .iter()
                .flat_map(|route| MetricAction::ALL.map(|tally| (route.name(), tally.name())))
                .map(|(route, action)| {
                    counter_of_two(&requests, ("route", route), ("action", action))
                })
                .collect(),
            replies: MetricRoute::ALL
                .iter()
                .flat_map(|route| STATUS_CLASSES.map(|class| (route.name(), class)))
                .map(|(route, class)| counter_of_two(&replies, ("route", route), ("status", class)))
                .collect(),
            bytes: ByteDirection::ALL.map(|way| counter(&bytes, "way", way.name())).into(),
            session_matches: MATCH_KINDS.map(|kind| (kind, counter(&matched, "kind", kind))).into(),
            runs: Outcome::ALL.map(|end| counter(&runs, "terminal_reason", end.name())).into(),
            refused_connections: ConnectionRefusal::ALL
                .map(|why| counter(&refused, "why", why.name()))
                .into(),
            dropped: DroppedItem::ALL.map(|what| counter(&dropped, "what", what.name())).into(),
            reloads: ReloadResult::ALL.map(|it| counter(&reloads, "result", it.name())).into(),
            overhead: Histogram::new(OVERHEAD_BUCKETS),
            findings: Family::default(),
            repairs: Family::default(),
            upstream_400: Family::default(),
            tools_open: Gauge::default(),
            late_events: Counter::default(),
            repaired_calls: Counter::default(),
            compactions: Counter::default(),
            sessions: [
                ("trie_nodes", "Nodes of the conversation index"),
                ("trie_depth", "Replies in the longest remembered conversation"),
                ("sessions", "Sessions in memory"),
                ("sessions_busy", "Sessions with a request in progress"),
                ("snapshots", "Replies kept for clients that retry"),
                ("snapshot_bytes", "Bytes of the replies kept for clients that retry"),
            ]
            .map(|(name, help)| (name, help, Gauge::default())),
            connections: Gauge::default(),
            agents: [
                ("agent_processes", "Live agents"),
                ("agents_waiting", "Live agents that wait for tool results"),
                ("agent_calls_open", "Tool calls of live agents without a result"),
                ("agent_questions", "Questions of live agents that wait for a user"),
            ]
            .map(|(name, help)| (name, help, Gauge::default())),
            active_requests: Gauge::default(),
            upstream_requests: Family::default(),
            known_upstreams: RwLock::default(),
            retries: Family::default(),
            fallbacks: Family::default(),
            registry: Registry::default(),
        };
        registry_ref.register("requests", "Requests, by endpoint and action", requests);
        registry_ref.register("replies", "Replies, by endpoint and status class", replies);
        registry_ref.register("bytes", "Body bytes, by direction", bytes);
        registry_ref.register(
            "findings",
            "Findings in request histories, by rule",
            inner.findings.clone(),
        );
        registry_ref.register("repairs", "Repairs, by rule and strategy", inner.repairs.clone());
        registry_ref.register(
            "upstream_400",
            "Requests that upstreams rejected as invalid, by class",
            inner.upstream_400.clone(),
        );
        registry_ref.register("runs", "Ended runs, by outcome", runs);
        registry_ref.register(
            "tools_open",
            "Tool calls without a result",
            inner.tools_open.clone(),
        );
        registry_ref.register(
            "late_events",
            "Events received after the end of their run",
            inner.late_events.clone(),
        );
        registry_ref.register(
            "repaired_calls",
            "Calls that were repaired in streamed replies",
            inner.repaired_calls.clone(),
        );
        registry_ref.register(
            "compactions",
            "Requests that were shortened to their model's context window",
            inner.compactions.clone(),
        );
        for (name, help, gauge) in &inner.sessions {
            registry_ref.register(*name, *help, gauge.clone());
        }
        registry_ref.register("match", "Session matches, by kind", matched);
        registry_ref.register(
            "overhead_seconds",
            "Time a request spends in the gateway before it is sent upstream",
            inner.overhead.clone(),
        );
        for (name, help, gauge) in &inner.agents {
            registry_ref.register(*name, *help, gauge.clone());
        }
        registry_ref.register("connections", "Client connections", inner.connections.clone());
        registry_ref.register("connections_refused", "Refused connections, by reason", refused);
        registry_ref.register(
            "requests_at_work",
            "Requests in flight",
            inner.active_requests.clone(),
        );
        registry_ref.register(
            "upstream_requests",
            "Requests to upstreams, by status class",
            inner.upstream_requests.clone(),
        );
        registry_ref.register("retries", "Retried requests to upstreams", inner.retries.clone());
        let help = "Requests that a fallback got instead of this upstream";
        registry_ref.register("fallbacks", help, inner.fallbacks.clone());
        let help = "Items dropped because a queue was full or their destination failed";
        registry_ref.register("dropped", help, dropped);
        registry_ref.register("config_reloads", "Reloads of the configuration", reloads);
        Metrics(Arc::new(MetricsShared { registry, ..inner }))
    }

    /// Counts a request by its guard action. `None`: it did not reach the guard. It has failed if
    /// the status is that of an error.
    pub fn count_request(
        &self,
        route: MetricRoute,
        action: Option<GuardAction>,
        status: http::StatusCode,
    ) {
        let action = MetricAction::of_request(action, status);
        let index = route as usize * MetricAction::ALL.len() + action as usize;
        add_to_counter(self.0.requests.get(index), 1);
    }

    /// Counts a reply that has started.
    pub fn count_reply(&self, route: MetricRoute, status: http::StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, STATUS_CLASSES.len()) - 1;
        add_to_counter(self.0.replies.get(route as usize * STATUS_CLASSES.len() + class), 1);
    }

    /// Counts bytes of a body.
    pub fn count_bytes(&self, direction: ByteDirection, count: usize) {
        add_to_counter(self.0.bytes.get(direction as usize), count as u64);
    }

    /// Counts findings, and repairs if the history was fixed.
    pub fn count_findings(&self, findings: &[FindingTally], action: GuardAction) {
        for finding in findings {
            let code: MetricLabel = format!("FW{}", finding.code).into();
            let count = finding.count as u64;
            self.0.findings.get_or_create(&[("code", code.clone())]).inc_by(count);
            match action {
                GuardAction::Fixed => {
                    let labels = [("code", code), ("strategy", finding.strategy.into())];
                    self.0.repairs.get_or_create(&labels).inc_by(count);
                }
                GuardAction::None | GuardAction::Observed | GuardAction::Rejected => {}
            }
        }
    }

    /// Counts a request that an upstream refused for its shape.
    pub fn count_upstream_400(&self, class: &'static str) {
        self.0.upstream_400.get_or_create(&[("class", class.into())]).inc();
    }

    /// Counts a run that has ended.
    pub fn count_run(&self, outcome: Outcome) {
        let index = Outcome::ALL.iter().position(|other| *other == outcome);
        add_to_counter(index.and_then(|index| self.0.runs.get(index)), 1);
    }

    /// Changes the number of calls without a result.
    pub fn change_tools_open(&self, change: i64) {
        self.0.tools_open.inc_by(change);
    }

    /// Counts calls that were repaired in streamed replies.
    pub fn count_repaired_calls(&self, count: usize) {
        self.0.repaired_calls.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Counts a request that was shortened.
    pub fn count_compaction(&self) {
        self.0.compactions.inc();
    }

    /// Counts events that came after the end of their run.
    pub fn count_late_events(&self, count: u64) {
        self.0.late_events.inc_by(count);
    }

    /// Sets the session gauges.
    pub fn set_sessions(&self, stats: SessionStats) {
        let SessionStats { nodes, depth, sessions, busy, replies, reply_bytes } = stats;
        let numbers = [nodes, depth, sessions, busy, replies, reply_bytes];
        for ((_, _, gauge), number) in self.0.sessions.iter().zip(numbers) {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    /// Sets the agent gauges.
    pub fn set_agents(&self, counts: AgentCounts) {
        let numbers = [counts.processes, counts.waiting, counts.calls, counts.questions];
        for ((_, _, gauge), number) in self.0.agents.iter().zip(numbers) {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    /// Counts a session match.
    pub fn count_match(&self, kind: &'static str) {
        add_to_counter(
            self.0
                .session_matches
                .iter()
                .find(|(name, _)| *name == kind)
                .map(|(_, counter)| counter),
            1,
        );
    }

    /// Records the time that a request spent in the gateway before it was sent.
    pub fn observe_overhead(&self, time: Duration) {
        self.0.overhead.observe(time.as_secs_f64());
    }

    /// Counts a connection until the guard is dropped.
    #[must_use]
    pub fn track_connection(&self) -> GaugeGuard {
        GaugeGuard::new(self.0.connections.clone())
    }

    /// Counts a request in progress until the guard is dropped.
    #[must_use]
    pub fn track_request(&self) -> GaugeGuard {
        GaugeGuard::new(self.0.active_requests.clone())
    }

    /// Counts a connection that was closed at once.
    pub fn count_refused(&self, reason: ConnectionRefusal) {
        add_to_counter(self.0.refused_connections.get(reason as usize), 1);
    }

    /// Counts an upstream attempt. `None`: the upstream was not reached or cut off its reply.
    pub fn count_upstream(&self, name: &str, status: Option<http::StatusCode>) {
        let class = status.map_or(0, |status| usize::from(status.as_u16() / 100));
        let class = class.min(STATUS_CLASSES.len());
        {
            let known = self.0.known_upstreams.read().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, counters)) = known.iter().find(|(known_name, _)| **known_name == *name)
            {
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
        if !known.iter().any(|(known_name, _)| **known_name == *name) {
            known.push((name.into(), counters));
        }
    }

    /// Counts a retry.
    pub fn count_retry(&self, name: &str) {
        self.0.retries.get_or_create(&[("upstream", Cow::Owned(name.to_owned()))]).inc();
    }

    /// Counts a request that another upstream gets instead of this one.
    pub fn count_fallback(&self, name: &str) {
        self.0.fallbacks.get_or_create(&[("upstream", Cow::Owned(name.to_owned()))]).inc();
    }

    /// Counts items that were dropped: a queue was full, or their destination failed.
    pub fn count_dropped(&self, item: DroppedItem, count: u64) {
        add_to_counter(self.0.dropped.get(item as usize), count);
    }

    /// Counts a reload of the configuration.
    pub fn count_reload(&self, result: ReloadResult) {
        add_to_counter(self.0.reloads.get(result as usize), 1);
    }

    /// All metrics, as text in a format.
    pub fn render_as(&self, format: MetricsFormat) -> String {
        match format {
            MetricsFormat::OpenMetrics => self.render(),
            MetricsFormat::Text => format::openmetrics_to_text(&self.render()),
        }
    }

    /// All metrics, as OpenMetrics text.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(8 << 10);
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Meter")
    }
}

/// The status classes, `1xx` first.
const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

fn add_to_counter(counter: Option<&Counter>, count: u64) {
    if let Some(counter) = counter {
        counter.inc_by(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_values_are_rendered() {
        let metrics = Metrics::new();
        let findings = [FindingTally { code: 101, strategy: "insert-answer", count: 2 }];
        let (ok, refused) = (http::StatusCode::OK, http::StatusCode::NOT_FOUND);
        metrics.count_request(MetricRoute::Chat, Some(GuardAction::Fixed), ok);
        metrics.count_request(MetricRoute::Other, None, refused);
        metrics.count_request(MetricRoute::Models, None, ok);
        metrics.count_request(MetricRoute::Models, None, http::StatusCode::NOT_MODIFIED);
        metrics.count_reply(MetricRoute::Chat, http::StatusCode::OK);
        metrics.count_bytes(ByteDirection::In, 12);
        metrics.count_findings(&findings, GuardAction::Fixed);
        metrics.count_findings(&findings, GuardAction::Observed);
        metrics.count_upstream_400("unanswered-call");
        metrics.count_run(Outcome::Interrupted);
        metrics.change_tools_open(3);
        metrics.change_tools_open(-1);
        metrics.count_late_events(4);
        metrics.set_sessions(SessionStats {
            nodes: 5,
            depth: 3,
            sessions: 2,
            ..SessionStats::default()
        });
        metrics.count_match("prefix");
        metrics.observe_overhead(Duration::from_micros(30));
        metrics.count_refused(ConnectionRefusal::PerAddress);
        metrics.count_upstream("main", Some(http::StatusCode::TOO_MANY_REQUESTS));
        metrics.count_upstream("main", None);
        metrics.count_upstream("main", Some(http::StatusCode::OK));
        metrics.count_upstream("main", Some(http::StatusCode::OK));
        metrics.count_retry("main");
        metrics.count_fallback("main");
        metrics.count_dropped(DroppedItem::Records, 6);
        metrics.count_reload(ReloadResult::Refused);
        let connection = metrics.track_connection();
        let text = metrics.render();
        for line in [
            r#"foxwedge_requests_total{route="chat",action="fixed"} 1"#,
            r#"foxwedge_requests_total{route="other",action="failed"} 1"#,
            r#"foxwedge_requests_total{route="models",action="none"} 2"#,
            r#"foxwedge_requests_total{route="models",action="failed"} 0"#,
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
            r#"foxwedge_fallbacks_total{upstream="main"} 1"#,
            r#"foxwedge_dropped_total{what="records"} 6"#,
            r#"foxwedge_config_reloads_total{result="refused"} 1"#,
            "# EOF",
        ] {
            assert!(text.lines().any(|other| other == line), "`{line}` is missing in:\n{text}");
        }
        drop(connection);
        assert!(metrics.render().lines().any(|line| line == "foxwedge_connections 0"));
    }
}
