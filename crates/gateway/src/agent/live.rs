//! One live agent: a process, the way it is spoken to, and the conversation with its client. One
//! task owns all three. It decides nothing: what happens goes into the conversation, and what comes
//! out of that is done.

mod reply;

use std::{sync::Arc, time::Duration};

use foxwedge_agent::{
    AgentBridge, AgentCommand, AgentEvent, AgentProtocol, BridgeInput, BridgeOutput, BridgePhase,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    handle::{AgentHandle, AgentRequest, LiveAgentCommand},
    lines::AgentOutputLine,
    process::{AgentProcess, ProcessEvent},
};
use crate::{ApiError, config, record::SideChannel};
use reply::{AgentReplySender, ReplySendResult, send_next};

/// How often a client is told that somebody is still at work.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// A silence that may mean something while a client waits.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// A live agent.
pub(super) struct LiveAgent {
    pub(super) handle: Arc<AgentHandle>,
    pub(super) agent: Arc<config::AgentConfig>,
    /// How long calls may stay unanswered.
    pub(super) call_timeout: Duration,
    pub(super) process: AgentProcess,
    pub(super) protocol: Box<dyn AgentProtocol>,
    pub(super) bridge: AgentBridge,
    pub(super) commands: mpsc::Receiver<LiveAgentCommand>,
    state: LiveAgentState,
}

/// What changes as it goes.
struct LiveAgentState {
    reply: Option<AgentReplySender>,
    side: Option<SideChannel>,
    /// When it has to be ready; `None` if it is.
    ready_by: Option<Instant>,
    /// When it gave a sign of life.
    last_output: Instant,
    /// When it said something that means something, and whether the silence behind it was told.
    last_event: Instant,
    silence_reported: bool,
    /// When its client has heard the end of a reply: calls wait from then on.
    reply_delivered: Instant,
    /// It is of no use any more.
    finished: bool,
}

/// What happens next.
enum LiveAgentEvent {
    Command(Option<LiveAgentCommand>),
    Reply(ReplySendResult),
    Process(ProcessEvent),
    Timer,
}

impl LiveAgent {
    pub(super) fn new(
        handle: Arc<AgentHandle>,
        agent: Arc<config::AgentConfig>,
        call: Duration,
        process: AgentProcess,
        protocol: Box<dyn AgentProtocol>,
        talk: AgentBridge,
        commands: mpsc::Receiver<LiveAgentCommand>,
    ) -> LiveAgent {
        let now = Instant::now();
        let ready_by = now.checked_add(agent.start);
        let state = LiveAgentState {
            reply: None,
            side: None,
            ready_by,
            last_output: now,
            last_event: now,
            silence_reported: false,
            reply_delivered: now,
            finished: false,
        };
        LiveAgent {
            handle,
            agent,
            call_timeout: call,
            process,
            protocol,
            bridge: talk,
            commands,
            state,
        }
    }

    /// Lives until nobody needs it, or it is gone. The first to ask is the one it was made for.
    pub(super) async fn run(mut self, first: AgentRequest) -> StoppingAgent {
        let begin = self.protocol.begin();
        self.write_lines(begin);
        self.start_request(first);
        while !self.state.finished {
            let wake = self.next_deadline();
            let full = self.state.reply.as_ref().is_some_and(AgentReplySender::is_full);
            let (reply, commands, process) =
                (&mut self.state.reply, &mut self.commands, &mut self.process);
            let next = tokio::select! {
                biased;
                // A client that is gone is heard of before the next one asks.
                watched = send_next(reply) => LiveAgentEvent::Reply(watched),
                command = commands.recv() => LiveAgentEvent::Command(command),
                told = process.next_event(), if !full => LiveAgentEvent::Process(told),
                () = sleep_until(wake) => LiveAgentEvent::Timer,
            };
            self.handle_event(next);
        }
        self.handle.mark_leaving();
        StoppingAgent { process: self.process, reply: self.state.reply }
    }

    fn handle_event(&mut self, next: LiveAgentEvent) {
        match next {
            LiveAgentEvent::Reply(ReplySendResult::Sent) => {}
            LiveAgentEvent::Reply(ReplySendResult::Finished) => {
                self.state.reply = None;
                self.state.reply_delivered = Instant::now();
            }
            LiveAgentEvent::Reply(ReplySendResult::ClientGone) => {
                let reply = self.state.reply.take();
                self.state.reply_delivered = Instant::now();
                if reply.is_some_and(|reply| !reply.has_ended()) {
                    self.step(BridgeInput::Stop);
                }
            }
            LiveAgentEvent::Command(Some(LiveAgentCommand::Check { tail, done })) => {
                let check = self.bridge.check(&tail);
                if check.fault.is_none() {
                    // Its answers are on their way: they are in time.
                    self.state.reply_delivered = Instant::now();
                }
                // Whoever does not wait for it does not need it.
                let _ = done.send((check, tail));
            }
            LiveAgentEvent::Command(Some(LiveAgentCommand::Request(asking))) => {
                self.start_request(*asking)
            }
            LiveAgentEvent::Command(Some(LiveAgentCommand::Decide { ticket, decision, done })) => {
                let asked =
                    self.bridge.permission_requests().iter().any(|ask| ask.ticket == ticket);
                if asked {
                    self.step(BridgeInput::Decided { ticket, decision });
                }
                // Whoever does not wait for it does not need it.
                let _ = done.send(asked);
            }
            LiveAgentEvent::Command(Some(LiveAgentCommand::End) | None) => self.stop(),
            LiveAgentEvent::Process(ProcessEvent::Line(line)) => self.handle_line(line),
            LiveAgentEvent::Process(ProcessEvent::Exited(words)) => self.handle_exit(words),
            LiveAgentEvent::Timer => self.check_deadlines(),
        }
        if self.handle.is_leaving() {
            self.stop();
        }
    }

    /// Nobody needs it any more.
    fn stop(&mut self) {
        if !self.state.finished {
            self.step(BridgeInput::Stop);
            self.state.finished = true;
        }
    }

    fn start_request(&mut self, asking: AgentRequest) {
        let AgentRequest { tail, chunks: pieces, run, side } = asking;
        self.state.reply = Some(AgentReplySender::new(pieces));
        self.state.side = side;
        self.state.last_output = Instant::now();
        (self.state.last_event, self.state.silence_reported) = (self.state.last_output, false);
        self.handle.status().run = Some(run);
        self.step(BridgeInput::Request(tail));
    }

    fn handle_line(&mut self, line: AgentOutputLine) {
        self.state.last_output = Instant::now();
        let (heard, back) = match line {
            AgentOutputLine::Whole(line) => self.protocol.read_line(&line),
            AgentOutputLine::TooLong => (vec![AgentEvent::Unreadable], Vec::new()),
        };
        self.write_lines(back);
        self.apply_agent_events(heard);
    }

    fn apply_agent_events(&mut self, heard: Vec<AgentEvent>) {
        for heard in heard {
            match heard {
                AgentEvent::Unreadable => continue,
                AgentEvent::Ready => self.state.ready_by = None,
                AgentEvent::StreamEvent(_)
                | AgentEvent::ToolResultWanted { .. }
                | AgentEvent::Withdrawn { .. }
                | AgentEvent::CallClosed { .. }
                | AgentEvent::PermissionRequested(_)
                | AgentEvent::TurnEnded { .. }
                | AgentEvent::Idle => {}
            }
            (self.state.last_event, self.state.silence_reported) = (Instant::now(), false);
            self.step(BridgeInput::AgentEvent(heard));
        }
    }

    fn handle_exit(&mut self, words: String) {
        self.step(BridgeInput::Died(words));
        self.state.finished = true;
    }

    /// Something took too long.
    fn check_deadlines(&mut self) {
        let now = Instant::now();
        if self.state.ready_by.is_some_and(|by| by <= now) {
            let words = format!("it was not ready in time ({:?})", self.agent.start);
            return self.handle_exit(self.with_stderr_tail(words));
        }
        match &mut self.state.reply {
            Some(reply) if !reply.has_ended() => {
                if deadline_after(self.state.last_output, self.agent.turn) <= now {
                    let words = format!("it gave no sign of life for {:?}", self.agent.turn);
                    return self.handle_exit(self.with_stderr_tail(words));
                }
                if deadline_after(reply.last_sent(), PING_INTERVAL) <= now {
                    reply.push_ping();
                }
                if !self.state.silence_reported
                    && deadline_after(self.state.last_event, SILENCE_LIMIT) <= now
                {
                    self.state.silence_reported = true;
                    let heard = self.protocol.on_silence();
                    self.apply_agent_events(heard);
                }
            }
            Some(_) | None => {
                if self.call_deadline().is_some_and(|due| due <= now) {
                    self.handle.status().undelivered = true;
                    return self.step(BridgeInput::TimedOut);
                }
                if self.idle_deadline() <= now {
                    self.stop();
                }
            }
        }
    }

    /// When calls have waited for too long: since their client has heard of them.
    fn call_deadline(&self) -> Option<Instant> {
        let waits = self.state.reply.is_none() && self.handle.has_open_calls();
        waits.then(|| deadline_after(self.state.reply_delivered, self.call_timeout))
    }

    fn with_stderr_tail(&self, words: String) -> String {
        match self.process.stderr_tail() {
            said if said.is_empty() => words,
            said => format!("{words}: {said}"),
        }
    }

    /// When somebody has to look at the time.
    fn next_deadline(&self) -> Instant {
        let next = match &self.state.reply {
            Some(reply) if !reply.has_ended() => {
                let next = deadline_after(self.state.last_output, self.agent.turn)
                    .min(deadline_after(reply.last_sent(), PING_INTERVAL));
                if self.state.silence_reported {
                    next
                } else {
                    next.min(deadline_after(self.state.last_event, SILENCE_LIMIT))
                }
            }
            Some(_) | None => {
                let rest = self.idle_deadline();
                self.call_deadline().map_or(rest, |due| due.min(rest))
            }
        };
        self.state.ready_by.map_or(next, |by| by.min(next))
    }

    /// When it has had nothing to do for too long. Calls may be waited for as long as any other.
    fn idle_deadline(&self) -> Instant {
        let shown = self.handle.status();
        let long = match shown.phase {
            BridgePhase::Waiting => self.agent.idle.max(self.call_timeout),
            BridgePhase::Idle
            | BridgePhase::Unattended
            | BridgePhase::Replying
            | BridgePhase::Dead => self.agent.idle,
        };
        deadline_after(shown.since.max(self.state.last_output), long)
    }

    fn step(&mut self, input: BridgeInput) {
        let outputs = self.bridge.step(input);
        self.apply_outputs(outputs);
        self.publish_status();
    }

    fn apply_outputs(&mut self, outputs: Vec<BridgeOutput>) {
        for output in outputs {
            match output {
                BridgeOutput::Command(order) => {
                    match &order {
                        // What it was told before is behind it, unless its client knows nothing of it.
                        AgentCommand::Prompt(_) | AgentCommand::ToolResult { .. } => {
                            self.handle.record_input()
                        }
                        AgentCommand::Decide { .. } | AgentCommand::Interrupt => {}
                    }
                    let lines = self.protocol.encode_command(order);
                    self.write_lines(lines);
                }
                BridgeOutput::StreamEvent(event) => {
                    if let Some(reply) = &mut self.state.reply {
                        reply.push_event(&event);
                    }
                }
                BridgeOutput::End => {
                    if let Some(reply) = &mut self.state.reply {
                        reply.finish();
                    }
                }
                BridgeOutput::Fail(fault) => self.fail_reply(super::to_api_error(fault)),
                BridgeOutput::Note(note) => {
                    if let Some(side) = &mut self.state.side {
                        side.record_note(note);
                    }
                }
                BridgeOutput::Kill => self.state.finished = true,
            }
        }
    }

    fn fail_reply(&mut self, fault: ApiError) {
        if let Some(reply) = &mut self.state.reply {
            reply.fail(fault);
        }
    }

    fn write_lines(&mut self, lines: Vec<String>) {
        for line in lines {
            if self.process.write_line(line).is_err() && !self.state.finished {
                self.state.finished = true;
                let words = "it does not read what it is told".to_owned();
                let outputs = self.bridge.step(BridgeInput::Died(words));
                for output in outputs {
                    if let BridgeOutput::Fail(fault) = output {
                        self.fail_reply(super::to_api_error(fault));
                    }
                }
            }
        }
    }

    /// What others see of it. Before the client hears of it: the answers may come at once.
    fn publish_status(&self) {
        let mut shown = self.handle.status();
        let phase = self.bridge.phase();
        if shown.phase != phase {
            shown.phase = phase;
            shown.since = Instant::now();
        }
        shown.open_calls.clear();
        shown.open_calls.extend(self.bridge.open_calls().into_iter().map(|call| call.id.clone()));
        shown.questions.clear();
        shown.questions.extend(self.bridge.permission_requests().into_iter().cloned());
    }
}

/// What is left of an agent that nobody can ask any more.
pub(super) struct StoppingAgent {
    process: AgentProcess,
    reply: Option<AgentReplySender>,
}

impl StoppingAgent {
    /// Ends the process, and tells the client the rest.
    pub(super) async fn end(self) {
        let rest = async {
            if let Some(reply) = self.reply {
                reply.send_rest().await;
            }
        };
        tokio::join!(self.process.end(), rest);
    }
}

/// A moment so much later; some settings mean forever.
fn deadline_after(since: Instant, long: Duration) -> Instant {
    const FOREVER: Duration = Duration::from_secs(365 * 86_400);
    since.checked_add(long).unwrap_or_else(|| since + FOREVER)
}
