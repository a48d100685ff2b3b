//! All live agents: found by their session or by a call that waits, at most so many, and all of
//! them ended at the end.

mod spawn;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use foxwedge_agent::{BridgePhase, PermissionDecision};
use foxwedge_formats::model::IdentifierReplacement;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, timeout, timeout_at},
};

use super::{
    cleanup,
    handle::{AgentHandle, AgentQuestion, AgentRequest, LiveAgentCommand},
};
use crate::{ApiError, ApiErrorKind, config};

/// Commands that may wait.
const COMMAND_QUEUE: usize = 16;
/// How long one that has to make room may take.
const EVICTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last of them may take to end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);
/// One that has waited so long for answers may have to make room; its conversation goes on from
/// what the client says.
const EVICTABLE_AFTER: Duration = Duration::from_secs(30);

/// All live agents. A copy is the same.
#[derive(Clone, Debug)]
pub(crate) struct AgentPool(Arc<AgentPoolShared>);

#[derive(Debug)]
struct AgentPoolShared {
    /// How long calls may stay unanswered.
    call_timeout: Duration,
    state: Mutex<AgentPoolState>,
}

#[derive(Debug, Default)]
struct AgentPoolState {
    handles: Vec<Arc<AgentHandle>>,
    tasks: Vec<JoinHandle<()>>,
    closed: bool,
}

/// A place for an agent that is about to be started. Dropped before that, it is free again.
pub(crate) struct AgentSlot {
    handle: Arc<AgentHandle>,
    commands: mpsc::Receiver<LiveAgentCommand>,
    guard: AgentSlotGuard,
}

impl AgentSlot {
    /// The tools and instructions it was kept for.
    pub(crate) fn setup(&self) -> u128 {
        self.handle.setup
    }
}

/// Whose place it is.
pub(crate) struct AgentSlotOwner {
    /// The upstream it belongs to.
    pub(crate) upstream: Arc<str>,
    /// Whose it is.
    pub(crate) owner: Arc<str>,
    /// Its session.
    pub(crate) session: Arc<str>,
    /// The same for the same tools and instructions.
    pub(crate) setup: u128,
    /// Names of tools that it knows under another name.
    pub(crate) names: Vec<IdentifierReplacement>,
}

/// A conversation that needs an agent.
pub(crate) struct AgentStartRequest {
    /// How it is started.
    pub(crate) agent: Arc<config::AgentConfig>,
    /// A sound request in Anthropic's format.
    pub(crate) body: Value,
    /// The model to ask for.
    pub(crate) model: Option<String>,
    /// Who asks. What is new is all of the body.
    pub(crate) asking: AgentRequest,
}

/// How many there are, and what they wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgentCounts {
    /// Processes.
    pub processes: usize,
    /// Those that wait for answers of their clients.
    pub waiting: usize,
    /// Calls that wait for an answer.
    pub calls: usize,
    /// Questions that wait for a person.
    pub questions: usize,
}

impl AgentPool {
    /// Nobody yet. Calls may stay unanswered for so long.
    pub(crate) fn new(call: Duration) -> AgentPool {
        AgentPool(Arc::new(AgentPoolShared { call_timeout: call, state: Mutex::default() }))
    }

    /// Removes what agents of before left that were ended without a word.
    pub(crate) async fn sweep(&self) {
        // What cannot be removed now is looked at the next time.
        let _ = spawn_blocking(cleanup::remove_abandoned).await;
    }

    /// The agent of an owner that waits for one of these answers, and has seen so many messages. Ids
    /// may come twice: the one of the session that the client names goes first, then the one whose
    /// conversation it is; one whose it cannot be is none.
    pub(crate) fn find_waiting(
        &self,
        owner: &str,
        answers: &[Arc<str>],
        chain: &[u128],
        named: Option<&str>,
        can_be: impl Fn(&AgentHandle, usize) -> bool,
    ) -> Option<Arc<AgentHandle>> {
        if answers.is_empty() {
            return None;
        }
        let state = self.lock();
        let of_owner = state.active().filter(|handle| *handle.owner == *owner);
        let wants =
            of_owner.filter(|handle| handle.awaits_any(answers.iter().map(|answer| &**answer)));
        let fits = wants.filter_map(|handle| {
            let seen = handle.known_messages(chain);
            let can = seen.is_none_or(|seen| can_be(handle, seen));
            can.then(|| ((named == Some(&*handle.session), seen, handle.result_count()), handle))
        });
        // Of those that are alike, the one that waits longest.
        let best = fits.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, handle)| handle.clone())
    }

    /// The agent of a session.
    pub(crate) fn find_by_session(&self, session: &str) -> Option<Arc<AgentHandle>> {
        self.lock().active().find(|handle| *handle.session == *session).cloned()
    }

    /// The agent that works on a run.
    fn find_by_run(&self, run: &str) -> Option<Arc<AgentHandle>> {
        let works = |handle: &&Arc<AgentHandle>| handle.status().run.as_deref() == Some(run);
        self.lock().active().find(works).cloned()
    }

    /// Questions about a run that wait for a person; `None` if nobody works on it here.
    pub(crate) fn questions(&self, run: &str) -> Option<Vec<AgentQuestion>> {
        self.find_by_run(run).map(|handle| handle.questions())
    }

    /// A person decides about a run; whether there was such a question.
    pub(crate) async fn decide(
        &self,
        run: &str,
        ticket: String,
        decision: PermissionDecision,
    ) -> bool {
        match self.find_by_run(run) {
            Some(handle) => handle.decide(ticket, decision).await,
            None => false,
        }
    }

    /// Somebody stopped a run: its agent is not needed any more.
    pub(crate) fn stop_run(&self, run: &str) {
        if let Some(handle) = self.find_by_run(run) {
            handle.stop();
        }
    }

    /// Keeps a place for an agent. Nothing else changes, but that one that rests may have to make
    /// room.
    ///
    /// # Errors
    /// If there are as many as there may be, and all of them are needed.
    pub(crate) async fn reserve(
        &self,
        of: AgentSlotOwner,
        most: usize,
    ) -> Result<AgentSlot, ApiError> {
        let AgentSlotOwner { upstream, owner, session, setup, names } = of;
        let (sender, commands) = mpsc::channel(COMMAND_QUEUE);
        let handle = Arc::new(AgentHandle::new(session, owner, upstream, setup, names, sender));
        let late = Instant::now() + EVICTION_TIMEOUT;
        loop {
            let before = {
                let mut state = self.lock();
                match state.choose_eviction(&handle, most)? {
                    Some(before) => before,
                    None => {
                        state.handles.push(handle.clone());
                        break;
                    }
                }
            };
            before.stop();
            if timeout_at(late, before.wait_for_exit()).await.is_err() {
                return Err(busy_error());
            }
        }
        let leaves = AgentSlotGuard { pool: self.clone(), handle: handle.clone() };
        Ok(AgentSlot { handle, commands, guard: leaves })
    }

    /// Starts an agent for a conversation, which replies to whoever asks. One that the session had
    /// before is ended.
    ///
    /// # Errors
    /// If the gateway is about to stop.
    pub(crate) fn start(
        &self,
        seat: AgentSlot,
        birth: AgentStartRequest,
    ) -> Result<Arc<AgentHandle>, ApiError> {
        let AgentSlot { handle, commands, guard: leaves } = seat;
        let mut state = self.lock();
        if state.closed {
            // The seat is given back behind the lock.
            drop(state);
            return Err(draining_error());
        }
        for before in state.active().filter(|one| one.session == handle.session) {
            if !Arc::ptr_eq(before, &handle) {
                before.stop();
            }
        }
        handle.status().run = Some(birth.asking.run.clone());
        let (call, born) = (self.0.call_timeout, handle.clone());
        state.tasks.retain(|task| !task.is_finished());
        state.tasks.push(tokio::spawn(async move {
            // Also if something panics: nobody may wait for it in vain.
            let _leaves = leaves;
            let leaving = spawn::run_agent(&born, birth, commands, call).await;
            born.mark_leaving();
            if let Some(leaving) = leaving {
                leaving.end().await;
            }
        }));
        Ok(handle)
    }

    /// How many there are.
    pub(crate) fn counts(&self) -> AgentCounts {
        let state = self.lock();
        let mut counts = AgentCounts { processes: state.handles.len(), ..AgentCounts::default() };
        for handle in state.active() {
            let shown = handle.status();
            counts.waiting += usize::from(shown.phase == BridgePhase::Waiting);
            counts.calls += shown.open_calls.len();
            counts.questions += shown.questions.len();
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
        handles.iter().for_each(|handle| handle.stop());
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let all = async {
            for task in tasks {
                // One that panicked has killed its process.
                let _ = task.await;
            }
        };
        if timeout(DRAIN_TIMEOUT, all).await.is_err() {
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }

    fn lock(&self) -> MutexGuard<'_, AgentPoolState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentPoolState {
    /// Those that may be found.
    fn active(&self) -> impl Iterator<Item = &Arc<AgentHandle>> {
        self.handles.iter().filter(|handle| !handle.is_leaving())
    }

    /// Whether there is room for one more. If not, who has to be gone first: one that leaves
    /// already, one of the same session, or one that has nothing to do.
    fn choose_eviction(
        &self,
        new: &AgentHandle,
        most: usize,
    ) -> Result<Option<Arc<AgentHandle>>, ApiError> {
        if self.closed {
            return Err(draining_error());
        }
        let of_it = self.handles.iter().filter(|handle| handle.upstream == new.upstream);
        if of_it.clone().count() < most {
            return Ok(None);
        }
        let now = Instant::now();
        let idle = of_it.filter_map(|handle| {
            let shown = handle.status();
            let rank = match (handle.is_leaving(), shown.phase) {
                (true, _) => 0,
                (false, _) if handle.session == new.session => 1,
                (false, BridgePhase::Dead) => 2,
                (false, BridgePhase::Idle) => 3,
                (false, BridgePhase::Waiting)
                    if now.duration_since(shown.since) >= EVICTABLE_AFTER =>
                {
                    4
                }
                (false, BridgePhase::Waiting | BridgePhase::Replying | BridgePhase::Unattended) => {
                    return None;
                }
            };
            Some(((rank, shown.since), handle.clone()))
        });
        idle.min_by_key(|(rank, _)| *rank).map(|(_, handle)| Some(handle)).ok_or_else(busy_error)
    }
}

/// The end of a task. Whatever happened, its agent is gone then.
struct AgentSlotGuard {
    pool: AgentPool,
    handle: Arc<AgentHandle>,
}

impl Drop for AgentSlotGuard {
    fn drop(&mut self) {
        let one = &self.handle;
        one.mark_leaving();
        self.pool.lock().handles.retain(|handle| !Arc::ptr_eq(handle, one));
        one.mark_exited();
    }
}

fn draining_error() -> ApiError {
    ApiError::new(ApiErrorKind::Unavailable, "draining", "the gateway is about to stop")
}

fn busy_error() -> ApiError {
    let words = "as many agents are at work as there may be";
    let mut fault = ApiError::new(ApiErrorKind::Unavailable, "agents_busy", words);
    fault.retry_after = Some(5);
    fault
}

#[cfg(test)]
mod tests;
