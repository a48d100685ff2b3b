//! What many conversations take that wait for answers at once, and what is left of them.

use std::thread;

use super::{
    agent_gateway::{AgentCounts, AgentGateway, RunRecording, TestAgent},
    chat::{ClientChat, ReplyMode, prompt},
};
use crate::{
    acceptance::process::{is_alive, wait_until},
    bench::relays::{memory, status_number},
};

/// TimedClients that ask at the same time.
const CLIENTS: usize = 4;

/// Processes that there may be beyond those that wait.
const SPARE: u32 = 20;

/// The result.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct MemoryResult {
    pub(super) sessions: u32,
    pub(super) before: MemoryMoment,
    pub(super) waiting: MemoryMoment,
    pub(super) answered: MemoryMoment,
    pub(super) rested: MemoryMoment,
    /// The agents' memory in the middle of them: all of it, and what is theirs alone.
    pub(super) agent: (u64, u64),
    /// Processes that are there after the gateway's end.
    pub(super) left: usize,
    /// Files that are.
    pub(super) files: usize,
}

/// A moment of the gateway.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct MemoryMoment {
    /// Kilobytes in memory.
    pub(super) memory: u64,
    pub(super) counts: AgentCounts,
    /// Processes that the system knows.
    pub(super) processes: usize,
}

pub(super) fn measure(agent: &TestAgent, sessions: u32) -> Result<MemoryResult, String> {
    let gateway = agent.gateway(RunRecording::All, sessions + SPARE, 3)?;
    // What is needed once is there before the first count.
    let mut first = open(&gateway)?;
    answer(&gateway, &mut first)?;
    rest(&gateway)?;
    let before = moment(&gateway)?;
    let share = usize::try_from(sessions).map_err(|error| error.to_string())?.div_ceil(CLIENTS);
    let numbers: Vec<u32> = (0..sessions).collect();
    let opened = shared(numbers.chunks(share), |numbers| {
        numbers.iter().map(|_| open(&gateway)).collect::<Result<Vec<ClientChat>, String>>()
    })?;
    let mut chats: Vec<ClientChat> = opened.into_iter().flatten().collect();
    let waiting = moment(&gateway)?;
    let agents = gateway.children();
    let middle = |name: &str| {
        let mut all: Vec<u64> = agents.iter().filter_map(|it| status_number(*it, name)).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    let agent_memory = (middle("VmRSS:"), middle("RssAnon:"));
    shared(chats.chunks_mut(share), |chats| {
        chats.iter_mut().try_for_each(|chat| answer(&gateway, chat))
    })?;
    let answered = moment(&gateway)?;
    rest(&gateway)?;
    let rested = moment(&gateway)?;
    drop(gateway);
    let left = agents.iter().filter(|process| is_alive(**process)).count();
    let files = agent.files_left();
    Ok(MemoryResult {
        sessions,
        before,
        waiting,
        answered,
        rested,
        agent: agent_memory,
        left,
        files,
    })
}

/// A conversation in which a call waits for its answer.
fn open(gateway: &AgentGateway) -> Result<ClientChat, String> {
    let mut chat = ClientChat::new(ReplyMode::Whole);
    chat.say(&prompt(1));
    chat.send(&mut gateway.client(), 1)?;
    Ok(chat)
}

fn answer(gateway: &AgentGateway, chat: &mut ClientChat) -> Result<(), String> {
    chat.answer();
    chat.send(&mut gateway.client(), 0).map(drop)
}

/// Waits until no agent is there any more.
fn rest(gateway: &AgentGateway) -> Result<(), String> {
    wait_until("every agent is gone", || gateway.counts().is_ok_and(|counts| counts.processes == 0))
}

fn moment(gateway: &AgentGateway) -> Result<MemoryMoment, String> {
    let memory = memory(gateway.id()).ok_or("the memory of the gateway is not known")?;
    let processes = gateway.children().len();
    Ok(MemoryMoment { memory, counts: gateway.counts()?, processes })
}

/// Every part has a thread.
fn shared<P: Send, T: Send>(
    parts: impl Iterator<Item = P>,
    work: impl Fn(P) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let ends = threads.into_iter().map(|thread| thread.join());
        ends.map(|end| end.map_err(|_| "a client panicked".to_owned())?).collect()
    })
}
