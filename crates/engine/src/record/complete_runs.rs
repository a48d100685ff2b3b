//! Requests that were over before anybody wrote down that they began: the usual case where a model
//! answers fast. Their runs go to the store from the beginning to the end at once, all together.

use std::{sync::Arc, time::Duration};

use foxwedge_run::Outcome;
use foxwedge_store::{
    self as store, FinalizeResult, NewRun, NewSession, Store, StoreError, WholeRun,
};

use super::{
    open_run::{RETRY_PAUSES_MILLIS, drop_optional_content},
    queue::{RecordCommand, RecordCompleteness, RequestEnd, RequestOutcome, RequestStart},
    run_log::RunLog,
    session_writer::{
        SessionWriter, head_records, log_request_end, log_request_start, new_session,
    },
};
use crate::metrics::DroppedItem;

/// How many notes at the front of a session are requests that are over, each a run of its own from
/// its beginning to its end.
pub(super) fn count_complete(whats: &[RecordCommand]) -> usize {
    let (mut over, mut at_work) = (0, None);
    for (place, what) in whats.iter().enumerate() {
        match (what, at_work) {
            (RecordCommand::StartRequest(begin), None) if begin.turn == 1 => {
                at_work = Some(&begin.run)
            }
            (RecordCommand::AppendEvents(run, _), Some(ours)) if run == ours => {}
            (RecordCommand::FinishRequest(closing, whole), Some(ours))
                if closing.run == *ours && ends_run(closing, *whole) =>
            {
                (over, at_work) = (place + 1, None);
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
                | RecordCommand::ForgetRun(_),
                _,
            ) => break,
        }
    }
    over
}

/// Whether the run is over with its request.
fn ends_run(closing: &RequestEnd, whole: RecordCompleteness) -> bool {
    match (&closing.outcome, whole) {
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

/// A request on its way from its beginning to its end.
struct RunInProgress {
    session: NewSession,
    run: NewRun,
    log: RunLog,
}

impl SessionWriter {
    /// Keeps requests that are over, of sessions without an open run: what [`over`] counted.
    pub(super) async fn write_complete_runs(&self, sessions: Vec<(Arc<str>, Vec<RecordCommand>)>) {
        let mut runs = Vec::new();
        for (session, whats) in sessions {
            let mut at_work = None;
            for what in whats {
                match what {
                    RecordCommand::StartRequest(begin) => {
                        at_work = Some(self.begin_complete_run(&session, *begin))
                    }
                    RecordCommand::AppendEvents(_, more) => {
                        if let Some(RunInProgress { log: story, .. }) = &mut at_work {
                            more.into_iter().for_each(|told| story.log_event(told.at, told.body));
                        }
                    }
                    RecordCommand::FinishRequest(closing, whole) => {
                        let at_work = at_work.take();
                        runs.extend(
                            at_work
                                .map(|it| Arc::new(self.finish_complete_run(it, *closing, whole))),
                        );
                    }
                    RecordCommand::ExpireCalls(..)
                    | RecordCommand::MarkInterrupted(_)
                    | RecordCommand::ForgetRun(_) => {}
                }
            }
        }
        self.store_runs(runs).await;
    }

    fn begin_complete_run(&self, session: &Arc<str>, begin: RequestStart) -> RunInProgress {
        let (session, run) = (new_session(session, &begin), self.new_run(session, &begin));
        let mut story = RunLog::new(&begin.run, begin.at, run.start.clone());
        log_request_start(&mut story, begin);
        RunInProgress { session, run, log: story }
    }

    fn finish_complete_run(
        &self,
        at_work: RunInProgress,
        closing: RequestEnd,
        whole: RecordCompleteness,
    ) -> WholeRun {
        let RunInProgress { session, run, log: mut story } = at_work;
        let (at, records) = (closing.at, head_records(&closing));
        log_request_end(&mut story, closing, whole);
        // Whatever the machine thinks of it: its request is over.
        story.end(at, Some(Outcome::Interrupted), None);
        self.metrics.count_late_events(story.late_events());
        let (events, end) = story.take_new_events(None);
        let (ended, summary) = end.unwrap_or_default();
        let closing = store::RunClosing { events, ended, summary, records };
        WholeRun { session, run, closing }
    }

    /// Hands runs to the store, and tries again what it could not do just now.
    async fn store_runs(&self, mut runs: Vec<Arc<WholeRun>>) {
        let pauses = RETRY_PAUSES_MILLIS.into_iter().map(Duration::from_millis);
        for pause in pauses.map(Some).chain([None]) {
            if runs.is_empty() {
                return;
            }
            let mut left = Vec::new();
            let kept = self.store.put_whole_runs(runs.clone()).await;
            for (run, kept) in runs.into_iter().zip(kept) {
                match (kept, pause) {
                    (Err(StoreError::Unavailable(_)), Some(_)) => left.push(run),
                    // More than a store takes: the end itself always fits.
                    (Err(StoreError::Invalid(_) | StoreError::Conflict(_)), _) => {
                        self.store_reduced_run(run).await;
                    }
                    (kept, _) => self.count_stored_run(&run, kept),
                }
            }
            runs = left;
            if let (Some(pause), false) = (pause, runs.is_empty()) {
                tokio::time::sleep(pause).await;
            }
        }
    }

    async fn store_reduced_run(&self, run: Arc<WholeRun>) {
        let mut less = Arc::unwrap_or_clone(run);
        drop_optional_content(&mut less.closing);
        let less = Arc::new(less);
        let kept = self.store.put_whole_runs(vec![less.clone()]).await.pop();
        kept.into_iter().for_each(|kept| self.count_stored_run(&less, kept));
    }

    fn count_stored_run(&self, run: &WholeRun, kept: store::Result<FinalizeResult>) {
        let outcome = run.closing.ended.outcome.unwrap_or(Outcome::Failed);
        match kept {
            Ok(FinalizeResult::Recorded(_)) => self.metrics.count_run(outcome),
            // The acknowledgement was lost: nobody else knows the id.
            Ok(FinalizeResult::AlreadyEnded(row)) if row.state.outcome() == Some(outcome) => {
                self.metrics.count_run(outcome);
            }
            Ok(FinalizeResult::AlreadyEnded(_)) => {}
            Err(_) => self.metrics.count_dropped(DroppedItem::Records, 1),
        }
    }
}
