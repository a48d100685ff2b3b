//! Requests that ended before their start was written, which is common for fast models. Their runs
//! are written from start to end in one operation, many at a time.

use std::{sync::Arc, time::Duration};

use foxwedge_run::Outcome;
use foxwedge_store::{self as store, FinalizeResult, NewRun, Store, StoreError, WholeRun};

use super::{
    open_run::drop_optional_content,
    queue::{RecordCommand, RecordCompleteness, RequestEnd, RequestOutcome, RequestStart},
    run_log::RunLog,
    session_writer::{
        SessionWriter, head_records, log_request_end, log_request_start, new_session,
    },
};
use crate::{log::RecordLoss, session::SessionMatchKind};

/// Counts the commands at the front that belong to complete requests, each a run of its own from
/// start to end.
pub(super) fn count_complete(commands: &[RecordCommand]) -> usize {
    let (mut complete, mut open_run) = (0, None);
    for (index, command) in commands.iter().enumerate() {
        match (command, open_run) {
            (RecordCommand::StartRequest(start), None) if start.turn == 1 => {
                open_run = Some(&start.run)
            }
            (RecordCommand::AppendEvents(run, _), Some(open_id)) if run == open_id => {}
            (RecordCommand::FinishRequest(end, completeness), Some(open_id))
                if end.run == *open_id && ends_run(end, *completeness) =>
            {
                (complete, open_run) = (index + 1, None);
            }
            (
                RecordCommand::StartRequest(_)
                | RecordCommand::AppendEvents(..)
                | RecordCommand::FinishRequest(..),
                _,
            )
            | (
                RecordCommand::ExpireCalls(..)
                | RecordCommand::MarkInterrupted(_)
                | RecordCommand::ForgetRun(_)
                | RecordCommand::AdoptRun(..),
                _,
            ) => break,
        }
    }
    complete
}

/// Whether the run ends with its request.
fn ends_run(end: &RequestEnd, completeness: RecordCompleteness) -> bool {
    match (&end.outcome, completeness) {
        (RequestOutcome::WaitsForTools, RecordCompleteness::Complete) => false,
        (RequestOutcome::WaitsForTools, RecordCompleteness::Incomplete) => true,
        (
            RequestOutcome::Replied
            | RequestOutcome::Refused
            | RequestOutcome::Failed(_)
            | RequestOutcome::Stopped,
            _,
        ) => true,
    }
}

fn first_run(commands: &[RecordCommand]) -> Option<&Arc<str>> {
    commands.first().and_then(|command| match command {
        RecordCommand::StartRequest(start) => Some(&start.run),
        RecordCommand::AppendEvents(..)
        | RecordCommand::FinishRequest(..)
        | RecordCommand::ExpireCalls(..)
        | RecordCommand::MarkInterrupted(_)
        | RecordCommand::ForgetRun(_)
        | RecordCommand::AdoptRun(..) => None,
    })
}

/// A run between its start and its end.
struct RunInProgress {
    start: RequestStart,
    session: Arc<str>,
    run: NewRun,
    log: RunLog,
}

impl SessionWriter {
    /// Writes complete requests of sessions without an open run, as counted by [`count_complete`].
    pub(super) async fn write_complete_runs(
        &self,
        mut sessions: Vec<(Arc<str>, Vec<RecordCommand>)>,
    ) {
        // Ids sort by time, so most rows are appended to the indexes of the store.
        sessions.sort_by(|(_, one), (_, other)| first_run(one).cmp(&first_run(other)));
        let mut runs = Vec::new();
        for (session, commands) in sessions {
            let mut in_progress = None;
            for command in commands {
                match command {
                    RecordCommand::StartRequest(start) => {
                        in_progress = Some(self.begin_complete_run(&session, *start))
                    }
                    RecordCommand::AppendEvents(_, events) => {
                        if let Some(RunInProgress { log, .. }) = &mut in_progress {
                            events
                                .into_iter()
                                .for_each(|event| log.log_event(event.at, event.body));
                        }
                    }
                    RecordCommand::FinishRequest(end, completeness) => {
                        let in_progress = in_progress.take();
                        runs.extend(
                            in_progress.map(|it| {
                                Arc::new(self.finish_complete_run(it, *end, completeness))
                            }),
                        );
                    }
                    RecordCommand::ExpireCalls(..)
                    | RecordCommand::MarkInterrupted(_)
                    | RecordCommand::ForgetRun(_)
                    | RecordCommand::AdoptRun(..) => {}
                }
            }
        }
        self.store_runs(runs).await;
    }

    fn begin_complete_run(&self, session: &Arc<str>, mut start: RequestStart) -> RunInProgress {
        let run = self.new_run(session, &start);
        let mut log = RunLog::new(&start.run, start.at, run.start.clone());
        log_request_start(&mut log, &mut start);
        RunInProgress { start, session: session.clone(), run, log }
    }

    fn finish_complete_run(
        &self,
        in_progress: RunInProgress,
        end: RequestEnd,
        completeness: RecordCompleteness,
    ) -> WholeRun {
        let RunInProgress { start, session, run, mut log } = in_progress;
        let at = end.at;
        // No other process knows a session that was made for its first request.
        let (session, records) = match start.match_kind {
            SessionMatchKind::New => (new_session(&session, &start, end.tip), Vec::new()),
            SessionMatchKind::Named
            | SessionMatchKind::Reply
            | SessionMatchKind::Call
            | SessionMatchKind::Prefix => (new_session(&session, &start, None), head_records(&end)),
        };
        log_request_end(&mut log, end, completeness);
        // Whatever the state of the machine, the request has ended.
        log.end(at, Some(Outcome::Interrupted), None);
        self.metrics.count_late_events(log.late_events());
        let (events, run_end) = log.take_new_events(None);
        let (ended, summary) = run_end.unwrap_or_default();
        let closing = store::RunClosing { events, ended, summary, records };
        WholeRun { session, run, closing }
    }

    /// Writes runs to the store, and retries while it is unavailable.
    async fn store_runs(&self, mut runs: Vec<Arc<WholeRun>>) {
        let pauses = foxwedge_store::RETRY_PAUSES_MILLIS.into_iter().map(Duration::from_millis);
        for pause in pauses.map(Some).chain([None]) {
            if runs.is_empty() {
                return;
            }
            let mut unavailable = Vec::new();
            let results = self.store.put_whole_runs(runs.clone()).await;
            for (run, result) in runs.into_iter().zip(results) {
                match (result, pause) {
                    (Err(StoreError::Unavailable(_)), Some(_)) => unavailable.push(run),
                    // Too large for the store: the end itself always fits.
                    (Err(StoreError::Invalid(_) | StoreError::Conflict(_)), _) => {
                        self.store_reduced_run(run).await;
                    }
                    (result, _) => self.count_stored_run(&run, result),
                }
            }
            runs = unavailable;
            if let (Some(pause), false) = (pause, runs.is_empty()) {
                tokio::time::sleep(pause).await;
            }
        }
    }

    async fn store_reduced_run(&self, run: Arc<WholeRun>) {
        let mut reduced = Arc::unwrap_or_clone(run);
        drop_optional_content(&mut reduced.closing);
        let reduced = Arc::new(reduced);
        let result = self.store.put_whole_runs(vec![reduced.clone()]).await.pop();
        result.into_iter().for_each(|result| self.count_stored_run(&reduced, result));
    }

    fn count_stored_run(&self, run: &WholeRun, result: store::Result<FinalizeResult>) {
        let outcome = run.closing.ended.outcome.unwrap_or(Outcome::Failed);
        match result {
            Ok(FinalizeResult::Recorded(_)) => self.metrics.count_run(outcome),
            // The acknowledgement was lost: no other process knows the id.
            Ok(FinalizeResult::AlreadyEnded(row)) if row.state.outcome() == Some(outcome) => {
                self.metrics.count_run(outcome);
            }
            Ok(FinalizeResult::AlreadyEnded(_)) => {}
            Err(error) => self.notices.record_lost(RecordLoss::Store(&error)),
        }
    }
}
