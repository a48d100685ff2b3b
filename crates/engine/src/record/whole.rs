//! Requests that were over before anybody wrote down that they began: the usual case where a model
//! answers fast. Their runs go to the store from the beginning to the end at once, all together.

use std::{sync::Arc, time::Duration};

use foxwedge_run::Outcome;
use foxwedge_store::{self as store, Finalized, NewRun, NewSession, Store, StoreError, WholeRun};

use super::{
    desk::{Desk, end, new_session, record_of, told},
    live::{PAUSES, shorten},
    queue::{Beginning, Closing, Ending, What, Whole},
    story::Story,
};
use crate::meter::Dropped;

/// How many notes at the front of a session are requests that are over, each a run of its own from
/// its beginning to its end.
pub(super) fn over(whats: &[What]) -> usize {
    let (mut over, mut at_work) = (0, None);
    for (place, what) in whats.iter().enumerate() {
        match (what, at_work) {
            (What::Begin(begin), None) if begin.turn == 1 => at_work = Some(&begin.run),
            (What::More(run, _), Some(ours)) if run == ours => {}
            (What::End(closing, whole), Some(ours))
                if closing.run == *ours && ends(closing, *whole) =>
            {
                (over, at_work) = (place + 1, None);
            }
            (What::Begin(_) | What::More(..) | What::End(..), _)
            | (What::Late(..) | What::Lost(_) | What::Forget(_), _) => break,
        }
    }
    over
}

/// Whether the run is over with its request.
fn ends(closing: &Closing, whole: Whole) -> bool {
    match (&closing.ending, whole) {
        (Ending::Waits, Whole::Yes) => false,
        (Ending::Waits, Whole::No) => true,
        (Ending::Replied | Ending::Refused | Ending::Failed(_) | Ending::Stopped, _) => true,
    }
}

/// A request on its way from its beginning to its end.
struct AtWork {
    session: NewSession,
    run: NewRun,
    story: Story,
}

impl Desk {
    /// Keeps requests that are over, of sessions without an open run: what [`over`] counted.
    pub(super) async fn keep(&self, sessions: Vec<(Arc<str>, Vec<What>)>) {
        let mut runs = Vec::new();
        for (session, whats) in sessions {
            let mut at_work = None;
            for what in whats {
                match what {
                    What::Begin(begin) => at_work = Some(self.begun(&session, *begin)),
                    What::More(_, more) => {
                        if let Some(AtWork { story, .. }) = &mut at_work {
                            more.into_iter().for_each(|told| story.tell(told.at, told.body));
                        }
                    }
                    What::End(closing, whole) => {
                        let at_work = at_work.take();
                        runs.extend(at_work.map(|it| Arc::new(self.ended(it, *closing, whole))));
                    }
                    What::Late(..) | What::Lost(_) | What::Forget(_) => {}
                }
            }
        }
        self.keep_runs(runs).await;
    }

    fn begun(&self, session: &Arc<str>, begin: Beginning) -> AtWork {
        let (session, run) = (new_session(session, &begin), self.new_run(session, &begin));
        let mut story = Story::new(&begin.run, begin.at, run.start.clone());
        told(&mut story, begin);
        AtWork { session, run, story }
    }

    fn ended(&self, at_work: AtWork, closing: Closing, whole: Whole) -> WholeRun {
        let AtWork { session, run, mut story } = at_work;
        let (at, records) = (closing.at, record_of(&closing));
        end(&mut story, closing, whole);
        // Whatever the machine thinks of it: its request is over.
        story.end(at, Some(Outcome::Interrupted), None);
        self.meter.late_events(story.late());
        let (events, end) = story.news(None);
        let (ended, summary) = end.unwrap_or_default();
        let closing = store::Closing { events, ended, summary, records };
        WholeRun { session, run, closing }
    }

    /// Hands runs to the store, and tries again what it could not do just now.
    async fn keep_runs(&self, mut runs: Vec<Arc<WholeRun>>) {
        let pauses = PAUSES.into_iter().map(Duration::from_millis);
        for pause in pauses.map(Some).chain([None]) {
            if runs.is_empty() {
                return;
            }
            let mut left = Vec::new();
            let kept = self.store.keep_runs(runs.clone()).await;
            for (run, kept) in runs.into_iter().zip(kept) {
                match (kept, pause) {
                    (Err(StoreError::Unavailable(_)), Some(_)) => left.push(run),
                    // More than a store takes: the end itself always fits.
                    (Err(StoreError::Invalid(_) | StoreError::Conflict(_)), _) => {
                        self.keep_less(run).await;
                    }
                    (kept, _) => self.kept(&run, kept),
                }
            }
            runs = left;
            if let (Some(pause), false) = (pause, runs.is_empty()) {
                tokio::time::sleep(pause).await;
            }
        }
    }

    async fn keep_less(&self, run: Arc<WholeRun>) {
        let mut less = Arc::unwrap_or_clone(run);
        shorten(&mut less.closing);
        let less = Arc::new(less);
        let kept = self.store.keep_runs(vec![less.clone()]).await.pop();
        kept.into_iter().for_each(|kept| self.kept(&less, kept));
    }

    fn kept(&self, run: &WholeRun, kept: store::Result<Finalized>) {
        let outcome = run.closing.ended.outcome.unwrap_or(Outcome::Failed);
        match kept {
            Ok(Finalized::Won(_)) => self.meter.run(outcome),
            // The acknowledgement was lost: nobody else knows the id.
            Ok(Finalized::Lost(row)) if row.state.outcome() == Some(outcome) => {
                self.meter.run(outcome);
            }
            Ok(Finalized::Lost(_)) => {}
            Err(_) => self.meter.dropped(Dropped::Records, 1),
        }
    }
}
