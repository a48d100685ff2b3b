//! All live agents: found by their session or by a call that waits, at most so many, and all of
//! them ended at the end.

mod birth;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use foxwedge_agent::{Decision, Phase};
use foxwedge_dialect::canon::Renamed;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, timeout, timeout_at},
};

use super::{
    handle::{Asking, Command, Handle, Question},
    litter,
};
use crate::{Fault, Kind, config};

/// Commands that may wait.
const COMMANDS: usize = 16;
/// How long one that has to make room may take.
const ROOM: Duration = Duration::from_secs(10);
/// How long the last of them may take to end.
const LAST: Duration = Duration::from_secs(15);
/// One that has waited so long for answers may have to make room; its conversation goes on from
/// what the client says.
const WAITED: Duration = Duration::from_secs(30);

/// All live agents. A copy is the same.
#[derive(Clone, Debug)]
pub(crate) struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// How long calls may stay unanswered.
    call: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    handles: Vec<Arc<Handle>>,
    tasks: Vec<JoinHandle<()>>,
    closed: bool,
}

/// A place for an agent that is about to be started. Dropped before that, it is free again.
pub(crate) struct Seat {
    handle: Arc<Handle>,
    commands: mpsc::Receiver<Command>,
    leaves: Leaves,
}

impl Seat {
    /// The tools and instructions it was kept for.
    pub(crate) fn setup(&self) -> u128 {
        self.handle.setup
    }
}

/// Whose place it is.
pub(crate) struct SeatOwner {
    /// The upstream it belongs to.
    pub(crate) upstream: Arc<str>,
    /// Whose it is.
    pub(crate) owner: Arc<str>,
    /// Its session.
    pub(crate) session: Arc<str>,
    /// The same for the same tools and instructions.
    pub(crate) setup: u128,
    /// Names of tools that it knows under another name.
    pub(crate) names: Vec<Renamed>,
}

/// A conversation that needs an agent.
pub(crate) struct Birth {
    /// How it is started.
    pub(crate) agent: Arc<config::Agent>,
    /// A sound request in Anthropic's format.
    pub(crate) body: Value,
    /// The model to ask for.
    pub(crate) model: Option<String>,
    /// Who asks. What is new is all of the body.
    pub(crate) asking: Asking,
}

/// How many there are, and what they wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Processes.
    pub processes: usize,
    /// Those that wait for answers of their clients.
    pub waiting: usize,
    /// Calls that wait for an answer.
    pub calls: usize,
    /// Questions that wait for a person.
    pub questions: usize,
}

impl Pool {
    /// Nobody yet. Calls may stay unanswered for so long.
    pub(crate) fn new(call: Duration) -> Pool {
        Pool(Arc::new(Shared { call, state: Mutex::default() }))
    }

    /// Removes what agents of before left that were ended without a word.
    pub(crate) async fn sweep(&self) {
        // What cannot be removed now is looked at the next time.
        let _ = spawn_blocking(litter::sweep).await;
    }

    /// The agent of an owner that waits for one of these answers, and has seen so many messages. Ids
    /// may come twice: the one of the session that the client names goes first, then the one whose
    /// conversation it is; one whose it cannot be is none.
    pub(crate) fn wanting(
        &self,
        owner: &str,
        answers: &[Arc<str>],
        chain: &[u128],
        named: Option<&str>,
        can_be: impl Fn(&Handle, usize) -> bool,
    ) -> Option<Arc<Handle>> {
        if answers.is_empty() {
            return None;
        }
        let state = self.lock();
        let of_owner = state.found().filter(|handle| *handle.owner == *owner);
        let wants = of_owner.filter(|handle| handle.wants(answers.iter().map(|answer| &**answer)));
        let fits = wants.filter_map(|handle| {
            let seen = handle.seen(chain);
            let can = seen.is_none_or(|seen| can_be(handle, seen));
            can.then(|| ((named == Some(&*handle.session), seen, handle.heard()), handle))
        });
        // Of those that are alike, the one that waits longest.
        let best = fits.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, handle)| handle.clone())
    }

    /// The agent of a session.
    pub(crate) fn of(&self, session: &str) -> Option<Arc<Handle>> {
        self.lock().found().find(|handle| *handle.session == *session).cloned()
    }

    /// The agent that works on a run.
    fn of_run(&self, run: &str) -> Option<Arc<Handle>> {
        let works = |handle: &&Arc<Handle>| handle.shown().run.as_deref() == Some(run);
        self.lock().found().find(works).cloned()
    }

    /// Questions about a run that wait for a person; `None` if nobody works on it here.
    pub(crate) fn questions(&self, run: &str) -> Option<Vec<Question>> {
        self.of_run(run).map(|handle| handle.questions())
    }

    /// A person decides about a run; whether there was such a question.
    pub(crate) async fn decide(&self, run: &str, ticket: String, decision: Decision) -> bool {
        match self.of_run(run) {
            Some(handle) => handle.decide(ticket, decision).await,
            None => false,
        }
    }

    /// Somebody stopped a run: its agent is not needed any more.
    pub(crate) fn end(&self, run: &str) {
        if let Some(handle) = self.of_run(run) {
            handle.end();
        }
    }

    /// Keeps a place for an agent. Nothing else changes, but that one that rests may have to make
    /// room.
    ///
    /// # Errors
    /// If there are as many as there may be, and all of them are needed.
    pub(crate) async fn reserve(&self, of: SeatOwner, most: usize) -> Result<Seat, Fault> {
        let SeatOwner { upstream, owner, session, setup, names } = of;
        let (sender, commands) = mpsc::channel(COMMANDS);
        let handle = Arc::new(Handle::new(session, owner, upstream, setup, names, sender));
        let late = Instant::now() + ROOM;
        loop {
            let before = {
                let mut state = self.lock();
                match state.room(&handle, most)? {
                    Some(before) => before,
                    None => {
                        state.handles.push(handle.clone());
                        break;
                    }
                }
            };
            before.end();
            if timeout_at(late, before.wait()).await.is_err() {
                return Err(busy());
            }
        }
        let leaves = Leaves { pool: self.clone(), handle: handle.clone() };
        Ok(Seat { handle, commands, leaves })
    }

    /// Starts an agent for a conversation, which replies to whoever asks. One that the session had
    /// before is ended.
    ///
    /// # Errors
    /// If the gateway is about to stop.
    pub(crate) fn start(&self, seat: Seat, birth: Birth) -> Result<Arc<Handle>, Fault> {
        let Seat { handle, commands, leaves } = seat;
        let mut state = self.lock();
        if state.closed {
            // The seat is given back behind the lock.
            drop(state);
            return Err(draining());
        }
        for before in state.found().filter(|one| one.session == handle.session) {
            if !Arc::ptr_eq(before, &handle) {
                before.end();
            }
        }
        handle.shown().run = Some(birth.asking.run.clone());
        let (call, born) = (self.0.call, handle.clone());
        state.tasks.retain(|task| !task.is_finished());
        state.tasks.push(tokio::spawn(async move {
            // Also if something panics: nobody may wait for it in vain.
            let _leaves = leaves;
            let leaving = birth::live(&born, birth, commands, call).await;
            born.leave();
            if let Some(leaving) = leaving {
                leaving.end().await;
            }
        }));
        Ok(handle)
    }

    /// How many there are.
    pub(crate) fn counts(&self) -> Counts {
        let state = self.lock();
        let mut counts = Counts { processes: state.handles.len(), ..Counts::default() };
        for handle in state.found() {
            let shown = handle.shown();
            counts.waiting += usize::from(shown.phase == Phase::Waiting);
            counts.calls += shown.open.len();
            counts.questions += shown.asked.len();
        }
        counts
    }

    /// Ends all of them, and waits for that.
    pub(crate) async fn drain(&self) {
        let (handles, tasks) = {
            let mut state = self.lock();
            state.closed = true;
            (std::mem::take(&mut state.handles), std::mem::take(&mut state.tasks))
        };
        handles.iter().for_each(|handle| handle.end());
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let all = async {
            for task in tasks {
                // One that panicked has killed its process.
                let _ = task.await;
            }
        };
        if timeout(LAST, all).await.is_err() {
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Those that may be found.
    fn found(&self) -> impl Iterator<Item = &Arc<Handle>> {
        self.handles.iter().filter(|handle| !handle.is_leaving())
    }

    /// Whether there is room for one more. If not, who has to be gone first: one that leaves
    /// already, one of the same session, or one that has nothing to do.
    fn room(&self, new: &Handle, most: usize) -> Result<Option<Arc<Handle>>, Fault> {
        if self.closed {
            return Err(draining());
        }
        let of_it = self.handles.iter().filter(|handle| handle.upstream == new.upstream);
        if of_it.clone().count() < most {
            return Ok(None);
        }
        let now = Instant::now();
        let idle = of_it.filter_map(|handle| {
            let shown = handle.shown();
            let rank = match (handle.is_leaving(), shown.phase) {
                (true, _) => 0,
                (false, _) if handle.session == new.session => 1,
                (false, Phase::Dead) => 2,
                (false, Phase::Idle) => 3,
                (false, Phase::Waiting) if now.duration_since(shown.since) >= WAITED => 4,
                (false, Phase::Waiting | Phase::Replying | Phase::Alone) => return None,
            };
            Some(((rank, shown.since), handle.clone()))
        });
        idle.min_by_key(|(rank, _)| *rank).map(|(_, handle)| Some(handle)).ok_or_else(busy)
    }
}

/// The end of a task. Whatever happened, its agent is gone then.
struct Leaves {
    pool: Pool,
    handle: Arc<Handle>,
}

impl Drop for Leaves {
    fn drop(&mut self) {
        let one = &self.handle;
        one.leave();
        self.pool.lock().handles.retain(|handle| !Arc::ptr_eq(handle, one));
        one.is_gone();
    }
}

fn draining() -> Fault {
    Fault::new(Kind::Unavailable, "draining", "the gateway is about to stop")
}

fn busy() -> Fault {
    let words = "as many agents are at work as there may be";
    let mut fault = Fault::new(Kind::Unavailable, "agents_busy", words);
    fault.retry_after = Some(5);
    fault
}

#[cfg(test)]
mod tests;
