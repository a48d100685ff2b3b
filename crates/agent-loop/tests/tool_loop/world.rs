//! The log of a scenario, in order, and the failures that are injected into it.
//!
//! Every boundary of the loop is a point: a call of the store, a delta of a reply, a step of a
//! tool, a decision, an event for the observer. Points are counted, so that a scenario can run
//! again with an injection at each of them.

use std::{
    collections::BTreeMap,
    fs::File,
    future::pending,
    io::Write,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use foxwedge_run::{EventPayload, Outcome, RunEffect, RunEvent, ToolStatus};
use tokio::sync::{Notify, watch};

/// Which points are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Class {
    All,
    Store,
    Model,
    Tool,
    Approver,
    Listener,
    /// Each time the loop has to wait.
    Wait,
}

/// What is injected at a point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Injection {
    /// This many interrupts.
    Interrupt(usize),
    /// The loop is dropped.
    Drop,
    /// The process is killed.
    Kill,
    /// The store is unavailable, the model fails, or the tool panics.
    Fail,
    /// The store is unavailable from here on.
    StoreDown,
}

/// Injections: the class, the number of the point in that class, and what is injected.
pub(crate) type Plan = Vec<(Class, usize, Injection)>;

/// The effect of an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum InterruptEffect {
    Idle,
    Stopping,
    Forced,
    AlreadyForced,
}

/// What a point means for its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    GoOn,
    Fail,
    Die,
}

/// An entry of the log.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum LogEntry {
    /// A tool's function was entered.
    Entered(String),
    /// It wrote output before its result.
    OutputWritten(String),
    /// It returned its result.
    Finished(String),
    /// It stopped on request.
    GaveUp(String),
    /// Its future was dropped before it returned.
    Dropped(String),
    /// A request was sent to the model.
    RequestSent,
    /// The model sent text.
    TextSent(String),
    /// The model sent a call.
    CallSent(String),
    /// The model sent its whole reply.
    ReplyEnded,
    /// A call was allowed or not.
    Decided(String, bool),
    /// The end of a run is about to be stored.
    Ending(Option<Outcome>),
    /// An interrupt, with its effect.
    Interrupted(InterruptEffect),
    /// The observer got an effect.
    Delivered(Box<RunEffect>),
    /// The store, the model or a tool failed as planned.
    Failed(String),
    /// Input was put into the queue.
    Queued,
}

impl LogEntry {
    /// As a line of the journal. Effects for the observer are not written.
    fn line(&self) -> Option<String> {
        Some(match self {
            LogEntry::Entered(call) => format!("entered {call}"),
            LogEntry::OutputWritten(call) => format!("murmured {call}"),
            LogEntry::Finished(call) => format!("finished {call}"),
            LogEntry::GaveUp(call) => format!("gave {call}"),
            LogEntry::Decided(call, true) => format!("allowed {call}"),
            LogEntry::Decided(call, false) => format!("denied {call}"),
            LogEntry::CallSent(call) => format!("called {call}"),
            LogEntry::RequestSent => "asked".to_owned(),
            LogEntry::Queued => "queued".to_owned(),
            LogEntry::Dropped(_)
            | LogEntry::TextSent(_)
            | LogEntry::ReplyEnded
            | LogEntry::Ending(_)
            | LogEntry::Interrupted(_)
            | LogEntry::Delivered(_)
            | LogEntry::Failed(_) => return None,
        })
    }

    /// Parses a line of the journal.
    pub(crate) fn of(line: &str) -> Option<LogEntry> {
        let (word, call) = line.split_once(' ').unwrap_or((line, ""));
        let call = call.to_owned();
        Some(match word {
            "entered" => LogEntry::Entered(call),
            "murmured" => LogEntry::OutputWritten(call),
            "finished" => LogEntry::Finished(call),
            "gave" => LogEntry::GaveUp(call),
            "allowed" => LogEntry::Decided(call, true),
            "denied" => LogEntry::Decided(call, false),
            "called" => LogEntry::CallSent(call),
            "asked" => LogEntry::RequestSent,
            "queued" => LogEntry::Queued,
            _ => return None,
        })
    }
}

#[derive(Clone)]
pub(crate) struct World(Arc<Shared>);

struct Shared {
    inner: Mutex<Inner>,
    killed: Notify,
    entered: watch::Sender<usize>,
}

type InterruptFn = Arc<dyn Fn() -> InterruptEffect + Send + Sync>;

struct Inner {
    plan: Plan,
    counts: BTreeMap<Class, usize>,
    /// The points at which something was injected.
    hit_points: Vec<String>,
    log: Vec<LogEntry>,
    /// Events in the store, by run and sequence number.
    stored: BTreeMap<(String, u64), RunEvent>,
    living: usize,
    breaches: Vec<String>,
    interrupt: Option<InterruptFn>,
    life: Life,
    /// The store is unavailable.
    out: bool,
    /// A file that survives the process.
    journal: Option<File>,
}

impl Inner {
    fn record(&mut self, entry: LogEntry) {
        if let (Some(journal), Some(line)) = (&mut self.journal, entry.line()) {
            journal.write_all(format!("{line}\n").as_bytes()).expect("a diary");
        }
        self.log.push(entry);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Alive,
    Dying,
    Dead,
}

impl World {
    pub(crate) fn new(plan: Plan) -> World {
        let inner = Inner {
            plan,
            counts: BTreeMap::new(),
            hit_points: Vec::new(),
            log: Vec::new(),
            stored: BTreeMap::new(),
            living: 0,
            breaches: Vec::new(),
            interrupt: None,
            life: Life::Alive,
            out: false,
            journal: None,
        };
        let (entered, _) = watch::channel(0);
        World(Arc::new(Shared { inner: Mutex::new(inner), killed: Notify::new(), entered }))
    }

    /// A world without injections.
    pub(crate) fn quiet() -> World {
        World::new(Plan::new())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the function that interrupts the loop.
    pub(crate) fn set_interrupt(
        &self,
        interrupt: impl Fn() -> InterruptEffect + Send + Sync + 'static,
    ) {
        self.lock().interrupt = Some(Arc::new(interrupt));
    }

    /// Replaces the injections.
    pub(crate) fn plan(&self, plan: Plan) {
        self.lock().plan = plan;
    }

    /// Makes the store available again and clears the injections.
    pub(crate) fn restore(&self) {
        let mut inner = self.lock();
        inner.out = false;
        inner.plan.clear();
    }

    /// A point in code that cannot wait.
    pub(crate) fn hit_point(&self, class: Class, name: &str) -> Fate {
        let acts: Vec<Injection> = {
            let mut inner = self.lock();
            match inner.life {
                Life::Alive => {}
                Life::Dying => return Fate::Die,
                Life::Dead => {
                    inner.breaches.push(format!("{name}: behind the end of its loop"));
                    return Fate::Die;
                }
            }
            let mut due = Vec::new();
            // Waits are not counted among all points: their number varies.
            let classes = match class {
                Class::Wait => vec![class],
                _ => vec![Class::All, class],
            };
            for class in classes {
                let count = inner.counts.entry(class).or_default();
                *count += 1;
                let now = *count;
                due.extend(
                    inner.plan.iter().filter(|it| (it.0, it.1) == (class, now)).map(|it| it.2),
                );
            }
            if !due.is_empty() {
                inner.hit_points.push(name.to_owned());
            }
            due
        };
        let mut fate = Fate::GoOn;
        for act in acts {
            match act {
                Injection::Interrupt(times) => (0..times).for_each(|_| self.interrupt()),
                Injection::Drop => {
                    self.lock().life = Life::Dying;
                    self.0.killed.notify_one();
                    return Fate::Die;
                }
                Injection::Kill => {
                    let ourselves = rustix::process::getpid();
                    let _ = rustix::process::kill_process(ourselves, rustix::process::Signal::KILL);
                    return Fate::Die;
                }
                Injection::Fail => {
                    self.record(LogEntry::Failed(name.to_string()));
                    fate = Fate::Fail;
                }
                Injection::StoreDown => {
                    self.record(LogEntry::Failed(name.to_string()));
                    self.lock().out = true;
                }
            }
        }
        if class == Class::Store && self.lock().out { Fate::Fail } else { fate }
    }

    /// A point. A caller that dies at it never continues.
    pub(crate) async fn point(&self, class: Class, name: String) -> Fate {
        let fate = self.hit_point(class, &name);
        if fate == Fate::Die {
            pending::<()>().await;
        }
        fate
    }

    /// Interrupts.
    pub(crate) fn interrupt(&self) {
        let interrupt = self.lock().interrupt.clone();
        let effect = interrupt.map_or(InterruptEffect::Idle, |interrupt| interrupt());
        self.record(LogEntry::Interrupted(effect));
    }

    /// Waits until the loop has to be dropped.
    pub(crate) async fn killed(&self) {
        self.0.killed.notified().await;
    }

    /// The loop is gone: any further activity of it is a breach.
    pub(crate) fn mark_dead(&self) {
        self.lock().life = Life::Dead;
    }

    /// Writes the log to a file as it grows.
    pub(crate) fn keep_journal(&self, path: &Path) {
        self.lock().journal = Some(File::create(path).expect("a diary"));
    }

    pub(crate) fn record(&self, entry: LogEntry) {
        self.lock().record(entry);
    }

    pub(crate) fn breach(&self, what: String) {
        self.lock().breaches.push(what);
    }

    pub(crate) fn breaches(&self) -> Vec<String> {
        self.lock().breaches.clone()
    }

    pub(crate) fn log(&self) -> Vec<LogEntry> {
        self.lock().log.clone()
    }

    /// The points that something happened at.
    pub(crate) fn hit_points(&self) -> Vec<String> {
        self.lock().hit_points.clone()
    }

    pub(crate) fn count(&self, class: Class) -> usize {
        self.lock().counts.get(&class).copied().unwrap_or(0)
    }

    /// An event is in the store.
    pub(crate) fn stored(&self, run: &str, event: &RunEvent) {
        let Some(seq) = event.seq else { return };
        self.lock().stored.insert((run.to_owned(), seq), event.clone());
    }

    /// Whether exactly that event is in the store.
    pub(crate) fn is_stored(&self, event: &RunEvent) -> bool {
        let Some(seq) = event.seq else { return false };
        let inner = self.lock();
        inner.stored.get(&(event.run.to_string(), seq)).is_some_and(|it| it.body == event.body)
    }

    /// A tool's function is entered. Its start must be in the store, and no interrupt may precede
    /// it.
    pub(crate) fn enter(&self, call: &str) -> ToolGuard {
        {
            let mut inner = self.lock();
            let is_start = |event: &&RunEvent| match &event.body {
                EventPayload::ToolCall(update) => {
                    update.call.id.as_deref() == Some(call)
                        && update.status == Some(ToolStatus::Running)
                }
                _ => false,
            };
            let starts = inner.stored.values().filter(is_start).count();
            let here = LogEntry::Entered(call.to_owned());
            let entered = inner.log.iter().filter(|entry| **entry == here).count();
            if starts <= entered {
                inner.breaches.push(format!("{call} starts, and the store does not know"));
            }
            let after =
                inner.log.iter().rev().take_while(|entry| !matches!(entry, LogEntry::Ending(_)));
            let stopped = |entry: &LogEntry| {
                matches!(
                    entry,
                    LogEntry::Interrupted(
                        InterruptEffect::Stopping
                            | InterruptEffect::Forced
                            | InterruptEffect::AlreadyForced
                    )
                )
            };
            if after.into_iter().any(stopped) {
                inner.breaches.push(format!("{call} starts behind an interrupt"));
            }
            inner.record(here);
            inner.living += 1;
        }
        self.0.entered.send_modify(|count| *count += 1);
        ToolGuard { world: self.clone(), call: call.to_owned(), finished: false }
    }

    /// Checks that every finished result is in the store before the next step.
    pub(crate) fn expect_stored_results(&self, what: &str) {
        let mut inner = self.lock();
        let mut given: BTreeMap<String, usize> = BTreeMap::new();
        for entry in &inner.log {
            if let LogEntry::Finished(call) = entry {
                *given.entry(call.clone()).or_default() += 1;
            }
        }
        for event in inner.stored.values() {
            if let EventPayload::ToolResult(result) = &event.body
                && let Some(count) = result.call.id.as_deref().and_then(|id| given.get_mut(id))
            {
                *count = count.saturating_sub(1);
            }
        }
        let open: Vec<String> =
            given.into_iter().filter(|(_, count)| *count > 0).map(|(call, _)| call).collect();
        if !open.is_empty() {
            inner.breaches.push(format!("{what}, and the answers of {open:?} are not stored"));
        }
    }

    /// Counts as a started tool for [`World::company`] only.
    pub(crate) fn enter_unseen(&self) {
        self.0.entered.send_modify(|count| *count += 1);
    }

    /// Waits until this many tools have started.
    pub(crate) async fn company(&self, wanted: usize) {
        let mut entered = self.0.entered.subscribe();
        let _ = entered.wait_for(|count| *count >= wanted).await;
    }

    /// Number of running tools.
    pub(crate) fn living(&self) -> usize {
        self.lock().living
    }
}

/// A running tool.
pub(crate) struct ToolGuard {
    world: World,
    call: String,
    finished: bool,
}

impl ToolGuard {
    /// It returns its result.
    pub(crate) fn finish(mut self) {
        self.finished = true;
        self.world.record(LogEntry::Finished(self.call.clone()));
    }

    /// It stops on request.
    pub(crate) fn give_up(mut self) {
        self.finished = true;
        self.world.record(LogEntry::GaveUp(self.call.clone()));
    }
}

impl Drop for ToolGuard {
    fn drop(&mut self) {
        if !self.finished {
            self.world.record(LogEntry::Dropped(self.call.clone()));
        }
        self.world.lock().living -= 1;
    }
}
