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
use foxwedge_engine::{
    take_ready,
    tool_loop::{Decision, Told},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};

use self::{
    input::{Input, Typed},
    signals::{Heard, Signals},
};
use super::{
    Desk, Heed, Host, Questions, Start,
    approve::Question,
    ask::Ask,
    draw,
    guard::{self, Guard},
    keeper::Keeper,
    keys::Key,
    paint::{Colours, Painter},
    row::Row,
    screen::{Act, Screen, Trouble},
};
use crate::{
    runs::draw::Signs,
    say::{self, DIM},
};

/// How often what moves does so, in milliseconds.
const FRAME: u64 = 120;
/// How often times are drawn where nothing moves, in milliseconds.
const SECOND: u64 = 1_000;
/// The least time between two drawings, in milliseconds.
const PAUSE: u64 = 15;
/// How long tools may take to end when we are told to.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is taken in before it is drawn.
const BATCH: usize = 512;

/// Runs the terminal until somebody leaves it.
pub(super) async fn run(
    host: &mut dyn Host,
    questions: Questions,
    mut start: Start,
) -> anyhow::Result<ExitCode> {
    let prompt = start.prompt.take();
    let guard = Guard::take().context("the terminal cannot be used")?;
    let mut seat = Seat::new(guard, host.desk(), questions, start)?;
    seat.screen.status = host.status();
    if let Some(prompt) = prompt {
        let acts = seat.screen.send(&prompt);
        seat.todo.extend(acts);
    }
    let code = seat.attend(host).await;
    let comeback = host.comeback();
    seat.leave(comeback.as_deref()).await;
    code.map(ExitCode::from)
}

/// Where a person sits: the screen, the keys, and what they reach.
struct Seat {
    guard: Guard,
    screen: Screen,
    painter: Painter,
    input: Input,
    signals: Signals,
    desk: Arc<dyn Desk>,
    keeper: Keeper,
    questions: Questions,
    /// Whoever waits for an answer.
    replies: HashMap<u64, oneshot::Sender<Decision>>,
    asked: u64,
    told: (mpsc::UnboundedSender<Told>, mpsc::UnboundedReceiver<Told>),
    troubles: mpsc::UnboundedReceiver<String>,
    /// What is to be done when nothing is at work, one thing after the other.
    todo: VecDeque<Act>,
    /// Interrupts that came before the work could hear them.
    unheard: u32,
    clock: Instant,
    painted: u64,
    motion: bool,
    /// When we came back from being suspended by ourselves.
    resumed: Option<Instant>,
    /// We were told to end, and this is how long we wait.
    ending: Option<(u8, Instant)>,
}

/// What made us stop waiting.
enum Woken<T> {
    /// The work is done.
    Done(T),
    /// There is something to do, and nothing was at work.
    Todo,
    /// Somebody left.
    Leave(u8),
}

impl Seat {
    fn new(
        guard: Guard,
        desk: Arc<dyn Desk>,
        questions: Questions,
        start: Start,
    ) -> anyhow::Result<Seat> {
        let (width, height) = size();
        let (sender, troubles) = mpsc::unbounded_channel();
        let keeper = Keeper::new(Arc::clone(&desk), start.queued.clone(), sender);
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let signs = if set("FOXWEDGE_ASCII") { Signs::Ascii } else { Signs::here() };
        let colours = match anstream::AutoStream::choice(&std::io::stdout()) {
            anstream::ColorChoice::Never => Colours::LeftOut,
            _ => Colours::Shown,
        };
        Ok(Seat {
            guard,
            screen: Screen::new(start, signs, (width, height)),
            painter: Painter::new(colours, width),
            input: Input::listen(),
            signals: Signals::listen().context("signals cannot be heard")?,
            desk,
            keeper,
            questions,
            replies: HashMap::new(),
            asked: 0,
            told: mpsc::unbounded_channel(),
            troubles,
            todo: VecDeque::new(),
            unheard: 0,
            clock: Instant::now(),
            painted: 0,
            motion: !set("FOXWEDGE_NO_SPINNER") && !set("NO_MOTION"),
            resumed: None,
            ending: None,
        })
    }

    /// One thing after the other, until somebody leaves.
    async fn attend(&mut self, host: &mut dyn Host) -> anyhow::Result<u8> {
        loop {
            let mut work = None;
            while work.is_none() {
                match self.todo.pop_front() {
                    None => break,
                    Some(act @ (Act::Send(_) | Act::Command(_))) => work = Some(act),
                    Some(Act::Leave(code)) => return Ok(code),
                    Some(act) => self.perform(act)?,
                }
            }
            let sender = self.told.0.clone();
            let mut listener = move |told: Told| drop(sender.send(told));
            let woken = match work {
                Some(Act::Send(text)) => {
                    self.screen.begin(self.now());
                    let woken = self.wait(host.say(text, &mut listener)).await?;
                    self.hear_all()?;
                    woken.map(|ending| self.screen.ended(ending.as_ref().map_err(spelled)))
                }
                Some(Act::Command(line)) => {
                    self.screen.begin(self.now());
                    let woken = self.wait(host.command(line, &mut listener)).await?;
                    self.hear_all()?;
                    if let Some(queued) = host.turned() {
                        let acts = self.screen.turned(queued);
                        self.todo.extend(acts);
                    }
                    woken.map(|reply| self.screen.replied(reply.as_ref().map_err(spelled)))
                }
                Some(_) | None => self.wait(std::future::pending::<Vec<Act>>()).await?,
            };
            match woken {
                Woken::Done(acts) => self.todo.extend(acts),
                Woken::Todo => {}
                Woken::Leave(code) => return Ok(code),
            }
            self.screen.status = host.status();
            if let Some((code, _)) = self.ending {
                return Ok(code);
            }
        }
    }

    /// Waits for some work and takes care of everything else meanwhile.
    async fn wait<T>(&mut self, work: impl Future<Output = T>) -> anyhow::Result<Woken<T>> {
        tokio::pin!(work);
        let idle = !self.screen.is_busy();
        loop {
            let due = self.paint()?;
            let acts = tokio::select! {
                biased;
                heard = self.signals.next() => self.heard(heard)?,
                typed = self.input.next() => self.typed(typed),
                Some(question) = self.questions.questions.recv() => {
                    self.ask(question);
                    Vec::new()
                }
                Some(trouble) = self.troubles.recv() => {
                    self.screen.complain(&Trouble { message: trouble, help: None });
                    Vec::new()
                }
                Some(told) = self.told.1.recv() => {
                    let (now, mut acts) = (self.now(), Vec::new());
                    let more = || self.told.1.try_recv().ok();
                    let _: ControlFlow<()> = take_ready(told, BATCH, more, |told| {
                        acts.extend(self.screen.on_told(told, now));
                        ControlFlow::Continue(())
                    });
                    acts
                }
                done = &mut work => return Ok(Woken::Done(done)),
                () = sleep(due) => Vec::new(),
            };
            for act in acts {
                match act {
                    Act::Leave(code) => return Ok(Woken::Leave(code)),
                    act => self.perform(act)?,
                }
            }
            self.press_unheard();
            match self.ending {
                Some((code, until)) if idle || Instant::now() >= until => {
                    return Ok(Woken::Leave(code));
                }
                Some(_) | None => {}
            }
            if idle && !self.todo.is_empty() {
                return Ok(Woken::Todo);
            }
        }
    }

    /// Takes in everything that was told before the work was done.
    fn hear_all(&mut self) -> anyhow::Result<()> {
        while let Ok(told) = self.told.1.try_recv() {
            for act in self.screen.on_told(told, self.now()) {
                self.perform(act)?;
            }
        }
        // What is over cannot be interrupted, and nobody waits for an answer any more.
        self.unheard = 0;
        self.replies.clear();
        while self.questions.questions.try_recv().is_ok() {}
        Ok(())
    }

    /// Does what does not need the host.
    fn perform(&mut self, act: Act) -> anyhow::Result<()> {
        match act {
            Act::Press => {
                self.unheard += 1;
                self.press_unheard();
            }
            Act::Queued(queue) => self.keeper.keep(queue),
            Act::Decide { number, decision, always } => {
                if let Some(tool) = always {
                    self.questions.allow(&tool);
                }
                if let Some(reply) = self.replies.remove(&number) {
                    let _ = reply.send(decision);
                }
            }
            Act::Suspend => {
                guard::write(&self.painter.leave(&[]))?;
                self.guard.lend();
                signals::suspend();
                self.come_back()?;
                self.resumed = Some(Instant::now());
            }
            Act::Redraw => guard::write(&self.painter.clear())?,
            // These wait for their turn.
            act @ (Act::Send(_) | Act::Command(_) | Act::Leave(_)) => self.todo.push_back(act),
        }
        Ok(())
    }

    /// Passes interrupts on as soon as the work can hear them: it may have only just begun.
    fn press_unheard(&mut self) {
        while self.unheard > 0 && self.desk.press() == Heed::Heard {
            self.unheard -= 1;
        }
    }

    /// Takes the terminal again, whatever is on it.
    fn come_back(&mut self) -> anyhow::Result<()> {
        self.guard.retake().context("the terminal cannot be used")?;
        self.painter.forget();
        self.resize();
        Ok(())
    }

    fn resize(&mut self) {
        let (width, height) = size();
        (self.screen.width, self.screen.height) = (width, height);
        self.painter.resize(width);
    }

    fn heard(&mut self, heard: Heard) -> anyhow::Result<Vec<Act>> {
        match heard {
            Heard::Interrupt => Ok(self.screen.on_key(Key::Interrupt, self.now())),
            Heard::Continued => {
                // Our own return is told as well, a moment later.
                let known = self.resumed.take().is_some_and(|at| at.elapsed() < PATIENCE);
                if !known {
                    self.come_back()?;
                }
                Ok(Vec::new())
            }
            Heard::End(code) => {
                self.ending = Some((code, Instant::now() + PATIENCE));
                if self.screen.is_busy() {
                    // A wish, and at once the force behind it: whoever sends a signal does not wait.
                    self.unheard += 2;
                    self.press_unheard();
                }
                Ok(Vec::new())
            }
        }
    }

    fn typed(&mut self, typed: Typed) -> Vec<Act> {
        match typed {
            Typed::Key(key, at) => {
                let at = at.saturating_duration_since(self.clock).as_millis();
                self.screen.on_key(key, u64::try_from(at).unwrap_or(u64::MAX))
            }
            Typed::Resized => {
                self.resize();
                Vec::new()
            }
            Typed::Gone => vec![Act::Leave(129)],
        }
    }

    fn ask(&mut self, question: Question) {
        self.asked += 1;
        let Question { call, tool, input, reply } = question;
        self.replies.insert(self.asked, reply);
        self.screen.ask(Ask { number: self.asked, call, tool, input });
    }

    /// Draws what changed, and says when something changes by itself.
    fn paint(&mut self) -> anyhow::Result<Duration> {
        let now = self.now();
        let next = self.painted.saturating_add(PAUSE);
        if now < next && self.painted > 0 {
            return Ok(Duration::from_millis(next - now));
        }
        let every = if self.motion { FRAME } else { SECOND };
        let frame = usize::try_from(now / every).unwrap_or(0);
        let live = draw::live(&self.screen, now, self.motion.then_some(frame));
        let bytes = self.painter.paint(&self.screen.take_rows(), &live);
        if !bytes.is_empty() {
            guard::write(&bytes).context("the terminal cannot be written")?;
            self.painted = now;
        }
        self.screen.drawn(now);
        // Where nothing is at work, nothing moves.
        let tick = self.screen.is_busy().then(|| now + every - now % every);
        let due = [tick, self.screen.next_change(now)].into_iter().flatten().min();
        Ok(due.map_or(Duration::from_secs(3_600), |due| Duration::from_millis(due - now + 1)))
    }

    /// Gives the terminal back and says how to come back.
    async fn leave(mut self, comeback: Option<&str>) {
        let mut rows = self.screen.take_rows();
        if let Some(comeback) = comeback {
            rows.push(Row::of(DIM, "come back with ").with(anstyle::Style::new(), comeback));
        }
        // A terminal that is gone cannot be told.
        let _ = guard::write(&self.painter.leave(&rows));
        drop(self.guard);
        self.keeper.finish().await;
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl<T> Woken<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Woken<U> {
        match self {
            Woken::Done(done) => Woken::Done(change(done)),
            Woken::Todo => Woken::Todo,
            Woken::Leave(code) => Woken::Leave(code),
        }
    }
}

/// Columns and rows of the terminal; the usual ones if it does not say.
fn size() -> (usize, usize) {
    match crossterm::terminal::size() {
        Ok((width, height)) if width > 0 && height > 0 => (width.into(), height.into()),
        Ok(_) | Err(_) => (80, 24),
    }
}

/// What went wrong, and behind it what to do about it.
fn spelled(error: &anyhow::Error) -> Trouble {
    Trouble { message: format!("{error:#}"), help: say::help_of(error).map(str::to_owned) }
}
