//! What happens in one session, written down in its order.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use foxwedge_run::{self as run, CallRef, EventPayload, Outcome, StopRequest};
use foxwedge_store::{
    AnyStore, NewRecord, NewRun, NewSession, Result, RunRow, StartResult, Store, StoreError,
};
use serde_json::Value;

use super::{
    open_run::{LEASE_MILLIS, OpenRun, RunOwnership, retry_unavailable},
    queue::{RecordCommand, RecordCompleteness, RequestEnd, RequestOutcome, RequestStart},
    reply_block::record_name,
    run_log::RunLog,
    session_heads, tool_results, unix_millis,
};
use crate::metrics::{DroppedItem, Metrics};

/// Sessions that are known to be there.
const MAX_KNOWN_SESSIONS: usize = 100_000;

/// What every session needs.
pub(super) struct SessionWriter {
    pub(super) store: Arc<AnyStore>,
    pub(super) node_id: String,
    pub(super) metrics: Metrics,
    known_sessions: Mutex<HashSet<Arc<str>>>,
}

impl SessionWriter {
    pub(super) fn new(store: Arc<AnyStore>, me: String, meter: Metrics) -> SessionWriter {
        SessionWriter { store, node_id: me, metrics: meter, known_sessions: Mutex::default() }
    }

    /// Writes what happened in a session, and returns its run if that goes on.
    pub(super) async fn apply_commands(
        &self,
        session: &Arc<str>,
        mut live: Option<Box<OpenRun>>,
        whats: Vec<RecordCommand>,
    ) -> Option<Box<OpenRun>> {
        // Of the newest reply only.
        let mut records = Vec::new();
        for what in whats {
            match what {
                RecordCommand::StartRequest(begin) => {
                    let goes_on = live.take_if(|live| live.run == begin.run);
                    if let Some(mut before) = live.take() {
                        before.log.end(begin.at, Some(Outcome::Replaced), None);
                        self.save_run(before, std::mem::take(&mut records)).await;
                    }
                    live = self.start_request(session, goes_on, *begin).await;
                }
                RecordCommand::AppendEvents(run, told) => {
                    if let Some(live) = matching_log(&mut live, &run) {
                        told.into_iter().for_each(|told| live.log_event(told.at, told.body));
                    }
                }
                RecordCommand::FinishRequest(closing, whole) => {
                    let Some(of) = matching_log(&mut live, &closing.run) else { continue };
                    records = head_records(&closing);
                    log_request_end(of, *closing, whole);
                }
                RecordCommand::ExpireCalls(run, calls) => {
                    if let Some(live) = matching_log(&mut live, &run) {
                        log_timeouts(live, calls);
                    }
                }
                RecordCommand::MarkInterrupted(run) => {
                    if let Some(live) = matching_log(&mut live, &run) {
                        live.end(unix_millis(), Some(Outcome::Interrupted), None);
                    }
                }
                RecordCommand::ForgetRun(run) => live = live.filter(|live| live.run != run),
            }
        }
        self.save_run(live?, records).await
    }

    async fn save_run(&self, live: Box<OpenRun>, records: Vec<NewRecord>) -> Option<Box<OpenRun>> {
        if live.log.is_over() {
            self.metrics.count_late_events(live.log.late_events());
        }
        let kept = live.save_events(&self.store, records).await;
        self.count_outcome(kept)
    }

    pub(super) fn count_outcome(&self, kept: Result<RunOwnership>) -> Option<Box<OpenRun>> {
        match kept {
            Ok(RunOwnership::Open(live)) => Some(live),
            Ok(RunOwnership::Ended(outcome)) => {
                self.metrics.count_run(outcome);
                None
            }
            Ok(RunOwnership::Taken) => None,
            // Its lease runs out, and somebody closes it.
            Err(_) => {
                self.metrics.count_dropped(DroppedItem::Records, 1);
                None
            }
        }
    }

    /// A request begins: the run goes on, or a new one begins.
    async fn start_request(
        &self,
        session: &Arc<str>,
        live: Option<Box<OpenRun>>,
        begin: RequestStart,
    ) -> Option<Box<OpenRun>> {
        let mut live = match live {
            Some(live) => live,
            None => match self.start_run(session, &begin).await {
                Ok(Some(live)) => live,
                Ok(None) | Err(_) => {
                    self.metrics.count_dropped(DroppedItem::Records, 1);
                    return None;
                }
            },
        };
        log_request_start(&mut live.log, begin);
        Some(live)
    }

    /// Begins a run in the store. `None` if it cannot be ours.
    async fn start_run(
        &self,
        session: &Arc<str>,
        begin: &RequestStart,
    ) -> Result<Option<Box<OpenRun>>> {
        if begin.turn > 1 {
            // It was closed meanwhile, and what has ended does not go on.
            return Ok(None);
        }
        if !self.is_known(session) && !self.create_session(session, begin).await? {
            return Ok(None);
        }
        let new = self.new_run(session, begin);
        let started = match retry_unavailable(|| self.store.start_run(new.clone())).await {
            // Somebody deleted it.
            Err(StoreError::NoSession(_)) => {
                if !self.create_session(session, begin).await? {
                    return Ok(None);
                }
                retry_unavailable(|| self.store.start_run(new.clone())).await
            }
            started => started,
        };
        let live = |row: &RunRow, lease| {
            let story = RunLog::new(&begin.run, row.started, new.start.clone());
            Box::new(OpenRun::new(row, story, lease))
        };
        match started? {
            StartResult::New { run, lease } => Ok(Some(live(&run, lease))),
            // The acknowledgement was lost: nobody else knows the id.
            StartResult::Existing(run) => {
                let ours = run.lease.clone().filter(|lease| lease.owner == self.node_id);
                Ok(ours.map(|lease| live(&run, lease)))
            }
        }
    }

    /// The run that a request begins.
    pub(super) fn new_run(&self, session: &Arc<str>, begin: &RequestStart) -> NewRun {
        NewRun {
            id: begin.run.to_string(),
            session: session.to_string(),
            key: None,
            owner: self.node_id.clone(),
            ttl: LEASE_MILLIS,
            start: run::RunStart {
                session: Some(session.clone()),
                agent: begin.agent.as_deref().map(record_name),
                model: Some(record_name(&begin.model)),
                ..run::RunStart::default()
            },
            at: Some(begin.at),
        }
    }

    /// Makes a session, or finds it; whether it is the caller's.
    async fn create_session(&self, session: &Arc<str>, begin: &RequestStart) -> Result<bool> {
        let new = new_session(session, begin);
        let row = retry_unavailable(|| self.store.create_session(new.clone())).await?;
        if *row.owner != *begin.owner {
            return Ok(false);
        }
        let mut known = self.known_sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN_SESSIONS {
            known.clear();
        }
        known.insert(session.clone());
        Ok(true)
    }

    fn is_known(&self, session: &str) -> bool {
        self.known_sessions.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }
}

/// The session of a request, if it has to be made.
pub(super) fn new_session(session: &Arc<str>, begin: &RequestStart) -> NewSession {
    let agent = begin.agent.as_deref().map(record_name);
    let model = record_name(&begin.model);
    let title = match agent {
        Some(agent) => format!("{model} · {agent}"),
        None => model.to_string(),
    };
    // A text and no tree of values: this is told of every request. Names of formats are words.
    let forked = begin.forked.as_deref().map_or(Value::Null, Value::from);
    let format = begin.wire.name();
    let meta =
        format!("{{\"forked_from\":{forked},\"format\":\"{format}\",\"source\":\"gateway\"}}");
    NewSession { id: session.to_string(), owner: begin.owner.to_string(), title, meta: Some(meta) }
}

/// A request begins: what it brings.
pub(super) fn log_request_start(story: &mut RunLog, begin: RequestStart) {
    let results = match &begin.body {
        Some((body, wire)) => {
            tool_results::with_content(&begin.answered_calls, &begin.failed_calls, body, *wire)
        }
        None => tool_results::without_content(&begin.answered_calls, &begin.failed_calls),
    };
    results
        .into_iter()
        .for_each(|result| story.log_event(begin.at, EventPayload::ToolResult(result)));
    begin.annotations.into_iter().for_each(|card| story.log_event(begin.at, card));
}

/// The run that is meant, if it is the one that is open.
fn matching_log<'l>(live: &'l mut Option<Box<OpenRun>>, run: &str) -> Option<&'l mut RunLog> {
    live.as_deref_mut().filter(|live| &*live.run == run).map(|live| &mut live.log)
}

pub(super) fn head_records(closing: &RequestEnd) -> Vec<NewRecord> {
    let tip = closing.tip.map(|tip| session_heads::head_record(&closing.run, closing.turn, tip));
    tip.into_iter().collect()
}

/// What the end of a request makes of its run.
pub(super) fn log_request_end(live: &mut RunLog, closing: RequestEnd, whole: RecordCompleteness) {
    let RequestEnd { at, events: told, usage, text, outcome: ending, .. } = closing;
    told.into_iter().for_each(|told| live.log_event(told.at, told.body));
    live.add_usage(at, &usage);
    if whole == RecordCompleteness::Incomplete {
        let message = "not all of it could be written down";
        live.warn(at, "record_incomplete", message);
    }
    match (ending, whole) {
        (RequestOutcome::Replied, _) => live.end(at, None, text),
        (RequestOutcome::Refused, _) => live.end(at, Some(Outcome::Refused), text),
        (RequestOutcome::WaitsForTools, RecordCompleteness::Complete) => {}
        // Its calls were not written down, so that nobody can wait for them.
        (RequestOutcome::WaitsForTools, RecordCompleteness::Incomplete) => {
            live.end(at, Some(Outcome::Interrupted), None)
        }
        (RequestOutcome::Failed(code), _) => live.fail(at, &code),
        (RequestOutcome::Stopped, _) => {
            live.log_event(at, EventPayload::Stop(StopRequest { grace: 0 }))
        }
    }
}

/// Nobody answered in time.
fn log_timeouts(live: &mut RunLog, calls: Vec<Arc<str>>) {
    let at = unix_millis();
    for call in calls {
        let call = Some(CallRef { id: Some(call), turn: None });
        live.log_event(at, EventPayload::TimedOut { call });
    }
    live.log_event(at, EventPayload::TimedOut { call: None });
}
