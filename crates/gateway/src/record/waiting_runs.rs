//! Runs that wait for tool results, by session. The caller that takes out a run must continue or
//! end it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use foxwedge_agents::AgentPresence;
use tokio::time::Instant;

use super::queue::RecordCommand;
use crate::metrics::Metrics;

/// Maximum number of waiting runs; the oldest is interrupted.
pub(super) const MAX_WAITING_RUNS: usize = 10_000;

/// All waiting runs.
#[derive(Debug)]
pub(super) struct RunsAwaitingTools {
    max_runs: usize,
    metrics: Metrics,
    state: Mutex<RunsAwaitingToolsState>,
}

#[derive(Debug, Default)]
struct RunsAwaitingToolsState {
    runs: HashMap<Arc<str>, RunAwaitingTools>,
    /// In the order in which they started to wait; may contain runs that no longer wait.
    order: VecDeque<(Arc<str>, Arc<str>)>,
    /// Runs to close at the next check.
    lost: Vec<(Arc<str>, RecordCommand)>,
}

/// How often a run with a live agent is checked again: the agent enforces the timeout itself.
const AGENT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A waiting run.
#[derive(Clone, Debug)]
pub(super) struct RunAwaitingTools {
    pub(super) run: Arc<str>,
    /// The number of requests so far.
    pub(super) turn: u32,
    /// The calls without a result.
    pub(super) calls: Vec<Arc<str>>,
    /// When the wait times out.
    pub(super) due: Instant,
    /// The live agent that made the calls. While it is alive, it closes calls that time out, and
    /// the run continues.
    pub(super) agent: Option<AgentPresence>,
}

impl RunAwaitingTools {
    fn has_agent(&self) -> bool {
        self.agent.as_ref().is_some_and(AgentPresence::is_alive)
    }
}

/// The run of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RunClaim {
    /// The request brings results for a waiting run, or continues with a live agent after its calls
    /// timed out.
    Continue { run: Arc<str>, turn: u32, answered: Vec<Arc<str>>, left: Vec<Arc<str>> },
    /// A new run. A run that waited in the session no longer waits.
    NewRun,
}

impl RunsAwaitingTools {
    pub(super) fn new(max_runs: usize, metrics: Metrics) -> RunsAwaitingTools {
        RunsAwaitingTools { max_runs: max_runs.max(1), metrics, state: Mutex::default() }
    }

    /// Adds a waiting run.
    pub(super) fn insert(&self, session: &Arc<str>, waiting: RunAwaitingTools) {
        let mut state = self.lock();
        while state.runs.len() >= self.max_runs && !state.runs.contains_key(session) {
            let Some(oldest) = state.pop_oldest() else { break };
            self.metrics.change_tools_open(-open_calls(&oldest.1));
            let (session, waiting) = oldest;
            state.lost.push((session, RecordCommand::MarkInterrupted(waiting.run)));
        }
        self.metrics.change_tools_open(open_calls(&waiting));
        state.order.push_back((session.clone(), waiting.run.clone()));
        if let Some(previous) = state.runs.insert(session.clone(), waiting) {
            self.metrics.change_tools_open(-open_calls(&previous));
        }
        if state.order.len() > 64 + 2 * state.runs.len() {
            let RunsAwaitingToolsState { runs, order, .. } = &mut *state;
            order.retain(|(session, run)| runs.get(session).is_some_and(|it| it.run == *run));
        }
    }

    /// Claims the run for a request of a session.
    pub(super) fn claim(&self, session: &str, result_ids: &[Arc<str>]) -> RunClaim {
        let Some(waiting) = self.take(session, |_| true) else { return RunClaim::NewRun };
        let agent_continues = waiting.calls.is_empty() && waiting.has_agent();
        let RunAwaitingTools { run, turn, calls, .. } = waiting;
        let (answered, left): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| result_ids.contains(call));
        match answered.is_empty() && !agent_continues {
            true => RunClaim::NewRun,
            false => RunClaim::Continue { run, turn, answered, left },
        }
    }

    /// The run that waits in a session.
    pub(super) fn find(&self, session: &str) -> Option<RunAwaitingTools> {
        self.lock().runs.get(session).cloned()
    }

    /// Forgets the run of a session, which continues on another node.
    pub(super) fn forget_session(&self, session: &str) {
        self.take(session, |_| true);
    }

    /// Removes calls without which a live agent continues. Its run waits for the next request.
    pub(super) fn remove_calls(&self, session: &str, run: &str, calls: &[Arc<str>]) {
        let mut state = self.lock();
        let waiting = state.runs.get_mut(session).filter(|waiting| &*waiting.run == run);
        let Some(waiting) = waiting else { return };
        let previous = open_calls(waiting);
        waiting.calls.retain(|call| !calls.contains(call));
        self.metrics.change_tools_open(open_calls(waiting) - previous);
    }

    /// Marks a run that was taken out and cannot continue: it will be closed.
    pub(super) fn mark_lost(&self, session: &Arc<str>, run: &Arc<str>) {
        self.lock().lost.push((session.clone(), RecordCommand::MarkInterrupted(run.clone())));
    }

    /// Removes a run that has ended elsewhere. Returns its session, if it was waiting.
    pub(super) fn forget_run(&self, run: &str) -> Option<Arc<str>> {
        let session = {
            let state = self.lock();
            let mut runs = state.runs.iter();
            runs.find(|(_, waiting)| &*waiting.run == run).map(|(session, _)| session.clone())?
        };
        self.take(&session, |waiting| &*waiting.run == run).map(|_| session)
    }

    /// Takes the runs that have timed out, and those that were displaced.
    pub(super) fn take_due(&self, now: Instant) -> Vec<(Arc<str>, RecordCommand)> {
        let mut state = self.lock();
        let mut due = std::mem::take(&mut state.lost);
        while let Some((session, run)) = state.order.front() {
            let waiting = state.runs.get(session).filter(|waiting| waiting.run == *run);
            if waiting.is_some_and(|waiting| waiting.due > now) {
                break;
            }
            let is_late = waiting.is_some();
            let Some((session, run)) = state.order.pop_front() else { break };
            if let Some(waiting) =
                state.runs.get_mut(&session).filter(|waiting| is_late && waiting.has_agent())
            {
                waiting.due = now + AGENT_CHECK_INTERVAL;
                state.order.push_back((session, run));
            } else if let Some(waiting) = is_late.then(|| state.runs.remove(&session)).flatten() {
                self.metrics.change_tools_open(-open_calls(&waiting));
                due.push((session, RecordCommand::ExpireCalls(waiting.run, waiting.calls)));
            }
        }
        due
    }

    fn take(
        &self,
        session: &str,
        matches: impl FnOnce(&RunAwaitingTools) -> bool,
    ) -> Option<RunAwaitingTools> {
        let mut state = self.lock();
        if !matches(state.runs.get(session)?) {
            return None;
        }
        let waiting = state.runs.remove(session)?;
        self.metrics.change_tools_open(-open_calls(&waiting));
        Some(waiting)
    }

    fn lock(&self) -> MutexGuard<'_, RunsAwaitingToolsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunsAwaitingToolsState {
    /// Takes out the run that has waited longest.
    fn pop_oldest(&mut self) -> Option<(Arc<str>, RunAwaitingTools)> {
        loop {
            let (session, run) = self.order.pop_front()?;
            if self.runs.get(&session).is_some_and(|waiting| waiting.run == run) {
                return self.runs.remove(&session).map(|waiting| (session, waiting));
            }
        }
    }
}

fn open_calls(waiting: &RunAwaitingTools) -> i64 {
    i64::try_from(waiting.calls.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(run: &str, calls: &[&str], due: Instant) -> RunAwaitingTools {
        let calls = calls.iter().map(|call| Arc::from(*call)).collect();
        RunAwaitingTools { run: run.into(), turn: 1, calls, due, agent: None }
    }

    fn names(due: &[(Arc<str>, RecordCommand)]) -> Vec<String> {
        let names = due.iter().map(|(session, command)| match command {
            RecordCommand::ExpireCalls(run, calls) => {
                format!("{session} {run} late {}", calls.len())
            }
            RecordCommand::MarkInterrupted(run) => format!("{session} {run} lost"),
            command => format!("{command:?}"),
        });
        names.collect()
    }

    #[test]
    fn a_waiting_run_is_claimed_once() {
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
    fn runs_that_time_out_or_have_no_room_are_closed() {
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
    fn a_live_agent_closes_its_own_calls_and_its_run_continues() {
        let (waiting, now) = (RunsAwaitingTools::new(10, Metrics::new()), Instant::now());
        let (gone, exited) = tokio::sync::watch::channel(false);
        let presence = AgentPresence::new(exited);
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
        // With a late result or other content, the run continues with the agent.
        let continued =
            RunClaim::Continue { run: "r".into(), turn: 1, answered: vec![], left: vec![] };
        assert_eq!(waiting.claim("s", &["b".into()]), continued);
        waiting.insert(&session, with_agent(&presence));
        gone.send_replace(true);
        assert_eq!(names(&waiting.take_due(later)), ["s r late 2"]);
        waiting.insert(&session, RunAwaitingTools { calls: Vec::new(), ..with_agent(&presence) });
        assert_eq!(waiting.claim("s", &[]), RunClaim::NewRun);
    }

    #[test]
    fn claimed_runs_leave_no_entries_behind() {
        let (waiting, now) = (RunsAwaitingTools::new(1_000, Metrics::new()), Instant::now());
        for number in 0..10_000 {
            let session = Arc::from("s");
            waiting.insert(&session, wait(&number.to_string(), &["a"], now));
            waiting.claim("s", &["a".into()]);
        }
        assert!(waiting.lock().order.len() <= 66);
    }
}
