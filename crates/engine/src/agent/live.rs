//! One live agent: a process, the way it is spoken to, and the conversation with its client. One
//! task owns all three. It decides nothing: what happens goes into the conversation, and what comes
//! out of that is done.

mod reply;

use std::{sync::Arc, time::Duration};

use foxwedge_agent::{Heard, Input, Order, Output, Phase, Protocol, Talk};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    handle::{Asking, Command, Handle},
    lines::Line,
    process::{Process, Told},
};
use crate::{Fault, config, record::Side};
use reply::{Reply, Watched, watch};

/// How often a client is told that somebody is still at work.
const PING: Duration = Duration::from_secs(15);
/// A silence that may mean something while a client waits.
const QUIET: Duration = Duration::from_secs(60);

/// A live agent.
pub(super) struct Live {
    pub(super) handle: Arc<Handle>,
    pub(super) agent: Arc<config::Agent>,
    /// How long calls may stay unanswered.
    pub(super) call: Duration,
    pub(super) process: Process,
    pub(super) protocol: Box<dyn Protocol>,
    pub(super) talk: Talk,
    pub(super) commands: mpsc::Receiver<Command>,
    state: State,
}

/// What changes as it goes.
struct State {
    reply: Option<Reply>,
    side: Option<Side>,
    /// When it has to be ready; `None` if it is.
    ready_by: Option<Instant>,
    /// When it gave a sign of life.
    heard: Instant,
    /// When it said something that means something, and whether the silence behind it was told.
    spoke: Instant,
    quiet: bool,
    /// When its client has heard the end of a reply: calls wait from then on.
    handed: Instant,
    /// It is of no use any more.
    over: bool,
}

/// What happens next.
enum Next {
    Command(Option<Command>),
    Reply(Watched),
    Told(Told),
    Time,
}

impl Live {
    pub(super) fn new(
        handle: Arc<Handle>,
        agent: Arc<config::Agent>,
        call: Duration,
        process: Process,
        protocol: Box<dyn Protocol>,
        talk: Talk,
        commands: mpsc::Receiver<Command>,
    ) -> Live {
        let now = Instant::now();
        let ready_by = now.checked_add(agent.start);
        let state = State {
            reply: None,
            side: None,
            ready_by,
            heard: now,
            spoke: now,
            quiet: false,
            handed: now,
            over: false,
        };
        Live { handle, agent, call, process, protocol, talk, commands, state }
    }

    /// Lives until nobody needs it, or it is gone. The first to ask is the one it was made for.
    pub(super) async fn run(mut self, first: Asking) -> Leaving {
        let begin = self.protocol.begin();
        self.tell(begin);
        self.request(first);
        while !self.state.over {
            let wake = self.wake();
            let full = self.state.reply.as_ref().is_some_and(Reply::is_full);
            let (reply, commands, process) =
                (&mut self.state.reply, &mut self.commands, &mut self.process);
            let next = tokio::select! {
                biased;
                // A client that is gone is heard of before the next one asks.
                watched = watch(reply) => Next::Reply(watched),
                command = commands.recv() => Next::Command(command),
                told = process.next(), if !full => Next::Told(told),
                () = sleep_until(wake) => Next::Time,
            };
            self.take(next);
        }
        self.handle.leave();
        Leaving { process: self.process, reply: self.state.reply }
    }

    fn take(&mut self, next: Next) {
        match next {
            Next::Reply(Watched::Sent) => {}
            Next::Reply(Watched::Over) => {
                self.state.reply = None;
                self.state.handed = Instant::now();
            }
            Next::Reply(Watched::Gone) => {
                let reply = self.state.reply.take();
                self.state.handed = Instant::now();
                if reply.is_some_and(|reply| !reply.has_ended()) {
                    self.step(Input::Stop);
                }
            }
            Next::Command(Some(Command::Check { tail, done })) => {
                let check = self.talk.check(&tail);
                if check.fault.is_none() {
                    // Its answers are on their way: they are in time.
                    self.state.handed = Instant::now();
                }
                // Whoever does not wait for it does not need it.
                let _ = done.send((check, tail));
            }
            Next::Command(Some(Command::Request(asking))) => self.request(*asking),
            Next::Command(Some(Command::Decide { ticket, decision, done })) => {
                let asked = self.talk.asked().iter().any(|ask| ask.ticket == ticket);
                if asked {
                    self.step(Input::Decided { ticket, decision });
                }
                // Whoever does not wait for it does not need it.
                let _ = done.send(asked);
            }
            Next::Command(Some(Command::End) | None) => self.leave(),
            Next::Told(Told::Line(line)) => self.line(line),
            Next::Told(Told::Gone(words)) => self.died(words),
            Next::Time => self.late(),
        }
        if self.handle.is_leaving() {
            self.leave();
        }
    }

    /// Nobody needs it any more.
    fn leave(&mut self) {
        if !self.state.over {
            self.step(Input::Stop);
            self.state.over = true;
        }
    }

    fn request(&mut self, asking: Asking) {
        let Asking { tail, pieces, run, side } = asking;
        self.state.reply = Some(Reply::new(pieces));
        self.state.side = side;
        self.state.heard = Instant::now();
        (self.state.spoke, self.state.quiet) = (self.state.heard, false);
        self.handle.shown().run = Some(run);
        self.step(Input::Request(tail));
    }

    fn line(&mut self, line: Line) {
        self.state.heard = Instant::now();
        let (heard, back) = match line {
            Line::Whole(line) => self.protocol.line(&line),
            Line::TooLong => (vec![Heard::Noise], Vec::new()),
        };
        self.tell(back);
        self.hear(heard);
    }

    fn hear(&mut self, heard: Vec<Heard>) {
        for heard in heard {
            match heard {
                Heard::Noise => continue,
                Heard::Ready => self.state.ready_by = None,
                Heard::Said(_)
                | Heard::Wants { .. }
                | Heard::Withdrawn { .. }
                | Heard::Closed { .. }
                | Heard::Asks(_)
                | Heard::Ended { .. }
                | Heard::Idle => {}
            }
            (self.state.spoke, self.state.quiet) = (Instant::now(), false);
            self.step(Input::Heard(heard));
        }
    }

    fn died(&mut self, words: String) {
        self.step(Input::Died(words));
        self.state.over = true;
    }

    /// Something took too long.
    fn late(&mut self) {
        let now = Instant::now();
        if self.state.ready_by.is_some_and(|by| by <= now) {
            let words = format!("it was not ready in time ({:?})", self.agent.start);
            return self.died(self.with_words(words));
        }
        match &mut self.state.reply {
            Some(reply) if !reply.has_ended() => {
                if after(self.state.heard, self.agent.turn) <= now {
                    let words = format!("it gave no sign of life for {:?}", self.agent.turn);
                    return self.died(self.with_words(words));
                }
                if after(reply.last(), PING) <= now {
                    reply.ping();
                }
                if !self.state.quiet && after(self.state.spoke, QUIET) <= now {
                    self.state.quiet = true;
                    let heard = self.protocol.quiet();
                    self.hear(heard);
                }
            }
            Some(_) | None => {
                if self.calls_due().is_some_and(|due| due <= now) {
                    self.handle.shown().unheard = true;
                    return self.step(Input::TimedOut);
                }
                if self.rests_until() <= now {
                    self.leave();
                }
            }
        }
    }

    /// When calls have waited for too long: since their client has heard of them.
    fn calls_due(&self) -> Option<Instant> {
        let waits = self.state.reply.is_none() && self.handle.is_waiting();
        waits.then(|| after(self.state.handed, self.call))
    }

    fn with_words(&self, words: String) -> String {
        match self.process.words() {
            said if said.is_empty() => words,
            said => format!("{words}: {said}"),
        }
    }

    /// When somebody has to look at the time.
    fn wake(&self) -> Instant {
        let next = match &self.state.reply {
            Some(reply) if !reply.has_ended() => {
                let next = after(self.state.heard, self.agent.turn).min(after(reply.last(), PING));
                if self.state.quiet { next } else { next.min(after(self.state.spoke, QUIET)) }
            }
            Some(_) | None => {
                let rest = self.rests_until();
                self.calls_due().map_or(rest, |due| due.min(rest))
            }
        };
        self.state.ready_by.map_or(next, |by| by.min(next))
    }

    /// When it has had nothing to do for too long. Calls may be waited for as long as any other.
    fn rests_until(&self) -> Instant {
        let shown = self.handle.shown();
        let long = match shown.phase {
            Phase::Waiting => self.agent.idle.max(self.call),
            Phase::Idle | Phase::Alone | Phase::Replying | Phase::Dead => self.agent.idle,
        };
        after(shown.since.max(self.state.heard), long)
    }

    fn step(&mut self, input: Input) {
        let outputs = self.talk.step(input);
        self.act(outputs);
        self.show();
    }

    fn act(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Order(order) => {
                    match &order {
                        // What it was told before is behind it, unless its client knows nothing of it.
                        Order::Prompt(_) | Order::Answer { .. } => self.handle.told_more(),
                        Order::Decide { .. } | Order::Interrupt => {}
                    }
                    let lines = self.protocol.order(order);
                    self.tell(lines);
                }
                Output::Say(event) => {
                    if let Some(reply) = &mut self.state.reply {
                        reply.say(&event);
                    }
                }
                Output::End => {
                    if let Some(reply) = &mut self.state.reply {
                        reply.end();
                    }
                }
                Output::Fail(fault) => self.fail(super::fault(fault)),
                Output::Note(note) => {
                    if let Some(side) = &mut self.state.side {
                        side.note(note);
                    }
                }
                Output::Kill => self.state.over = true,
            }
        }
    }

    fn fail(&mut self, fault: Fault) {
        if let Some(reply) = &mut self.state.reply {
            reply.fail(fault);
        }
    }

    fn tell(&mut self, lines: Vec<String>) {
        for line in lines {
            if self.process.tell(line).is_err() && !self.state.over {
                self.state.over = true;
                let words = "it does not read what it is told".to_owned();
                let outputs = self.talk.step(Input::Died(words));
                for output in outputs {
                    if let Output::Fail(fault) = output {
                        self.fail(super::fault(fault));
                    }
                }
            }
        }
    }

    /// What others see of it. Before the client hears of it: the answers may come at once.
    fn show(&self) {
        let mut shown = self.handle.shown();
        let phase = self.talk.phase();
        if shown.phase != phase {
            shown.phase = phase;
            shown.since = Instant::now();
        }
        shown.open.clear();
        shown.open.extend(self.talk.open().into_iter().map(|call| call.id.clone()));
        shown.asked.clear();
        shown.asked.extend(self.talk.asked().into_iter().cloned());
    }
}

/// What is left of an agent that nobody can ask any more.
pub(super) struct Leaving {
    process: Process,
    reply: Option<Reply>,
}

impl Leaving {
    /// Ends the process, and tells the client the rest.
    pub(super) async fn end(self) {
        let rest = async {
            if let Some(reply) = self.reply {
                reply.flush().await;
            }
        };
        tokio::join!(self.process.end(), rest);
    }
}

/// A moment so much later; some settings mean forever.
fn after(since: Instant, long: Duration) -> Instant {
    const FOREVER: Duration = Duration::from_secs(365 * 86_400);
    since.checked_add(long).unwrap_or_else(|| since + FOREVER)
}
