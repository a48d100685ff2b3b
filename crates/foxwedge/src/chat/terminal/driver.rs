//! The loop of the terminal: waits, asks the screen what it means, and does it. Runs go on in the
//! same task, so that nothing is shown that has not happened.

mod input;
mod signals;

use std::{
    collections::{HashMap, VecDeque},
    env,
    future::Future,
    ops::ControlFlow,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use foxwedge_agent_loop::{
    take_ready,
    tool_loop::{LoopEvent, ToolDecision},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};

use self::{
    input::{KeyboardReader, TerminalInputEvent},
    signals::{TerminalSignal, TerminalSignals},
};
use super::{
    InterruptDelivery, RunController, TerminalApprovalInbox, TerminalHost, TerminalStart,
    approval_prompt::ApprovalPrompt,
    approver::TerminalApprovalRequest,
    draw,
    guard::{self, TerminalGuard},
    keys::TerminalKey,
    paint::{TerminalColors, TerminalPainter},
    queue_writer::PromptQueueWriter,
    row::StyledRow,
    screen::{ScreenAction, ScreenError, TerminalScreen},
};
use crate::{
    cli_output::{self, DIM},
    runs::draw::SignSet,
};

/// How often what moves does so, in milliseconds.
const SPINNER_MILLIS: u64 = 120;
/// How often times are drawn where nothing moves, in milliseconds.
const CLOCK_MILLIS: u64 = 1_000;
/// The least time between two drawings, in milliseconds.
const MIN_PAINT_MILLIS: u64 = 15;
/// How long tools may take to end when we are told to.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// What is taken in before it is drawn.
const EVENT_BATCH: usize = 512;

/// Runs the terminal until somebody leaves it.
pub(super) async fn run(
    host: &mut dyn TerminalHost,
    questions: TerminalApprovalInbox,
    mut start: TerminalStart,
) -> anyhow::Result<ExitCode> {
    let prompt = start.prompt.take();
    let guard = TerminalGuard::take().context("the terminal cannot be used")?;
    let mut seat = TerminalDriver::new(guard, host.run_controller(), questions, start)?;
    seat.screen.status = host.status();
    if let Some(prompt) = prompt {
        let acts = seat.screen.send_prompt(&prompt);
        seat.queued_actions.extend(acts);
    }
    let code = seat.run_actions(host).await;
    let comeback = host.resume_command();
    seat.leave(comeback.as_deref()).await;
    code.map(ExitCode::from)
}

/// Where a person sits: the screen, the keys, and what they reach.
struct TerminalDriver {
    guard: TerminalGuard,
    screen: TerminalScreen,
    painter: TerminalPainter,
    input: KeyboardReader,
    signals: TerminalSignals,
    controller: Arc<dyn RunController>,
    queue_writer: PromptQueueWriter,
    questions: TerminalApprovalInbox,
    /// Whoever waits for an answer.
    replies: HashMap<u64, oneshot::Sender<ToolDecision>>,
    question_count: u64,
    loop_events: (mpsc::UnboundedSender<LoopEvent>, mpsc::UnboundedReceiver<LoopEvent>),
    errors: mpsc::UnboundedReceiver<String>,
    /// What is to be done when nothing is at work, one thing after the other.
    queued_actions: VecDeque<ScreenAction>,
    /// Interrupts that came before the work could hear them.
    pending_interrupts: u32,
    clock: Instant,
    painted_at: u64,
    motion: bool,
    /// When we came back from being suspended by ourselves.
    resumed: Option<Instant>,
    /// We were told to end, and this is how long we wait.
    ending: Option<(u8, Instant)>,
}

/// What made us stop waiting.
enum TerminalWaitOutcome<T> {
    /// The work is done.
    Done(T),
    /// There is something to do, and nothing was at work.
    ActionsQueued,
    /// Somebody left.
    Leave(u8),
}

impl TerminalDriver {
    fn new(
        guard: TerminalGuard,
        desk: Arc<dyn RunController>,
        questions: TerminalApprovalInbox,
        start: TerminalStart,
    ) -> anyhow::Result<TerminalDriver> {
        let (width, height) = terminal_size();
        let (sender, troubles) = mpsc::unbounded_channel();
        let keeper = PromptQueueWriter::new(Arc::clone(&desk), start.queued.clone(), sender);
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let signs = if set("FOXWEDGE_ASCII") { SignSet::Ascii } else { SignSet::here() };
        let colours = match anstream::AutoStream::choice(&std::io::stdout()) {
            anstream::ColorChoice::Never => TerminalColors::LeftOut,
            _ => TerminalColors::Shown,
        };
        Ok(TerminalDriver {
            guard,
            screen: TerminalScreen::new(start, signs, (width, height)),
            painter: TerminalPainter::new(colours, width),
            input: KeyboardReader::listen(),
            signals: TerminalSignals::listen().context("signals cannot be heard")?,
            controller: desk,
            queue_writer: keeper,
            questions,
            replies: HashMap::new(),
            question_count: 0,
            loop_events: mpsc::unbounded_channel(),
            errors: troubles,
            queued_actions: VecDeque::new(),
            pending_interrupts: 0,
            clock: Instant::now(),
            painted_at: 0,
            motion: !set("FOXWEDGE_NO_SPINNER") && !set("NO_MOTION"),
            resumed: None,
            ending: None,
        })
    }

    /// One thing after the other, until somebody leaves.
    async fn run_actions(&mut self, host: &mut dyn TerminalHost) -> anyhow::Result<u8> {
        loop {
            let mut work = None;
            while work.is_none() {
                match self.queued_actions.pop_front() {
                    None => break,
                    Some(act @ (ScreenAction::Send(_) | ScreenAction::Command(_))) => {
                        work = Some(act)
                    }
                    Some(ScreenAction::Leave(code)) => return Ok(code),
                    Some(act) => self.perform(act)?,
                }
            }
            let sender = self.loop_events.0.clone();
            let mut listener = move |told: LoopEvent| drop(sender.send(told));
            let woken = match work {
                Some(ScreenAction::Send(text)) => {
                    self.screen.begin_work(self.now());
                    let woken = self.wait_for(host.run_prompt(text, &mut listener)).await?;
                    self.drain_events()?;
                    woken.map(|ending| {
                        self.screen.on_run_ended(ending.as_ref().map_err(screen_error))
                    })
                }
                Some(ScreenAction::Command(line)) => {
                    self.screen.begin_work(self.now());
                    let woken = self.wait_for(host.run_slash_line(line, &mut listener)).await?;
                    self.drain_events()?;
                    if let Some(queued) = host.take_switched_queue() {
                        let acts = self.screen.on_session_switch(queued);
                        self.queued_actions.extend(acts);
                    }
                    woken.map(|reply| {
                        self.screen.on_command_reply(reply.as_ref().map_err(screen_error))
                    })
                }
                Some(_) | None => {
                    self.wait_for(std::future::pending::<Vec<ScreenAction>>()).await?
                }
            };
            match woken {
                TerminalWaitOutcome::Done(acts) => self.queued_actions.extend(acts),
                TerminalWaitOutcome::ActionsQueued => {}
                TerminalWaitOutcome::Leave(code) => return Ok(code),
            }
            self.screen.status = host.status();
            if let Some((code, _)) = self.ending {
                return Ok(code);
            }
        }
    }

    /// Waits for some work and takes care of everything else meanwhile.
    async fn wait_for<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> anyhow::Result<TerminalWaitOutcome<T>> {
        tokio::pin!(work);
        let idle = !self.screen.is_busy();
        loop {
            let due = self.paint()?;
            let acts = tokio::select! {
                biased;
                heard = self.signals.next() => self.on_signal(heard)?,
                typed = self.input.next() => self.on_input(typed),
                Some(question) = self.questions.questions.recv() => {
                    self.add_question(question);
                    Vec::new()
                }
                Some(trouble) = self.errors.recv() => {
                    self.screen.show_error(&ScreenError { message: trouble, help: None });
                    Vec::new()
                }
                Some(told) = self.loop_events.1.recv() => {
                    let (now, mut acts) = (self.now(), Vec::new());
                    let more = || self.loop_events.1.try_recv().ok();
                    let _: ControlFlow<()> = take_ready(told, EVENT_BATCH, more, |told| {
                        acts.extend(self.screen.on_loop_event(told, now));
                        ControlFlow::Continue(())
                    });
                    acts
                }
                done = &mut work => return Ok(TerminalWaitOutcome::Done(done)),
                () = sleep(due) => Vec::new(),
            };
            for act in acts {
                match act {
                    ScreenAction::Leave(code) => return Ok(TerminalWaitOutcome::Leave(code)),
                    act => self.perform(act)?,
                }
            }
            self.deliver_interrupts();
            match self.ending {
                Some((code, until)) if idle || Instant::now() >= until => {
                    return Ok(TerminalWaitOutcome::Leave(code));
                }
                Some(_) | None => {}
            }
            if idle && !self.queued_actions.is_empty() {
                return Ok(TerminalWaitOutcome::ActionsQueued);
            }
        }
    }

    /// Takes in everything that was told before the work was done.
    fn drain_events(&mut self) -> anyhow::Result<()> {
        while let Ok(told) = self.loop_events.1.try_recv() {
            for act in self.screen.on_loop_event(told, self.now()) {
                self.perform(act)?;
            }
        }
        // What is over cannot be interrupted, and nobody waits for an answer any more.
        self.pending_interrupts = 0;
        self.replies.clear();
        while self.questions.questions.try_recv().is_ok() {}
        Ok(())
    }

    /// Does what does not need the host.
    fn perform(&mut self, act: ScreenAction) -> anyhow::Result<()> {
        match act {
            ScreenAction::Interrupt => {
                self.pending_interrupts += 1;
                self.deliver_interrupts();
            }
            ScreenAction::SaveQueue(queue) => self.queue_writer.save(queue),
            ScreenAction::Decide { number, decision, always } => {
                if let Some(tool) = always {
                    self.questions.allow(&tool);
                }
                if let Some(reply) = self.replies.remove(&number) {
                    let _ = reply.send(decision);
                }
            }
            ScreenAction::Suspend => {
                guard::write_terminal(&self.painter.leave(&[]))?;
                self.guard.release();
                signals::suspend();
                self.retake_terminal()?;
                self.resumed = Some(Instant::now());
            }
            ScreenAction::Redraw => guard::write_terminal(&self.painter.clear())?,
            // These wait for their turn.
            act @ (ScreenAction::Send(_) | ScreenAction::Command(_) | ScreenAction::Leave(_)) => {
                self.queued_actions.push_back(act)
            }
        }
        Ok(())
    }

    /// Passes interrupts on as soon as the work can hear them: it may have only just begun.
    fn deliver_interrupts(&mut self) {
        while self.pending_interrupts > 0
            && self.controller.interrupt() == InterruptDelivery::Delivered
        {
            self.pending_interrupts -= 1;
        }
    }

    /// Takes the terminal again, whatever is on it.
    fn retake_terminal(&mut self) -> anyhow::Result<()> {
        self.guard.retake().context("the terminal cannot be used")?;
        self.painter.forget();
        self.resize();
        Ok(())
    }

    fn resize(&mut self) {
        let (width, height) = terminal_size();
        (self.screen.width, self.screen.height) = (width, height);
        self.painter.resize(width);
    }

    fn on_signal(&mut self, heard: TerminalSignal) -> anyhow::Result<Vec<ScreenAction>> {
        match heard {
            TerminalSignal::Interrupt => Ok(self.screen.on_key(TerminalKey::Interrupt, self.now())),
            TerminalSignal::Continued => {
                // Our own return is told as well, a moment later.
                let known = self.resumed.take().is_some_and(|at| at.elapsed() < STOP_TIMEOUT);
                if !known {
                    self.retake_terminal()?;
                }
                Ok(Vec::new())
            }
            TerminalSignal::End(code) => {
                self.ending = Some((code, Instant::now() + STOP_TIMEOUT));
                if self.screen.is_busy() {
                    // A wish, and at once the force behind it: whoever sends a signal does not wait.
                    self.pending_interrupts += 2;
                    self.deliver_interrupts();
                }
                Ok(Vec::new())
            }
        }
    }

    fn on_input(&mut self, typed: TerminalInputEvent) -> Vec<ScreenAction> {
        match typed {
            TerminalInputEvent::Key(key, at) => {
                let at = at.saturating_duration_since(self.clock).as_millis();
                self.screen.on_key(key, u64::try_from(at).unwrap_or(u64::MAX))
            }
            TerminalInputEvent::Resized => {
                self.resize();
                Vec::new()
            }
            TerminalInputEvent::Closed => vec![ScreenAction::Leave(129)],
        }
    }

    fn add_question(&mut self, question: TerminalApprovalRequest) {
        self.question_count += 1;
        let TerminalApprovalRequest { call, tool, input, reply } = question;
        self.replies.insert(self.question_count, reply);
        self.screen.add_question(ApprovalPrompt { number: self.question_count, call, tool, input });
    }

    /// Draws what changed, and says when something changes by itself.
    fn paint(&mut self) -> anyhow::Result<Duration> {
        let now = self.now();
        let next = self.painted_at.saturating_add(MIN_PAINT_MILLIS);
        if now < next && self.painted_at > 0 {
            return Ok(Duration::from_millis(next - now));
        }
        let every = if self.motion { SPINNER_MILLIS } else { CLOCK_MILLIS };
        let frame = usize::try_from(now / every).unwrap_or(0);
        let live = draw::live_area(&self.screen, now, self.motion.then_some(frame));
        let bytes = self.painter.paint(&self.screen.take_rows(), &live);
        if !bytes.is_empty() {
            guard::write_terminal(&bytes).context("the terminal cannot be written")?;
            self.painted_at = now;
        }
        self.screen.on_drawn(now);
        // Where nothing is at work, nothing moves.
        let tick = self.screen.is_busy().then(|| now + every - now % every);
        let due = [tick, self.screen.next_change(now)].into_iter().flatten().min();
        Ok(due.map_or(Duration::from_secs(3_600), |due| Duration::from_millis(due - now + 1)))
    }

    /// Gives the terminal back and says how to come back.
    async fn leave(mut self, comeback: Option<&str>) {
        let mut rows = self.screen.take_rows();
        if let Some(comeback) = comeback {
            rows.push(StyledRow::of(DIM, "come back with ").with(anstyle::Style::new(), comeback));
        }
        // A terminal that is gone cannot be told.
        let _ = guard::write_terminal(&self.painter.leave(&rows));
        drop(self.guard);
        self.queue_writer.finish().await;
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl<T> TerminalWaitOutcome<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> TerminalWaitOutcome<U> {
        match self {
            TerminalWaitOutcome::Done(done) => TerminalWaitOutcome::Done(change(done)),
            TerminalWaitOutcome::ActionsQueued => TerminalWaitOutcome::ActionsQueued,
            TerminalWaitOutcome::Leave(code) => TerminalWaitOutcome::Leave(code),
        }
    }
}

/// Columns and rows of the terminal; the usual ones if it does not say.
fn terminal_size() -> (usize, usize) {
    match crossterm::terminal::size() {
        Ok((width, height)) if width > 0 && height > 0 => (width.into(), height.into()),
        Ok(_) | Err(_) => (80, 24),
    }
}

/// What went wrong, and behind it what to do about it.
fn screen_error(error: &anyhow::Error) -> ScreenError {
    ScreenError {
        message: format!("{error:#}"),
        help: cli_output::help_of(error).map(str::to_owned),
    }
}
