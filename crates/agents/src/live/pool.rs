//! All live agents: finds them by session or open call, limits their number, and ends them on
//! shutdown.

mod spawn;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use foxwedge_formats::model::IdentifierReplacement;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, timeout, timeout_at},
};

use super::{
    AgentConfig, AgentCounts, AgentError, cleanup,
    handle::{AgentHandle, AgentQuestion, AgentRequest, LiveAgentCommand},
};
use crate::{BridgePhase, PermissionDecision};

/// Size of an agent's command queue.
const COMMAND_QUEUE: usize = 16;
/// How long an evicted agent may take to exit.
const EVICTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long all agents may take to exit on shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);
/// An agent that has waited this long for tool results may be evicted. Its conversation then
/// continues from the client's history.
const EVICTABLE_AFTER: Duration = Duration::from_secs(30);

/// All live agents. Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct AgentPool(Arc<AgentPoolShared>);

#[derive(Debug)]
struct AgentPoolShared {
    /// How long calls may wait for their results.
    call_timeout: Duration,
    state: Mutex<AgentPoolState>,
}

#[derive(Debug, Default)]
struct AgentPoolState {
    handles: Vec<Arc<AgentHandle>>,
    tasks: Vec<JoinHandle<()>>,
    closed: bool,
}

/// A reserved slot for an agent that will be started. Dropping it frees the slot.
pub struct AgentSlot {
    handle: Arc<AgentHandle>,
    commands: mpsc::Receiver<LiveAgentCommand>,
    guard: AgentSlotGuard,
}

impl AgentSlot {
    /// Hash of the tools and instructions it was reserved for.
    pub fn setup(&self) -> u128 {
        self.handle.setup
    }
}

/// What a slot is reserved for.
pub struct AgentSlotOwner {
    /// The upstream it belongs to.
    pub upstream: Arc<str>,
    /// The owner of the conversation.
    pub owner: Arc<str>,
    /// Its session.
    pub session: Arc<str>,
    /// Hash of the tools and instructions.
    pub setup: u128,
    /// Tools whose names differ for the agent.
    pub names: Vec<IdentifierReplacement>,
}

/// A conversation that needs an agent.
pub struct AgentStartRequest {
    /// The agent's configuration.
    pub agent: Arc<AgentConfig>,
    /// A valid request in Anthropic's format.
    pub body: Value,
    /// The model to use.
    pub model: Option<String>,
    /// The client's request. The whole body is new to the agent.
    pub request: AgentRequest,
}

impl AgentPool {
    /// Creates an empty pool. Calls may wait this long for their results.
    pub fn new(call_timeout: Duration) -> AgentPool {
        AgentPool(Arc::new(AgentPoolShared { call_timeout, state: Mutex::default() }))
    }

    /// Removes the files of agents whose gateway was killed.
    pub async fn sweep(&self) {
        // What cannot be removed now is tried again at the next start.
        let _ = spawn_blocking(cleanup::remove_abandoned).await;
    }

    /// Finds the owner's agent that waits for one of these tool results. Call ids may repeat, so
    /// several agents can match: the session that the client names is preferred, then the longest
    /// known conversation. `can_be` excludes agents to which the conversation cannot belong.
    pub fn find_waiting(
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
        let waiting =
            of_owner.filter(|handle| handle.awaits_any(answers.iter().map(|answer| &**answer)));
        let candidates = waiting.filter_map(|handle| {
            let seen = handle.known_messages(chain);
            let can = seen.is_none_or(|seen| can_be(handle, seen));
            can.then(|| ((named == Some(&*handle.session), seen, handle.result_count()), handle))
        });
        // Among equals, the one that has waited longest.
        let best = candidates.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, handle)| handle.clone())
    }

    /// The agent of a session.
    pub fn find_by_session(&self, session: &str) -> Option<Arc<AgentHandle>> {
        self.lock().active().find(|handle| *handle.session == *session).cloned()
    }

    /// The agent that works on a run.
    fn find_by_run(&self, run: &str) -> Option<Arc<AgentHandle>> {
        let runs_it = |handle: &&Arc<AgentHandle>| handle.status().run.as_deref() == Some(run);
        self.lock().active().find(runs_it).cloned()
    }

    /// Open questions of a run; `None` if no agent here works on it.
    pub fn questions(&self, run: &str) -> Option<Vec<AgentQuestion>> {
        self.find_by_run(run).map(|handle| handle.questions())
    }

    /// Passes on a user's decision. Returns whether the question was open.
    pub async fn decide(&self, run: &str, ticket: String, decision: PermissionDecision) -> bool {
        match self.find_by_run(run) {
            Some(handle) => handle.decide(ticket, decision).await,
            None => false,
        }
    }

    /// Ends the agent of a stopped run.
    pub fn stop_run(&self, run: &str) {
        if let Some(handle) = self.find_by_run(run) {
            handle.stop();
        }
    }

    /// Reserves a slot for an agent. May evict an idle agent.
    ///
    /// # Errors
    /// If the maximum number of agents is running and none can be evicted.
    pub async fn reserve(
        &self,
        slot_owner: AgentSlotOwner,
        max_agents: usize,
    ) -> Result<AgentSlot, AgentError> {
        let AgentSlotOwner { upstream, owner, session, setup, names } = slot_owner;
        let (sender, commands) = mpsc::channel(COMMAND_QUEUE);
        let handle = Arc::new(AgentHandle::new(session, owner, upstream, setup, names, sender));
        let deadline = Instant::now() + EVICTION_TIMEOUT;
        loop {
            let before = {
                let mut state = self.lock();
                match state.choose_eviction(&handle, max_agents)? {
                    Some(before) => before,
                    None => {
                        state.handles.push(handle.clone());
                        break;
                    }
                }
            };
            before.stop();
            if timeout_at(deadline, before.wait_for_exit()).await.is_err() {
                return Err(AgentError::Busy);
            }
        }
        let guard = AgentSlotGuard { pool: self.clone(), handle: handle.clone() };
        Ok(AgentSlot { handle, commands, guard })
    }

    /// Starts an agent for a conversation. An earlier agent of the session is ended.
    ///
    /// # Errors
    /// If the pool is being drained.
    pub fn start(
        &self,
        slot: AgentSlot,
        start: AgentStartRequest,
    ) -> Result<Arc<AgentHandle>, AgentError> {
        let AgentSlot { handle, commands, guard } = slot;
        let mut state = self.lock();
        if state.closed {
            // Dropping the slot takes the lock.
            drop(state);
            return Err(AgentError::Draining);
        }
        for before in state.active().filter(|one| one.session == handle.session) {
            if !Arc::ptr_eq(before, &handle) {
                before.stop();
            }
        }
        handle.status().run = Some(start.request.run.clone());
        let (call_timeout, agent) = (self.0.call_timeout, handle.clone());
        state.tasks.retain(|task| !task.is_finished());
        state.tasks.push(tokio::spawn(async move {
            // Dropped even on a panic, so that no one waits forever.
            let _guard = guard;
            let stopping = spawn::run_agent(&agent, start, commands, call_timeout).await;
            agent.mark_leaving();
            if let Some(stopping) = stopping {
                stopping.end().await;
            }
        }));
        Ok(handle)
    }

    /// Current counts.
    pub fn counts(&self) -> AgentCounts {
        let state = self.lock();
        let mut counts = AgentCounts { processes: state.handles.len(), ..AgentCounts::default() };
        for handle in state.active() {
            let status = handle.status();
            counts.waiting += usize::from(status.phase == BridgePhase::Waiting);
            counts.calls += status.open_calls.len();
            counts.questions += status.questions.len();
        }
        counts
    }

    /// Ends all agents and waits for them.
    pub async fn drain(&self) {
        let (handles, tasks) = {
            let mut state = self.lock();
            state.closed = true;
            (std::mem::take(&mut state.handles), std::mem::take(&mut state.tasks))
        };
        handles.iter().for_each(|handle| handle.stop());
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let all = async {
            for task in tasks {
                // A task that panicked has killed its process.
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
    /// Agents that accept requests.
    fn active(&self) -> impl Iterator<Item = &Arc<AgentHandle>> {
        self.handles.iter().filter(|handle| !handle.is_leaving())
    }

    /// The agent to evict, or `None` if there is room for one more. Preferred are agents that are
    /// already ending, then one of the same session, then idle ones.
    fn choose_eviction(
        &self,
        new: &AgentHandle,
        max_agents: usize,
    ) -> Result<Option<Arc<AgentHandle>>, AgentError> {
        if self.closed {
            return Err(AgentError::Draining);
        }
        let same_upstream = self.handles.iter().filter(|handle| handle.upstream == new.upstream);
        if same_upstream.clone().count() < max_agents {
            return Ok(None);
        }
        let now = Instant::now();
        let idle = same_upstream.filter_map(|handle| {
            let status = handle.status();
            let rank = match (handle.is_leaving(), status.phase) {
                (true, _) => 0,
                (false, _) if handle.session == new.session => 1,
                (false, BridgePhase::Dead) => 2,
                (false, BridgePhase::Idle) => 3,
                (false, BridgePhase::Waiting)
                    if now.duration_since(status.since) >= EVICTABLE_AFTER =>
                {
                    4
                }
                (false, BridgePhase::Waiting | BridgePhase::Replying | BridgePhase::Unattended) => {
                    return None;
                }
            };
            Some(((rank, status.since), handle.clone()))
        });
        idle.min_by_key(|(rank, _)| *rank).map(|(_, handle)| Some(handle)).ok_or(AgentError::Busy)
    }
}

/// Removes an agent from the pool when its task ends for any reason.
struct AgentSlotGuard {
    pool: AgentPool,
    handle: Arc<AgentHandle>,
}

impl Drop for AgentSlotGuard {
    fn drop(&mut self) {
        self.handle.mark_leaving();
        self.pool.lock().handles.retain(|handle| !Arc::ptr_eq(handle, &self.handle));
        self.handle.mark_exited();
    }
}

#[cfg(test)]
mod tests;
