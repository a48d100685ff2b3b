//! Runs whose calls wait for answers, by session. Whoever takes a run out goes on with it, or ends
//! it: nobody else does.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::queue::RecordCommand;
use crate::{agent::AgentPresence, metrics::Metrics};

/// So many runs wait at once; the oldest gives up its place.
pub(super) const MAX_WAITING_RUNS: usize = 10_000;

/// Everything that waits.
#[derive(Debug)]
pub(super) struct RunsAwaitingTools {
    max_runs: usize,
    metrics: Metrics,
    state: Mutex<RunsAwaitingToolsState>,
}

#[derive(Debug, Default)]
struct RunsAwaitingToolsState {
    runs: HashMap<Arc<str>, RunAwaitingTools>,
    /// In the order in which they began to wait, with some that wait no longer.
    order: VecDeque<(Arc<str>, Arc<str>)>,
    /// To be closed at once.
    lost: Vec<(Arc<str>, RecordCommand)>,
}

/// How often is looked whether an agent that looks at the time itself is still there.
const AGENT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A run that waits.
#[derive(Clone, Debug)]
pub(super) struct RunAwaitingTools {
    pub(super) run: Arc<str>,
    /// How many requests it had.
    pub(super) turn: u32,
    /// The calls without an answer.
    pub(super) calls: Vec<Arc<str>>,
    /// When it has waited long enough.
    pub(super) due: Instant,
    /// The live agent whose calls these are. While it is there, it closes calls that nobody answers
    /// in time, and the run goes on.
    pub(super) agent: Option<AgentPresence>,
}

impl RunAwaitingTools {
    fn has_agent(&self) -> bool {
        self.agent.as_ref().is_some_and(AgentPresence::is_alive)
    }
}

/// The run that a request belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RunClaim {
    /// It answers calls of a run that waits, or hears what a live agent made of calls that nobody
    /// answered.
    Continue { run: Arc<str>, turn: u32, answered: Vec<Arc<str>>, left: Vec<Arc<str>> },
    /// None that waits. What waited in its session waits no longer.
    NewRun,
}

impl RunsAwaitingTools {
    pub(super) fn new(most: usize, meter: Metrics) -> RunsAwaitingTools {
        RunsAwaitingTools { max_runs: most.max(1), metrics: meter, state: Mutex::default() }
    }

    /// A run begins to wait.
    pub(super) fn insert(&self, session: &Arc<str>, wait: RunAwaitingTools) {
        let mut state = self.lock();
        while state.runs.len() >= self.max_runs && !state.runs.contains_key(session) {
            let Some(oldest) = state.pop_oldest() else { break };
            self.metrics.change_tools_open(-open_calls(&oldest.1));
            let (session, wait) = oldest;
            state.lost.push((session, RecordCommand::MarkInterrupted(wait.run)));
        }
        self.metrics.change_tools_open(open_calls(&wait));
        state.order.push_back((session.clone(), wait.run.clone()));
        if let Some(before) = state.runs.insert(session.clone(), wait) {
            self.metrics.change_tools_open(-open_calls(&before));
        }
        if state.order.len() > 64 + 2 * state.runs.len() {
            let RunsAwaitingToolsState { runs: waits, order, .. } = &mut *state;
            order.retain(|(session, run)| waits.get(session).is_some_and(|it| it.run == *run));
        }
    }

    /// A request begins in a session.
    pub(super) fn claim(&self, session: &str, answers: &[Arc<str>]) -> RunClaim {
        let Some(wait) = self.take(session, |_| true) else { return RunClaim::NewRun };
        let goes_on = wait.calls.is_empty() && wait.has_agent();
        let RunAwaitingTools { run, turn, calls, .. } = wait;
        let (answered, left): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| answers.contains(call));
        match answered.is_empty() && !goes_on {
            true => RunClaim::NewRun,
            false => RunClaim::Continue { run, turn, answered, left },
        }
    }

    /// A live agent goes on without the answers to these calls. Its run waits for the next request.
    pub(super) fn remove_calls(&self, session: &str, run: &str, calls: &[Arc<str>]) {
        let mut state = self.lock();
        let wait = state.runs.get_mut(session).filter(|wait| &*wait.run == run);
        let Some(wait) = wait else { return };
        let before = open_calls(wait);
        wait.calls.retain(|call| !calls.contains(call));
        self.metrics.change_tools_open(open_calls(wait) - before);
    }

    /// A run that was taken out cannot be gone on with: it is to be closed.
    pub(super) fn mark_lost(&self, session: &Arc<str>, run: &Arc<str>) {
        self.lock().lost.push((session.clone(), RecordCommand::MarkInterrupted(run.clone())));
    }

    /// Somebody else ended a run; its session, if it waited.
    pub(super) fn forget_run(&self, run: &str) -> Option<Arc<str>> {
        let session = {
            let state = self.lock();
            let mut all = state.runs.iter();
            all.find(|(_, wait)| &*wait.run == run).map(|(session, _)| session.clone())?
        };
        self.take(&session, |wait| &*wait.run == run).map(|_| session)
    }

    /// What has waited for too long, and what was pushed out.
    pub(super) fn take_due(&self, now: Instant) -> Vec<(Arc<str>, RecordCommand)> {
        let mut state = self.lock();
        let mut due = std::mem::take(&mut state.lost);
        while let Some((session, run)) = state.order.front() {
            let wait = state.runs.get(session).filter(|wait| wait.run == *run);
            if wait.is_some_and(|wait| wait.due > now) {
                break;
            }
            let late = wait.is_some();
            let Some((session, run)) = state.order.pop_front() else { break };
            if let Some(wait) = state.runs.get_mut(&session).filter(|wait| late && wait.has_agent())
            {
                wait.due = now + AGENT_CHECK_INTERVAL;
                state.order.push_back((session, run));
            } else if let Some(wait) = late.then(|| state.runs.remove(&session)).flatten() {
                self.metrics.change_tools_open(-open_calls(&wait));
                due.push((session, RecordCommand::ExpireCalls(wait.run, wait.calls)));
            }
        }
        due
    }

    fn take(
        &self,
        session: &str,
        fits: impl FnOnce(&RunAwaitingTools) -> bool,
    ) -> Option<RunAwaitingTools> {
        let mut state = self.lock();
        if !fits(state.runs.get(session)?) {
            return None;
        }
        let wait = state.runs.remove(session)?;
        self.metrics.change_tools_open(-open_calls(&wait));
        Some(wait)
    }

    fn lock(&self) -> MutexGuard<'_, RunsAwaitingToolsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunsAwaitingToolsState {
    /// Takes out what has waited longest.
    fn pop_oldest(&mut self) -> Option<(Arc<str>, RunAwaitingTools)> {
        loop {
            let (session, run) = self.order.pop_front()?;
            if self.runs.get(&session).is_some_and(|wait| wait.run == run) {
                return self.runs.remove(&session).map(|wait| (session, wait));
            }
        }
    }
}

fn open_calls(wait: &RunAwaitingTools) -> i64 {
    i64::try_from(wait.calls.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(run: &str, calls: &[&str], due: Instant) -> RunAwaitingTools {
        let calls = calls.iter().map(|call| Arc::from(*call)).collect();
        RunAwaitingTools { run: run.into(), turn: 1, calls, due, agent: None }
    }

    fn names(due: &[(Arc<str>, RecordCommand)]) -> Vec<String> {
        let told = due.iter().map(|(session, what)| match what {
            RecordCommand::ExpireCalls(run, calls) => {
                format!("{session} {run} late {}", calls.len())
            }
            RecordCommand::MarkInterrupted(run) => format!("{session} {run} lost"),
            what => format!("{what:?}"),
        });
        told.collect()
    }

    #[test]
    fn a_run_is_taken_out_once() {
        let (waiting, now) = (RunsAwaitingTools::new(10, Metrics::new()), Instant::now());
        let session = Arc::from("s");
        waiting.insert(&session, wait("r", &["a", "b"], now));
        let claimed = waiting.claim("s", &["b".into(), "x".into()]);
        let (answered, left) = (vec!["b".into()], vec!["a".into()]);
        assert_eq!(claimed, RunClaim::Continue { run: "r".into(), turn: 1, answered, left });
        assert_eq!(waiting.claim("s", &["a".into()]), RunClaim::NewRun);
        assert_eq!(names(&waiting.take_due(now)), [""; 0]);
        waiting.insert(&session, wait("r", &["a"], now));
        assert_eq!(waiting.claim("s", &[]), RunClaim::NewRun);
        assert_eq!(waiting.claim("s", &["a".into()]), RunClaim::NewRun);
    }

    #[test]
    fn what_waits_too_long_or_has_no_room_is_closed() {
        let (waiting, now) = (RunsAwaitingTools::new(2, Metrics::new()), Instant::now());
        let later = now + Duration::from_secs(5);
        for (session, due) in [("one", now), ("two", now), ("three", later)] {
            waiting.insert(&session.into(), wait(session, &["a"], due));
        }
        assert_eq!(names(&waiting.take_due(now)), ["one one lost", "two two late 1"]);
        assert_eq!(waiting.forget_run("nobody"), None);
        assert_eq!(waiting.forget_run("three").as_deref(), Some("three"));
        assert_eq!(names(&waiting.take_due(later)), [""; 0]);
    }

    #[test]
    fn a_live_agent_closes_its_calls_itself_and_its_run_goes_on() {
        let (waiting, now) = (RunsAwaitingTools::new(10, Metrics::new()), Instant::now());
        let (gone, presence) = AgentPresence::pair();
        let session: Arc<str> = "s".into();
        let with_agent = |presence: &AgentPresence| RunAwaitingTools {
            agent: Some(presence.clone()),
            ..wait("r", &["a", "b"], now)
        };
        waiting.insert(&session, with_agent(&presence));
        let later = now + 2 * AGENT_CHECK_INTERVAL;
        assert_eq!(names(&waiting.take_due(now)), [""; 0]);
        waiting.remove_calls("s", "r", &["a".into(), "b".into()]);
        assert_eq!(names(&waiting.take_due(later)), [""; 0]);
        // A late answer, or other words: the run goes on with what the agent made of it.
        let goes_on =
            RunClaim::Continue { run: "r".into(), turn: 1, answered: vec![], left: vec![] };
        assert_eq!(waiting.claim("s", &["b".into()]), goes_on);
        waiting.insert(&session, with_agent(&presence));
        gone.send_replace(true);
        assert_eq!(names(&waiting.take_due(later)), ["s r late 2"]);
        waiting.insert(&session, RunAwaitingTools { calls: Vec::new(), ..with_agent(&presence) });
        assert_eq!(waiting.claim("s", &[]), RunClaim::NewRun);
    }

    #[test]
    fn sessions_that_come_and_go_leave_nothing_behind() {
        let (waiting, now) = (RunsAwaitingTools::new(1_000, Metrics::new()), Instant::now());
        for number in 0..10_000 {
            let session = Arc::from("s");
            waiting.insert(&session, wait(&number.to_string(), &["a"], now));
            waiting.claim("s", &["a".into()]);
        }
        assert!(waiting.lock().order.len() <= 66);
    }
}
