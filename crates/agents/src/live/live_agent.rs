//! One live agent: its process, its protocol and the bridge to its client, owned by one task. The
//! task makes no decisions: it passes every event to the bridge and carries out its outputs.

mod reply;

use std::{sync::Arc, time::Duration};

use foxwedge_process::OutputLine;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    AgentConfig, AgentError, NoteRecorder,
    handle::{AgentHandle, AgentRequest, LiveAgentCommand},
    process::{AgentProcess, ProcessEvent},
};
use crate::{
    AgentBridge, AgentCommand, AgentEvent, AgentProtocol, BridgeInput, BridgeOutput, BridgePhase,
};
use reply::{AgentReplySender, ReplySendResult, send_next};

/// Interval of keep-alives to a waiting client.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Silence after which the protocol is asked what it means, while a client waits.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// A live agent.
pub(super) struct LiveAgent {
    pub(super) handle: Arc<AgentHandle>,
    pub(super) agent: Arc<AgentConfig>,
    /// How long calls may wait for their results.
    pub(super) call_timeout: Duration,
    pub(super) process: AgentProcess,
    pub(super) protocol: Box<dyn AgentProtocol>,
    pub(super) bridge: AgentBridge,
    pub(super) commands: mpsc::Receiver<LiveAgentCommand>,
    state: LiveAgentState,
}

/// The changing part of a live agent.
struct LiveAgentState {
    reply: Option<AgentReplySender>,
    notes: Option<NoteRecorder>,
    /// Deadline until which it must be ready; `None` if it is.
    ready_by: Option<Instant>,
    /// Time of the last output.
    last_output: Instant,
    /// Time of the last readable event, and whether the silence since then was reported.
    last_event: Instant,
    silence_reported: bool,
    /// When the client received the end of a reply. The call timeout starts here.
    reply_delivered: Instant,
    /// The agent must end.
    finished: bool,
}

/// An event of the task.
enum LiveAgentEvent {
    Command(Option<LiveAgentCommand>),
    Reply(ReplySendResult),
    Process(ProcessEvent),
    Timer,
}

impl LiveAgent {
    pub(super) fn new(
        handle: Arc<AgentHandle>,
        agent: Arc<AgentConfig>,
        call_timeout: Duration,
        process: AgentProcess,
        protocol: Box<dyn AgentProtocol>,
        bridge: AgentBridge,
        commands: mpsc::Receiver<LiveAgentCommand>,
    ) -> LiveAgent {
        let now = Instant::now();
        let ready_by = now.checked_add(agent.start_timeout);
        let state = LiveAgentState {
            reply: None,
            notes: None,
            ready_by,
            last_output: now,
            last_event: now,
            silence_reported: false,
            reply_delivered: now,
            finished: false,
        };
        LiveAgent { handle, agent, call_timeout, process, protocol, bridge, commands, state }
    }

    /// Runs until the agent is stopped or exits. `first` is the request that it was started for.
    pub(super) async fn run(mut self, first: AgentRequest) -> StoppingAgent {
        let begin = self.protocol.begin();
        self.write_lines(begin);
        self.start_request(first);
        while !self.state.finished {
            let deadline = self.next_deadline();
            let is_full = self.state.reply.as_ref().is_some_and(AgentReplySender::is_full);
            let (reply, commands, process) =
                (&mut self.state.reply, &mut self.commands, &mut self.process);
            let next = tokio::select! {
                biased;
                // A disconnect is handled before the next request.
                result = send_next(reply) => LiveAgentEvent::Reply(result),
                command = commands.recv() => LiveAgentEvent::Command(command),
                event = process.next_event(), if !is_full => LiveAgentEvent::Process(event),
                () = sleep_until(deadline) => LiveAgentEvent::Timer,
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
                    // Its results are about to arrive, so they are in time.
                    self.state.reply_delivered = Instant::now();
                }
                // The receiver may be gone.
                let _ = done.send((check, tail));
            }
            LiveAgentEvent::Command(Some(LiveAgentCommand::Request(request))) => {
                self.start_request(*request)
            }
            LiveAgentEvent::Command(Some(LiveAgentCommand::Decide { ticket, decision, done })) => {
                let requests = self.bridge.permission_requests();
                let is_open = requests.iter().any(|request| request.ticket == ticket);
                if is_open {
                    self.step(BridgeInput::Decided { ticket, decision });
                }
                // The receiver may be gone.
                let _ = done.send(is_open);
            }
            LiveAgentEvent::Command(Some(LiveAgentCommand::End) | None) => self.stop(),
            LiveAgentEvent::Process(ProcessEvent::Line(line)) => self.handle_line(line),
            LiveAgentEvent::Process(ProcessEvent::Exited(message)) => self.handle_exit(message),
            LiveAgentEvent::Timer => self.check_deadlines(),
        }
        if self.handle.is_leaving() {
            self.stop();
        }
    }

    /// Stops the agent.
    fn stop(&mut self) {
        if !self.state.finished {
            self.step(BridgeInput::Stop);
            self.state.finished = true;
        }
    }

    fn start_request(&mut self, request: AgentRequest) {
        let AgentRequest { tail, chunks, run, notes } = request;
        self.state.reply = Some(AgentReplySender::new(chunks));
        self.state.notes = notes;
        self.state.last_output = Instant::now();
        (self.state.last_event, self.state.silence_reported) = (self.state.last_output, false);
        self.handle.status().run = Some(run);
        self.step(BridgeInput::Request(tail));
    }

    fn handle_line(&mut self, line: OutputLine) {
        self.state.last_output = Instant::now();
        let (events, responses) = match line {
            OutputLine::Whole(line) => self.protocol.read_line(&line),
            OutputLine::TooLong { .. } | OutputLine::Endless => {
                (vec![AgentEvent::Unreadable], Vec::new())
            }
        };
        self.write_lines(responses);
        self.apply_agent_events(events);
    }

    fn apply_agent_events(&mut self, events: Vec<AgentEvent>) {
        for event in events {
            match event {
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
            self.step(BridgeInput::AgentEvent(event));
        }
    }

    fn handle_exit(&mut self, message: String) {
        self.step(BridgeInput::Died(message));
        self.state.finished = true;
    }

    /// Handles deadlines that have passed.
    fn check_deadlines(&mut self) {
        let now = Instant::now();
        if self.state.ready_by.is_some_and(|by| by <= now) {
            let message = format!("it was not ready within {:?}", self.agent.start_timeout);
            return self.handle_exit(self.with_stderr_tail(message));
        }
        match &mut self.state.reply {
            Some(reply) if !reply.has_ended() => {
                if deadline_after(self.state.last_output, self.agent.turn_timeout) <= now {
                    let message = format!("it wrote no output for {:?}", self.agent.turn_timeout);
                    return self.handle_exit(self.with_stderr_tail(message));
                }
                if deadline_after(reply.last_sent(), PING_INTERVAL) <= now {
                    reply.push_ping();
                }
                if !self.state.silence_reported
                    && deadline_after(self.state.last_event, SILENCE_LIMIT) <= now
                {
                    self.state.silence_reported = true;
                    let events = self.protocol.on_silence();
                    self.apply_agent_events(events);
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

    /// When open calls time out, counted from the end of the reply that listed them.
    fn call_deadline(&self) -> Option<Instant> {
        let waits = self.state.reply.is_none() && self.handle.has_open_calls();
        waits.then(|| deadline_after(self.state.reply_delivered, self.call_timeout))
    }

    fn with_stderr_tail(&self, message: String) -> String {
        match self.process.stderr_tail() {
            stderr if stderr.is_empty() => message,
            stderr => format!("{message}: {stderr}"),
        }
    }

    /// When to check the deadlines next.
    fn next_deadline(&self) -> Instant {
        let next = match &self.state.reply {
            Some(reply) if !reply.has_ended() => {
                let next = deadline_after(self.state.last_output, self.agent.turn_timeout)
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

    /// When the agent has been idle for too long. With open calls it lives at least as long as the
    /// call timeout.
    fn idle_deadline(&self) -> Instant {
        let status = self.handle.status();
        let duration = match status.phase {
            BridgePhase::Waiting => self.agent.idle_timeout.max(self.call_timeout),
            BridgePhase::Idle
            | BridgePhase::Unattended
            | BridgePhase::Replying
            | BridgePhase::Dead => self.agent.idle_timeout,
        };
        deadline_after(status.since.max(self.state.last_output), duration)
    }

    fn step(&mut self, input: BridgeInput) {
        let outputs = self.bridge.step(input);
        self.apply_outputs(outputs);
        self.publish_status();
    }

    fn apply_outputs(&mut self, outputs: Vec<BridgeOutput>) {
        for output in outputs {
            match output {
                BridgeOutput::Command(command) => {
                    match &command {
                        // New input: the client continues after the reply to it.
                        AgentCommand::Prompt(_) | AgentCommand::ToolResult { .. } => {
                            self.handle.record_input()
                        }
                        AgentCommand::Decide { .. } | AgentCommand::Interrupt => {}
                    }
                    let lines = self.protocol.encode_command(command);
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
                BridgeOutput::Fail(error) => self.fail_reply(error.into()),
                BridgeOutput::Note(note) => {
                    if let Some(notes) = &mut self.state.notes {
                        notes.record(note);
                    }
                }
                BridgeOutput::Kill => self.state.finished = true,
            }
        }
    }

    fn fail_reply(&mut self, error: AgentError) {
        if let Some(reply) = &mut self.state.reply {
            reply.fail(error);
        }
    }

    fn write_lines(&mut self, lines: Vec<String>) {
        for line in lines {
            if self.process.write_line(line).is_err() && !self.state.finished {
                self.state.finished = true;
                let message = "it does not read its input".to_owned();
                let outputs = self.bridge.step(BridgeInput::Died(message));
                for output in outputs {
                    if let BridgeOutput::Fail(error) = output {
                        self.fail_reply(error.into());
                    }
                }
            }
        }
    }

    /// Publishes the status. This must happen before the client receives the calls, because results
    /// may arrive at once.
    fn publish_status(&self) {
        let mut status = self.handle.status();
        let phase = self.bridge.phase();
        if status.phase != phase {
            status.phase = phase;
            status.since = Instant::now();
        }
        status.open_calls.clear();
        status.open_calls.extend(self.bridge.open_calls().into_iter().map(|call| call.id.clone()));
        status.questions.clear();
        status.questions.extend(self.bridge.permission_requests().into_iter().cloned());
    }
}

/// An agent that accepts no more requests and has to be ended.
pub(super) struct StoppingAgent {
    process: AgentProcess,
    reply: Option<AgentReplySender>,
}

impl StoppingAgent {
    /// Ends the process and sends the client the rest of its reply.
    pub(super) async fn end(self) {
        let rest = async {
            if let Some(reply) = self.reply {
                reply.send_rest().await;
            }
        };
        tokio::join!(self.process.end(), rest);
    }
}

/// `since` plus `long`; a duration too large for the clock counts as a year.
fn deadline_after(since: Instant, duration: Duration) -> Instant {
    const FOREVER: Duration = Duration::from_secs(365 * 86_400);
    since.checked_add(duration).unwrap_or_else(|| since + FOREVER)
}
