//! Runs whose calls wait for answers, by session. Whoever takes a run out goes on with it, or ends
//! it: nobody else does.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::queue::What;
use crate::{agent::Presence, meter::Meter};

/// So many runs wait at once; the oldest gives up its place.
pub(super) const MOST: usize = 10_000;

/// Everything that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    most: usize,
    meter: Meter,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waits: HashMap<Arc<str>, Wait>,
    /// In the order in which they began to wait, with some that wait no longer.
    order: VecDeque<(Arc<str>, Arc<str>)>,
    /// To be closed at once.
    lost: Vec<(Arc<str>, What)>,
}

/// How often is looked whether an agent that looks at the time itself is still there.
const LOOK: Duration = Duration::from_secs(1);

/// A run that waits.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub(super) run: Arc<str>,
    /// How many requests it had.
    pub(super) turn: u32,
    /// The calls without an answer.
    pub(super) calls: Vec<Arc<str>>,
    /// When it has waited long enough.
    pub(super) due: Instant,
    /// The live agent whose calls these are. While it is there, it closes calls that nobody answers
    /// in time, and the run goes on.
    pub(super) agent: Option<Presence>,
}

impl Wait {
    fn has_agent(&self) -> bool {
        self.agent.as_ref().is_some_and(Presence::is_there)
    }
}

/// The run that a request belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    /// It answers calls of a run that waits, or hears what a live agent made of calls that nobody
    /// answered.
    Continues { run: Arc<str>, turn: u32, answered: Vec<Arc<str>>, left: Vec<Arc<str>> },
    /// None that waits. What waited in its session waits no longer.
    Nothing,
}

impl Waiting {
    pub(super) fn new(most: usize, meter: Meter) -> Waiting {
        Waiting { most: most.max(1), meter, state: Mutex::default() }
    }

    /// A run begins to wait.
    pub(super) fn insert(&self, session: &Arc<str>, wait: Wait) {
        let mut state = self.lock();
        while state.waits.len() >= self.most && !state.waits.contains_key(session) {
            let Some(oldest) = state.pop() else { break };
            self.meter.tools_open(-count(&oldest.1));
            let (session, wait) = oldest;
            state.lost.push((session, What::Lost(wait.run)));
        }
        self.meter.tools_open(count(&wait));
        state.order.push_back((session.clone(), wait.run.clone()));
        if let Some(before) = state.waits.insert(session.clone(), wait) {
            self.meter.tools_open(-count(&before));
        }
        if state.order.len() > 64 + 2 * state.waits.len() {
            let State { waits, order, .. } = &mut *state;
            order.retain(|(session, run)| waits.get(session).is_some_and(|it| it.run == *run));
        }
    }

    /// A request begins in a session.
    pub(super) fn claim(&self, session: &str, answers: &[Arc<str>]) -> Claimed {
        let Some(wait) = self.take(session, |_| true) else { return Claimed::Nothing };
        let goes_on = wait.calls.is_empty() && wait.has_agent();
        let Wait { run, turn, calls, .. } = wait;
        let (answered, left): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| answers.contains(call));
        match answered.is_empty() && !goes_on {
            true => Claimed::Nothing,
            false => Claimed::Continues { run, turn, answered, left },
        }
    }

    /// A live agent goes on without the answers to these calls. Its run waits for the next request.
    pub(super) fn timed_out(&self, session: &str, run: &str, calls: &[Arc<str>]) {
        let mut state = self.lock();
        let wait = state.waits.get_mut(session).filter(|wait| &*wait.run == run);
        let Some(wait) = wait else { return };
        let before = count(wait);
        wait.calls.retain(|call| !calls.contains(call));
        self.meter.tools_open(count(wait) - before);
    }

    /// A run that was taken out cannot be gone on with: it is to be closed.
    pub(super) fn give_up(&self, session: &Arc<str>, run: &Arc<str>) {
        self.lock().lost.push((session.clone(), What::Lost(run.clone())));
    }

    /// Somebody else ended a run; its session, if it waited.
    pub(super) fn forget(&self, run: &str) -> Option<Arc<str>> {
        let session = {
            let state = self.lock();
            let mut all = state.waits.iter();
            all.find(|(_, wait)| &*wait.run == run).map(|(session, _)| session.clone())?
        };
        self.take(&session, |wait| &*wait.run == run).map(|_| session)
    }

    /// What has waited for too long, and what was pushed out.
    pub(super) fn due(&self, now: Instant) -> Vec<(Arc<str>, What)> {
        let mut state = self.lock();
        let mut due = std::mem::take(&mut state.lost);
        while let Some((session, run)) = state.order.front() {
            let wait = state.waits.get(session).filter(|wait| wait.run == *run);
            if wait.is_some_and(|wait| wait.due > now) {
                break;
            }
            let late = wait.is_some();
            let Some((session, run)) = state.order.pop_front() else { break };
            if let Some(wait) =
                state.waits.get_mut(&session).filter(|wait| late && wait.has_agent())
            {
                wait.due = now + LOOK;
                state.order.push_back((session, run));
            } else if let Some(wait) = late.then(|| state.waits.remove(&session)).flatten() {
                self.meter.tools_open(-count(&wait));
                due.push((session, What::Late(wait.run, wait.calls)));
            }
        }
        due
    }

    fn take(&self, session: &str, fits: impl FnOnce(&Wait) -> bool) -> Option<Wait> {
        let mut state = self.lock();
        if !fits(state.waits.get(session)?) {
            return None;
        }
        let wait = state.waits.remove(session)?;
        self.meter.tools_open(-count(&wait));
        Some(wait)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes out what has waited longest.
    fn pop(&mut self) -> Option<(Arc<str>, Wait)> {
        loop {
            let (session, run) = self.order.pop_front()?;
            if self.waits.get(&session).is_some_and(|wait| wait.run == run) {
                return self.waits.remove(&session).map(|wait| (session, wait));
            }
        }
    }
}

fn count(wait: &Wait) -> i64 {
    i64::try_from(wait.calls.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(run: &str, calls: &[&str], due: Instant) -> Wait {
        let calls = calls.iter().map(|call| Arc::from(*call)).collect();
        Wait { run: run.into(), turn: 1, calls, due, agent: None }
    }

    fn names(due: &[(Arc<str>, What)]) -> Vec<String> {
        let told = due.iter().map(|(session, what)| match what {
            What::Late(run, calls) => format!("{session} {run} late {}", calls.len()),
            What::Lost(run) => format!("{session} {run} lost"),
            what => format!("{what:?}"),
        });
        told.collect()
    }

    #[test]
    fn a_run_is_taken_out_once() {
        let (waiting, now) = (Waiting::new(10, Meter::new()), Instant::now());
        let session = Arc::from("s");
        waiting.insert(&session, wait("r", &["a", "b"], now));
        let claimed = waiting.claim("s", &["b".into(), "x".into()]);
        let (answered, left) = (vec!["b".into()], vec!["a".into()]);
        assert_eq!(claimed, Claimed::Continues { run: "r".into(), turn: 1, answered, left });
        assert_eq!(waiting.claim("s", &["a".into()]), Claimed::Nothing);
        assert_eq!(names(&waiting.due(now)), [""; 0]);
        waiting.insert(&session, wait("r", &["a"], now));
        assert_eq!(waiting.claim("s", &[]), Claimed::Nothing);
        assert_eq!(waiting.claim("s", &["a".into()]), Claimed::Nothing);
    }

    #[test]
    fn what_waits_too_long_or_has_no_room_is_closed() {
        let (waiting, now) = (Waiting::new(2, Meter::new()), Instant::now());
        let later = now + Duration::from_secs(5);
        for (session, due) in [("one", now), ("two", now), ("three", later)] {
            waiting.insert(&session.into(), wait(session, &["a"], due));
        }
        assert_eq!(names(&waiting.due(now)), ["one one lost", "two two late 1"]);
        assert_eq!(waiting.forget("nobody"), None);
        assert_eq!(waiting.forget("three").as_deref(), Some("three"));
        assert_eq!(names(&waiting.due(later)), [""; 0]);
    }

    #[test]
    fn a_live_agent_closes_its_calls_itself_and_its_run_goes_on() {
        let (waiting, now) = (Waiting::new(10, Meter::new()), Instant::now());
        let (gone, presence) = Presence::pair();
        let session: Arc<str> = "s".into();
        let with_agent = |presence: &Presence| Wait {
            agent: Some(presence.clone()),
            ..wait("r", &["a", "b"], now)
        };
        waiting.insert(&session, with_agent(&presence));
        let later = now + 2 * LOOK;
        assert_eq!(names(&waiting.due(now)), [""; 0]);
        waiting.timed_out("s", "r", &["a".into(), "b".into()]);
        assert_eq!(names(&waiting.due(later)), [""; 0]);
        // A late answer, or other words: the run goes on with what the agent made of it.
        let goes_on =
            Claimed::Continues { run: "r".into(), turn: 1, answered: vec![], left: vec![] };
        assert_eq!(waiting.claim("s", &["b".into()]), goes_on);
        waiting.insert(&session, with_agent(&presence));
        gone.send_replace(true);
        assert_eq!(names(&waiting.due(later)), ["s r late 2"]);
        waiting.insert(&session, Wait { calls: Vec::new(), ..with_agent(&presence) });
        assert_eq!(waiting.claim("s", &[]), Claimed::Nothing);
    }

    #[test]
    fn sessions_that_come_and_go_leave_nothing_behind() {
        let (waiting, now) = (Waiting::new(1_000, Meter::new()), Instant::now());
        for number in 0..10_000 {
            let session = Arc::from("s");
            waiting.insert(&session, wait(&number.to_string(), &["a"], now));
            waiting.claim("s", &["a".into()]);
        }
        assert!(waiting.lock().order.len() <= 66);
    }
}
