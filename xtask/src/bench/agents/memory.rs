//! What many conversations take that wait for answers at once, and what is left of them.

use std::{fs, thread};

use super::{
    chat::{Chat, Face, please},
    stage::{Counts, Gateway, Record, World, parent, wait},
};
use crate::bench::probe;

/// Clients that ask at the same time.
const CLIENTS: usize = 4;

/// Processes that there may be beyond those that wait.
const SPARE: u32 = 20;

/// What was seen.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Memory {
    pub(super) sessions: u32,
    pub(super) before: Moment,
    pub(super) waiting: Moment,
    pub(super) answered: Moment,
    pub(super) rested: Moment,
    /// The agents' memory in the middle of them: all of it, and what is theirs alone.
    pub(super) agent: (u64, u64),
    /// Processes that are there after the gateway's end.
    pub(super) left: usize,
    /// Files that are.
    pub(super) files: usize,
}

/// A moment of the gateway.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Moment {
    /// Kilobytes in memory.
    pub(super) memory: u64,
    pub(super) counts: Counts,
    /// Processes that the system knows.
    pub(super) processes: usize,
}

pub(super) fn measure(world: &World, sessions: u32) -> Result<Memory, String> {
    let gateway = world.gateway(Record::All, sessions + SPARE, 3)?;
    // Whatever is needed once is there before anybody counts.
    let mut first = open(&gateway)?;
    answer(&gateway, &mut first)?;
    rest(&gateway)?;
    let before = moment(&gateway)?;
    let share = usize::try_from(sessions).map_err(|error| error.to_string())?.div_ceil(CLIENTS);
    let numbers: Vec<u32> = (0..sessions).collect();
    let opened = shared(numbers.chunks(share), |numbers| {
        numbers.iter().map(|_| open(&gateway)).collect::<Result<Vec<Chat>, String>>()
    })?;
    let mut chats: Vec<Chat> = opened.into_iter().flatten().collect();
    let waiting = moment(&gateway)?;
    let agents = gateway.children();
    let middle = |name: &str| {
        let mut all: Vec<u64> = agents.iter().filter_map(|it| kilobytes(*it, name)).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    let agent = (middle("VmRSS:"), middle("RssAnon:"));
    shared(chats.chunks_mut(share), |chats| {
        chats.iter_mut().try_for_each(|chat| answer(&gateway, chat))
    })?;
    let answered = moment(&gateway)?;
    rest(&gateway)?;
    let rested = moment(&gateway)?;
    drop(gateway);
    let left = agents.iter().filter(|process| parent(**process).is_some()).count();
    let files = world.left();
    Ok(Memory { sessions, before, waiting, answered, rested, agent, left, files })
}

/// A conversation in which a call waits for its answer.
fn open(gateway: &Gateway) -> Result<Chat, String> {
    let mut chat = Chat::new(Face::Whole);
    chat.say(&please(1));
    chat.ask(&mut gateway.client(), 1)?;
    Ok(chat)
}

fn answer(gateway: &Gateway, chat: &mut Chat) -> Result<(), String> {
    chat.answer();
    chat.ask(&mut gateway.client(), 0).map(drop)
}

/// Waits until no agent is there any more.
fn rest(gateway: &Gateway) -> Result<(), String> {
    wait("every agent is gone", || gateway.counts().is_ok_and(|counts| counts.processes == 0))
}

fn moment(gateway: &Gateway) -> Result<Moment, String> {
    let memory = probe::memory(gateway.id()).ok_or("nobody tells how much memory there is")?;
    let processes = gateway.children().len();
    Ok(Moment { memory, counts: gateway.counts()?, processes })
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

fn kilobytes(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
