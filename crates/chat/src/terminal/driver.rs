//! The event loop of the terminal: waits for events, passes them to the screen and performs the
//! resulting actions. Runs execute in the same task, so nothing is shown before it has happened.

mod file_lister;
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
    file_lister::FileLister,
    input::{KeyboardReader, TerminalInputEvent},
    signals::{TerminalSignal, TerminalSignals},
};
use super::{
    InterruptDelivery, RunController, TerminalApprovalInbox, TerminalHost, TerminalStart,
    approval_prompt::ApprovalPrompt,
    approver::TerminalApprovalRequest,
    diff::{diff_lines, is_comparable},
    draw,
    guard::{self, TerminalGuard},
    keys::TerminalKey,
    paint::{TerminalColors, TerminalPainter},
    queue_writer::PromptQueueWriter,
    row::StyledRow,
    screen::{ScreenAction, ScreenError, TerminalScreen},
};
use foxwedge_local::{
    output::{self, DIM},
    runs::draw::SignSet,
};

/// Interval of the spinner, in milliseconds.
const SPINNER_MILLIS: u64 = 120;
/// Interval of clock updates without a spinner, in milliseconds.
const CLOCK_MILLIS: u64 = 1_000;
/// Minimum time between two paints, in milliseconds.
const MIN_PAINT_MILLIS: u64 = 15;
/// Time limit for tools to end after a signal.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of events handled between two paints.
const EVENT_BATCH: usize = 512;

/// Runs the terminal until the user leaves.
pub(super) async fn run(
    host: &mut dyn TerminalHost,
    questions: TerminalApprovalInbox,
    mut start: TerminalStart,
) -> anyhow::Result<ExitCode> {
    let prompt = start.prompt.take();
    let guard = TerminalGuard::take().context("the terminal cannot be used")?;
    let mut driver = TerminalDriver::new(guard, host.run_controller(), questions, start)?;
    driver.screen.status = host.status();
    if let Some(prompt) = prompt {
        let actions = driver.screen.send_prompt(&prompt);
        driver.queued_actions.extend(actions);
    }
    let code = driver.run_actions(host).await;
    let resume_command = host.resume_command();
    driver.leave(resume_command.as_deref()).await;
    code.map(ExitCode::from)
}

/// Connects the screen with keyboard, signals, approvals and the run.
struct TerminalDriver {
    guard: TerminalGuard,
    screen: TerminalScreen,
    painter: TerminalPainter,
    input: KeyboardReader,
    signals: TerminalSignals,
    controller: Arc<dyn RunController>,
    queue_writer: PromptQueueWriter,
    questions: TerminalApprovalInbox,
    /// Replies to open approval requests, by number.
    replies: HashMap<u64, oneshot::Sender<ToolDecision>>,
    question_count: u64,
    loop_events: (mpsc::UnboundedSender<LoopEvent>, mpsc::UnboundedReceiver<LoopEvent>),
    errors: mpsc::UnboundedReceiver<String>,
    files: FileLister,
    /// Actions to perform one by one while no work is in progress.
    queued_actions: VecDeque<ScreenAction>,
    /// Interrupts that arrived before the run could receive them.
    pending_interrupts: u32,
    clock: Instant,
    painted_at: u64,
    motion: bool,
    /// When we resumed after suspending ourselves.
    resumed: Option<Instant>,
    /// The exit code and the deadline after a signal to end.
    ending: Option<(u8, Instant)>,
}

/// Why waiting ended.
enum TerminalWaitOutcome<T> {
    /// The work is done.
    Done(T),
    /// Actions are queued, and no work is in progress.
    ActionsQueued,
    /// The user left.
    Leave(u8),
}

impl TerminalDriver {
    fn new(
        guard: TerminalGuard,
        controller: Arc<dyn RunController>,
        questions: TerminalApprovalInbox,
        start: TerminalStart,
    ) -> anyhow::Result<TerminalDriver> {
        let (width, height) = terminal_size();
        let (sender, errors) = mpsc::unbounded_channel();
        let queue_writer =
            PromptQueueWriter::new(Arc::clone(&controller), start.queued.clone(), sender);
        let files = FileLister::new(start.workspace.clone());
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let signs = if is_set("FOXWEDGE_ASCII") { SignSet::Ascii } else { SignSet::here() };
        let colors = match anstream::AutoStream::choice(&std::io::stdout()) {
            anstream::ColorChoice::Never => TerminalColors::LeftOut,
            _ => TerminalColors::Shown,
        };
        Ok(TerminalDriver {
            guard,
            screen: TerminalScreen::new(start, signs, (width, height)),
            painter: TerminalPainter::new(colors, width),
            input: KeyboardReader::listen(),
            signals: TerminalSignals::listen().context("signal handlers cannot be installed")?,
            controller,
            queue_writer,
            questions,
            replies: HashMap::new(),
            question_count: 0,
            loop_events: mpsc::unbounded_channel(),
            errors,
            files,
            queued_actions: VecDeque::new(),
            pending_interrupts: 0,
            clock: Instant::now(),
            painted_at: 0,
            motion: !is_set("FOXWEDGE_NO_SPINNER") && !is_set("NO_MOTION"),
            resumed: None,
            ending: None,
        })
    }

    /// Performs actions one by one until the user leaves.
    async fn run_actions(&mut self, host: &mut dyn TerminalHost) -> anyhow::Result<u8> {
        loop {
            let mut work = None;
            while work.is_none() {
                match self.queued_actions.pop_front() {
                    None => break,
                    Some(action @ (ScreenAction::Send(_) | ScreenAction::Command(_))) => {
                        work = Some(action)
                    }
                    Some(ScreenAction::Leave(code)) => return Ok(code),
                    Some(action) => self.perform(action)?,
                }
            }
            let sender = self.loop_events.0.clone();
            let mut listener = move |event: LoopEvent| drop(sender.send(event));
            let outcome = match work {
                Some(ScreenAction::Send(text)) => {
                    self.screen.begin_work(self.now());
                    let outcome = self.wait_for(host.run_prompt(text, &mut listener)).await?;
                    self.drain_events()?;
                    outcome.map(|ending| {
                        self.screen.on_run_ended(ending.as_ref().map_err(screen_error))
                    })
                }
                Some(ScreenAction::Command(line)) => {
                    self.screen.begin_work(self.now());
                    let outcome = self.wait_for(host.run_slash_line(line, &mut listener)).await?;
                    self.drain_events()?;
                    if let Some(queued) = host.take_switched_queue() {
                        let actions = self.screen.on_session_switch(queued);
                        self.queued_actions.extend(actions);
                    }
                    outcome.map(|reply| {
                        self.screen.on_command_reply(reply.as_ref().map_err(screen_error))
                    })
                }
                Some(_) | None => {
                    self.wait_for(std::future::pending::<Vec<ScreenAction>>()).await?
                }
            };
            match outcome {
                TerminalWaitOutcome::Done(actions) => self.queued_actions.extend(actions),
                TerminalWaitOutcome::ActionsQueued => {}
                TerminalWaitOutcome::Leave(code) => return Ok(code),
            }
            self.screen.status = host.status();
            if let Some((code, _)) = self.ending {
                return Ok(code);
            }
        }
    }

    /// Waits for work to finish and handles all other events meanwhile.
    async fn wait_for<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> anyhow::Result<TerminalWaitOutcome<T>> {
        tokio::pin!(work);
        let idle = !self.screen.is_busy();
        loop {
            let due = self.paint()?;
            let actions = tokio::select! {
                biased;
                signal = self.signals.next() => self.on_signal(signal)?,
                input_event = self.input.next() => self.on_input(input_event),
                Some(question) = self.questions.questions.recv() => {
                    self.add_question(question);
                    Vec::new()
                }
                Some(message) = self.errors.recv() => {
                    self.screen.show_error(&ScreenError { message, help: None });
                    Vec::new()
                }
                Some(event) = self.loop_events.1.recv() => {
                    let (now, mut actions) = (self.now(), Vec::new());
                    let more = || self.loop_events.1.try_recv().ok();
                    let _: ControlFlow<()> = take_ready(event, EVENT_BATCH, more, |event| {
                        actions.extend(self.screen.on_loop_event(event, now));
                        ControlFlow::Continue(())
                    });
                    actions
                }
                Some(files) = self.files.listed.1.recv() => {
                    self.screen.files = files;
                    Vec::new()
                }
                done = &mut work => return Ok(TerminalWaitOutcome::Done(done)),
                () = sleep(due) => Vec::new(),
            };
            for action in actions {
                match action {
                    ScreenAction::Leave(code) => return Ok(TerminalWaitOutcome::Leave(code)),
                    action => self.perform(action)?,
                }
            }
            self.deliver_interrupts();
            match self.ending {
                Some((code, deadline)) if idle || Instant::now() >= deadline => {
                    return Ok(TerminalWaitOutcome::Leave(code));
                }
                Some(_) | None => {}
            }
            if idle && !self.queued_actions.is_empty() {
                return Ok(TerminalWaitOutcome::ActionsQueued);
            }
        }
    }

    /// Handles all events that were sent before the work was done.
    fn drain_events(&mut self) -> anyhow::Result<()> {
        while let Ok(event) = self.loop_events.1.try_recv() {
            for action in self.screen.on_loop_event(event, self.now()) {
                self.perform(action)?;
            }
        }
        // Finished work cannot be interrupted, and its approval requests are void.
        self.pending_interrupts = 0;
        self.replies.clear();
        while self.questions.questions.try_recv().is_ok() {}
        Ok(())
    }

    /// Performs an action that does not need the host, and queues one that does.
    fn perform(&mut self, action: ScreenAction) -> anyhow::Result<()> {
        match action {
            ScreenAction::Interrupt => {
                self.pending_interrupts += 1;
                self.deliver_interrupts();
            }
            ScreenAction::SaveQueue(queue) => self.queue_writer.save(queue),
            ScreenAction::Decide { number, decision, always } => {
                if let Some((rule, scope)) = always
                    && let Err(error) = self.questions.allow(rule, scope)
                {
                    let message = format!("the rule holds, but cannot be kept: {error}");
                    self.screen.show_error(&ScreenError { message, help: None });
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
            // These run one by one, when no work is in progress.
            action
            @ (ScreenAction::Send(_) | ScreenAction::Command(_) | ScreenAction::Leave(_)) => {
                self.queued_actions.push_back(action)
            }
        }
        Ok(())
    }

    /// Delivers interrupts as soon as the run can receive them: it may have only just started.
    fn deliver_interrupts(&mut self) {
        while self.pending_interrupts > 0
            && self.controller.interrupt() == InterruptDelivery::Delivered
        {
            self.pending_interrupts -= 1;
        }
    }

    /// Takes the terminal back, whatever it shows.
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

    fn on_signal(&mut self, signal: TerminalSignal) -> anyhow::Result<Vec<ScreenAction>> {
        match signal {
            TerminalSignal::Interrupt => Ok(self.screen.on_key(TerminalKey::Interrupt, self.now())),
            TerminalSignal::Continued => {
                // The signal also arrives, a moment later, after we suspended ourselves.
                let known = self.resumed.take().is_some_and(|at| at.elapsed() < STOP_TIMEOUT);
                if !known {
                    self.retake_terminal()?;
                }
                Ok(Vec::new())
            }
            TerminalSignal::End(code) => {
                self.ending = Some((code, Instant::now() + STOP_TIMEOUT));
                if self.screen.is_busy() {
                    // Ask and force at once: the sender of a signal does not wait.
                    self.pending_interrupts += 2;
                    self.deliver_interrupts();
                }
                Ok(Vec::new())
            }
        }
    }

    fn on_input(&mut self, input_event: TerminalInputEvent) -> Vec<ScreenAction> {
        match input_event {
            TerminalInputEvent::Key(key, at) => {
                let at = at.saturating_duration_since(self.clock).as_millis();
                let actions = self.screen.on_key(key, u64::try_from(at).unwrap_or(u64::MAX));
                if self.screen.mention().is_some() {
                    self.files.refresh();
                }
                actions
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
        let TerminalApprovalRequest { call, tool, input, change, reply } = question;
        // The question about a change that is too large shows the arguments.
        let diff = change.filter(is_comparable).map(|change| diff_lines(&change));
        let number = self.question_count;
        self.replies.insert(number, reply);
        let diff = diff.unwrap_or_default();
        self.screen.add_question(ApprovalPrompt { number, call, tool, input, diff });
    }

    /// Paints changes. Returns the time until the next change without an event.
    fn paint(&mut self) -> anyhow::Result<Duration> {
        let now = self.now();
        let next = self.painted_at.saturating_add(MIN_PAINT_MILLIS);
        if now < next && self.painted_at > 0 {
            return Ok(Duration::from_millis(next - now));
        }
        let interval = if self.motion { SPINNER_MILLIS } else { CLOCK_MILLIS };
        let frame = usize::try_from(now / interval).unwrap_or(0);
        let live = draw::live_area(&self.screen, now, self.motion.then_some(frame));
        let bytes = self.painter.paint(&self.screen.take_rows(), &live);
        if !bytes.is_empty() {
            guard::write_terminal(&bytes).context("the terminal cannot be written")?;
            self.painted_at = now;
        }
        self.screen.on_drawn(now);
        // Nothing is animated while idle.
        let tick = self.screen.is_busy().then(|| now + interval - now % interval);
        let due = [tick, self.screen.next_change(now)].into_iter().flatten().min();
        Ok(due.map_or(Duration::from_secs(3_600), |due| Duration::from_millis(due - now + 1)))
    }

    /// Restores the terminal and shows how to resume.
    async fn leave(mut self, resume_command: Option<&str>) {
        let mut rows = self.screen.take_rows();
        if let Some(command) = resume_command {
            rows.push(
                StyledRow::localized(DIM, "resume with ").with(anstyle::Style::new(), command),
            );
        }
        // The terminal may be gone.
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

/// Columns and rows of the terminal; 80 × 24 if unknown.
fn terminal_size() -> (usize, usize) {
    match crossterm::terminal::size() {
        Ok((width, height)) if width > 0 && height > 0 => (width.into(), height.into()),
        Ok(_) | Err(_) => (80, 24),
    }
}

/// An error with its help, for the screen.
fn screen_error(error: &anyhow::Error) -> ScreenError {
    ScreenError { message: format!("{error:#}"), help: output::help_of(error).map(str::to_owned) }
}
