//! Writes the commands of one session in order.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use foxwedge_run::{self as run, CallRef, EventPayload, Outcome, StopRequest};
use foxwedge_store::{
    AnyStore, NewRecord, NewRun, NewSession, Result, RunRow, StartResult, Store, StoreError,
    retry_unavailable,
};
use serde_json::Value;

use super::{
    open_run::{LEASE_MILLIS, OpenRun, RunOwnership},
    queue::{RecordCommand, RecordCompleteness, RequestEnd, RequestOutcome, RequestStart},
    reply_block::{clean_name, record_name},
    run_log::RunLog,
    session_heads, tool_results, unix_millis,
};
use crate::{
    log::{RecordLoss, StoreNotices},
    metrics::{DroppedItem, Metrics},
};

/// How many sessions are remembered as existing.
const MAX_KNOWN_SESSIONS: usize = 100_000;

/// Is told of runs that another process has stopped, so that a request in progress ends. Cheap to
/// clone; clones share state.
#[derive(Clone, Default)]
pub(super) struct StoppedRunListener(Arc<OnceLock<StopListener>>);

type StopListener = Box<dyn Fn(&str) + Send + Sync>;

impl StoppedRunListener {
    /// Sets what is called with the id of a run, once.
    pub(super) fn set(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        // A recorder has one engine.
        let _ = self.0.set(Box::new(listener));
    }

    fn notify(&self, run: &str) {
        if let Some(listener) = self.0.get() {
            listener(run);
        }
    }
}

impl fmt::Debug for StoppedRunListener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoppedRunListener").finish_non_exhaustive()
    }
}

/// Writes the run events of sessions to the store.
pub(super) struct SessionWriter {
    pub(super) store: Arc<AnyStore>,
    pub(super) node_id: String,
    pub(super) metrics: Metrics,
    pub(super) notices: StoreNotices,
    stopped_runs: StoppedRunListener,
    known_sessions: Mutex<HashSet<Arc<str>>>,
}

impl SessionWriter {
    pub(super) fn new(
        store: Arc<AnyStore>,
        node_id: String,
        metrics: Metrics,
        notices: StoreNotices,
        stopped_runs: StoppedRunListener,
    ) -> SessionWriter {
        SessionWriter {
            store,
            node_id,
            metrics,
            notices,
            stopped_runs,
            known_sessions: Mutex::default(),
        }
    }

    /// Applies the commands of a session. Returns its run while that is still open.
    pub(super) async fn apply_commands(
        &self,
        session: &Arc<str>,
        mut open_run: Option<Box<OpenRun>>,
        commands: Vec<RecordCommand>,
    ) -> Option<Box<OpenRun>> {
        // Only those of the newest reply.
        let mut records = Vec::new();
        for command in commands {
            match command {
                RecordCommand::StartRequest(start) => {
                    let continued = open_run.take_if(|open_run| open_run.run == start.run);
                    if let Some(mut replaced) = open_run.take() {
                        replaced.log.end(start.at, Some(Outcome::Replaced), None);
                        self.save_run(replaced, std::mem::take(&mut records)).await;
                    }
                    open_run = self.start_request(session, continued, *start).await;
                }
                RecordCommand::AppendEvents(run, events) => {
                    if let Some(log) = matching_log(&mut open_run, &run) {
                        events.into_iter().for_each(|event| log.log_event(event.at, event.body));
                    }
                }
                RecordCommand::FinishRequest(end, completeness) => {
                    let Some(log) = matching_log(&mut open_run, &end.run) else { continue };
                    records = head_records(&end);
                    log_request_end(log, *end, completeness);
                }
                RecordCommand::ExpireCalls(run, calls) => {
                    if let Some(log) = matching_log(&mut open_run, &run) {
                        log_timeouts(log, calls);
                    }
                }
                RecordCommand::MarkInterrupted(run) => {
                    if let Some(log) = matching_log(&mut open_run, &run) {
                        log.end(unix_millis(), Some(Outcome::Interrupted), None);
                    }
                }
                RecordCommand::ForgetRun(run) => {
                    open_run = open_run.filter(|open_run| open_run.run != run)
                }
                RecordCommand::AdoptRun(run, lease) => {
                    // A run that cannot be read is closed when its lease expires.
                    open_run = OpenRun::adopt(&self.store, &run, lease).await.ok().flatten();
                }
            }
        }
        self.save_run(open_run?, records).await
    }

    async fn save_run(
        &self,
        open_run: Box<OpenRun>,
        records: Vec<NewRecord>,
    ) -> Option<Box<OpenRun>> {
        if open_run.log.is_over() {
            self.metrics.count_late_events(open_run.log.late_events());
        }
        let run = open_run.run.clone();
        let ownership = open_run.save_events(&self.store, records).await;
        self.count_outcome(&run, ownership)
    }

    /// Returns a run that is still open. The request of one that was stopped elsewhere is stopped.
    pub(super) fn count_outcome(
        &self,
        run: &str,
        ownership: Result<RunOwnership>,
    ) -> Option<Box<OpenRun>> {
        match ownership {
            Ok(RunOwnership::Open(open_run)) => Some(open_run),
            Ok(RunOwnership::Ended(outcome)) => {
                self.metrics.count_run(outcome);
                None
            }
            Ok(RunOwnership::Taken(outcome)) => {
                if outcome == Some(Outcome::Stopped) {
                    self.stopped_runs.notify(run);
                }
                None
            }
            // Its lease expires, and another process closes it.
            Err(error) => {
                self.notices.record_lost(RecordLoss::Store(&error));
                None
            }
        }
    }

    /// Starts a request: continues its run, or starts a new one.
    async fn start_request(
        &self,
        session: &Arc<str>,
        open_run: Option<Box<OpenRun>>,
        mut start: RequestStart,
    ) -> Option<Box<OpenRun>> {
        let mut open_run = match open_run {
            Some(open_run) => open_run,
            None => match self.start_run(session, &start).await {
                Ok(Some(open_run)) => open_run,
                // It was closed meanwhile, or the session belongs to someone else.
                Ok(None) => {
                    self.metrics.count_dropped(DroppedItem::Records, 1);
                    return None;
                }
                Err(error) => {
                    self.notices.record_lost(RecordLoss::Store(&error));
                    return None;
                }
            },
        };
        log_request_start(&mut open_run.log, &mut start);
        Some(open_run)
    }

    /// Starts a run in the store. `None` if it cannot be owned.
    async fn start_run(
        &self,
        session: &Arc<str>,
        start: &RequestStart,
    ) -> Result<Option<Box<OpenRun>>> {
        if start.turn > 1 {
            // It was closed meanwhile, and a run that has ended does not continue.
            return Ok(None);
        }
        if !self.is_known(session) && !self.create_session(session, start).await? {
            return Ok(None);
        }
        let new_run = self.new_run(session, start);
        let result = match retry_unavailable(|| self.store.start_run(new_run.clone())).await {
            // The session was deleted.
            Err(StoreError::NoSession(_)) => {
                if !self.create_session(session, start).await? {
                    return Ok(None);
                }
                retry_unavailable(|| self.store.start_run(new_run.clone())).await
            }
            result => result,
        };
        let open_run = |row: &RunRow, lease| {
            let log = RunLog::new(&start.run, row.started, new_run.start.clone());
            Box::new(OpenRun::new(row, log, lease))
        };
        match result? {
            StartResult::New { run, lease } => Ok(Some(open_run(&run, lease))),
            // The acknowledgement was lost: no other process knows the id.
            StartResult::Existing(run) => {
                let own_lease = run.lease.clone().filter(|lease| lease.owner == self.node_id);
                Ok(own_lease.map(|lease| open_run(&run, lease)))
            }
        }
    }

    /// The run of a new request.
    pub(super) fn new_run(&self, session: &Arc<str>, start: &RequestStart) -> NewRun {
        NewRun {
            id: start.run.to_string(),
            session: session.to_string(),
            key: None,
            owner: self.node_id.clone(),
            ttl: LEASE_MILLIS,
            start: run::RunStart {
                session: Some(session.clone()),
                agent: start.agent.as_deref().map(record_name),
                model: Some(record_name(&start.model)),
                ..run::RunStart::default()
            },
            at: Some(start.at),
        }
    }

    /// Creates or finds a session. Returns whether it belongs to the caller.
    async fn create_session(&self, session: &Arc<str>, start: &RequestStart) -> Result<bool> {
        let new_session_row = new_session(session, start, None);
        let row = retry_unavailable(|| self.store.create_session(new_session_row.clone())).await?;
        if *row.owner != *start.owner {
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

/// The session of a request, if it has to be created; `tip`: the digest after its first reply.
pub(super) fn new_session(
    session: &Arc<str>,
    start: &RequestStart,
    tip: Option<u128>,
) -> NewSession {
    let mut title = clean_name(&start.model).into_owned();
    if let Some(agent) = start.agent.as_deref() {
        title.extend([" · ", &clean_name(agent)]);
    }
    // Formatted as text and not as a JSON tree, since this runs for every request. Format names
    // need no escapes.
    let mut meta = String::with_capacity(128);
    meta.push_str("{\"forked_from\":");
    match start.forked.as_deref() {
        Some(forked) => meta.push_str(&Value::from(forked).to_string()),
        None => meta.push_str("null"),
    }
    meta.extend([",\"format\":\"", start.format.name(), "\",\"source\":\"gateway\""]);
    if let Some(tip) = tip {
        meta.push(',');
        session_heads::push_tip(&mut meta, tip);
    }
    meta.push('}');
    NewSession { id: session.to_string(), owner: start.owner.to_string(), title, meta: Some(meta) }
}

/// Logs the tool results and annotations of a request.
pub(super) fn log_request_start(log: &mut RunLog, start: &mut RequestStart) {
    let results = match &start.body {
        Some((body, format)) => {
            tool_results::with_content(&start.answered_calls, &start.failed_calls, body, *format)
        }
        None => tool_results::without_content(&start.answered_calls, &start.failed_calls),
    };
    results
        .into_iter()
        .for_each(|result| log.log_event(start.at, EventPayload::ToolResult(result)));
    start.body = None;
    start.annotations.drain(..).for_each(|card| log.log_event(start.at, card));
}

/// The log of a run, if it is the open one.
fn matching_log<'l>(open_run: &'l mut Option<Box<OpenRun>>, run: &str) -> Option<&'l mut RunLog> {
    open_run
        .as_deref_mut()
        .filter(|open_run| &*open_run.run == run)
        .map(|open_run| &mut open_run.log)
}

pub(super) fn head_records(end: &RequestEnd) -> Vec<NewRecord> {
    let tip = end.tip.map(|tip| session_heads::head_record(&end.run, end.turn, tip));
    tip.into_iter().collect()
}

/// Logs the end of a request.
pub(super) fn log_request_end(log: &mut RunLog, end: RequestEnd, completeness: RecordCompleteness) {
    let RequestEnd { at, events, usage, text, outcome, .. } = end;
    events.into_iter().for_each(|event| log.log_event(event.at, event.body));
    log.add_usage(at, &usage);
    if completeness == RecordCompleteness::Incomplete {
        let message = "not everything could be recorded";
        log.warn(at, "record_incomplete", message);
    }
    match (outcome, completeness) {
        (RequestOutcome::Replied, _) => log.end(at, None, text),
        (RequestOutcome::Refused, _) => log.end(at, Some(Outcome::Refused), text),
        (RequestOutcome::WaitsForTools, RecordCompleteness::Complete) => {}
        // Its calls were not recorded, so the run cannot wait for them.
        (RequestOutcome::WaitsForTools, RecordCompleteness::Incomplete) => {
            log.end(at, Some(Outcome::Interrupted), None)
        }
        (RequestOutcome::Failed(code), _) => log.fail(at, &code),
        (RequestOutcome::Stopped, _) => {
            log.log_event(at, EventPayload::Stop(StopRequest { grace: 0 }))
        }
    }
}

/// Logs the timeout of calls.
fn log_timeouts(log: &mut RunLog, calls: Vec<Arc<str>>) {
    let at = unix_millis();
    for call in calls {
        let call = Some(CallRef { id: Some(call), turn: None });
        log.log_event(at, EventPayload::TimedOut { call });
    }
    log.log_event(at, EventPayload::TimedOut { call: None });
}
