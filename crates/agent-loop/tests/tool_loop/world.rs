//! Everything that happens in a play, in the order in which it happens, and what goes wrong in it.
//!
//! Every seam of the loop is a point: a call of the store, a piece of a reply, a step of a tool, a
//! decision, something told. Points are counted, so that a play can be played again with something
//! happening at each of them.

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
    /// Each time that the loop has nothing to do but to wait.
    Wait,
}

/// What happens at a point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Act {
    /// Somebody interrupts, so many times.
    Press(usize),
    /// The loop is dropped as it stands.
    Drop,
    /// The process is killed.
    Kill,
    /// The store cannot be reached, the model breaks off, the tool panics.
    Fail,
    /// The store cannot be reached from here on.
    Out,
}

/// What happens, and where: the so-manieth point of a class.
pub(crate) type Plan = Vec<(Class, usize, Act)>;

/// What somebody got for an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Pressing {
    Idle,
    Asked,
    Forced,
    Leave,
}

/// What a point means for whoever stands at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    GoOn,
    Fail,
    Die,
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Seen {
    /// A tool's function was entered.
    Entered(String),
    /// It said something before its answer.
    Murmured(String),
    /// It returned its answer.
    Finished(String),
    /// It stopped as it was asked to.
    Gave(String),
    /// Its future was dropped before it returned.
    Dropped(String),
    /// The model was asked.
    Asked,
    /// It gave a piece of text.
    Spoke(String),
    /// It gave a call.
    Called(String),
    /// It gave everything that it had to say.
    Heard,
    /// A call was allowed or not.
    Decided(String, bool),
    /// The end of a run is about to be stored.
    Ending(Option<Outcome>),
    /// Somebody interrupted.
    Pressed(Pressing),
    /// The listener was told.
    Told(Box<RunEffect>),
    /// The store, the model or a tool failed as planned.
    Failed(String),
    /// Input was put into the queue.
    Queued,
}

impl Seen {
    /// As a line of a diary; what a listener was told is not written down.
    fn line(&self) -> Option<String> {
        Some(match self {
            Seen::Entered(call) => format!("entered {call}"),
            Seen::Murmured(call) => format!("murmured {call}"),
            Seen::Finished(call) => format!("finished {call}"),
            Seen::Gave(call) => format!("gave {call}"),
            Seen::Decided(call, true) => format!("allowed {call}"),
            Seen::Decided(call, false) => format!("denied {call}"),
            Seen::Called(call) => format!("called {call}"),
            Seen::Asked => "asked".to_owned(),
            Seen::Queued => "queued".to_owned(),
            Seen::Dropped(_)
            | Seen::Spoke(_)
            | Seen::Heard
            | Seen::Ending(_)
            | Seen::Pressed(_)
            | Seen::Told(_)
            | Seen::Failed(_) => return None,
        })
    }

    /// What a line of a diary says.
    pub(crate) fn of(line: &str) -> Option<Seen> {
        let (word, call) = line.split_once(' ').unwrap_or((line, ""));
        let call = call.to_owned();
        Some(match word {
            "entered" => Seen::Entered(call),
            "murmured" => Seen::Murmured(call),
            "finished" => Seen::Finished(call),
            "gave" => Seen::Gave(call),
            "allowed" => Seen::Decided(call, true),
            "denied" => Seen::Decided(call, false),
            "called" => Seen::Called(call),
            "asked" => Seen::Asked,
            "queued" => Seen::Queued,
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

type Press = Arc<dyn Fn() -> Pressing + Send + Sync>;

struct Inner {
    plan: Plan,
    counts: BTreeMap<Class, usize>,
    /// The points that something happened at.
    struck: Vec<String>,
    log: Vec<Seen>,
    /// Events in the store, by run and place.
    stored: BTreeMap<(String, u64), RunEvent>,
    living: usize,
    breaches: Vec<String>,
    press: Option<Press>,
    life: Life,
    /// The store cannot be reached any more.
    out: bool,
    /// Survives the process.
    diary: Option<File>,
}

impl Inner {
    fn see(&mut self, seen: Seen) {
        if let (Some(diary), Some(line)) = (&mut self.diary, seen.line()) {
            diary.write_all(format!("{line}\n").as_bytes()).expect("a diary");
        }
        self.log.push(seen);
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
            struck: Vec::new(),
            log: Vec::new(),
            stored: BTreeMap::new(),
            living: 0,
            breaches: Vec::new(),
            press: None,
            life: Life::Alive,
            out: false,
            diary: None,
        };
        let (entered, _) = watch::channel(0);
        World(Arc::new(Shared { inner: Mutex::new(inner), killed: Notify::new(), entered }))
    }

    /// One in which nothing goes wrong.
    pub(crate) fn quiet() -> World {
        World::new(Plan::new())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever may interrupt.
    pub(crate) fn set_press(&self, press: impl Fn() -> Pressing + Send + Sync + 'static) {
        self.lock().press = Some(Arc::new(press));
    }

    /// Something is planned from now on.
    pub(crate) fn plan(&self, plan: Plan) {
        self.lock().plan = plan;
    }

    /// The store can be reached again, and nothing more is planned.
    pub(crate) fn heal(&self) {
        let mut inner = self.lock();
        inner.out = false;
        inner.plan.clear();
    }

    /// A point where nobody can wait.
    pub(crate) fn strike(&self, class: Class, name: &str) -> Fate {
        let acts: Vec<Act> = {
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
            // What the loop waits for is no point of its own: how often it waits is up to chance.
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
                inner.struck.push(name.to_owned());
            }
            due
        };
        let mut fate = Fate::GoOn;
        for act in acts {
            match act {
                Act::Press(times) => (0..times).for_each(|_| self.press()),
                Act::Drop => {
                    self.lock().life = Life::Dying;
                    self.0.killed.notify_one();
                    return Fate::Die;
                }
                Act::Kill => {
                    let ourselves = rustix::process::getpid();
                    let _ = rustix::process::kill_process(ourselves, rustix::process::Signal::KILL);
                    return Fate::Die;
                }
                Act::Fail => {
                    self.see(Seen::Failed(name.to_string()));
                    fate = Fate::Fail;
                }
                Act::Out => {
                    self.see(Seen::Failed(name.to_string()));
                    self.lock().out = true;
                }
            }
        }
        if class == Class::Store && self.lock().out { Fate::Fail } else { fate }
    }

    /// A point. Whoever dies at it stays there.
    pub(crate) async fn point(&self, class: Class, name: String) -> Fate {
        let fate = self.strike(class, &name);
        if fate == Fate::Die {
            pending::<()>().await;
        }
        fate
    }

    /// Interrupts.
    pub(crate) fn press(&self) {
        let press = self.lock().press.clone();
        let pressing = press.map_or(Pressing::Idle, |press| press());
        self.see(Seen::Pressed(pressing));
    }

    /// Waits until the loop has to be dropped.
    pub(crate) async fn killed(&self) {
        self.0.killed.notified().await;
    }

    /// The loop is gone: whoever still does something of it is found out.
    pub(crate) fn bury(&self) {
        self.lock().life = Life::Dead;
    }

    /// Writes down what happens as it happens.
    pub(crate) fn keep_diary(&self, path: &Path) {
        self.lock().diary = Some(File::create(path).expect("a diary"));
    }

    pub(crate) fn see(&self, seen: Seen) {
        self.lock().see(seen);
    }

    pub(crate) fn breach(&self, what: String) {
        self.lock().breaches.push(what);
    }

    pub(crate) fn breaches(&self) -> Vec<String> {
        self.lock().breaches.clone()
    }

    pub(crate) fn log(&self) -> Vec<Seen> {
        self.lock().log.clone()
    }

    /// The points that something happened at.
    pub(crate) fn struck(&self) -> Vec<String> {
        self.lock().struck.clone()
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

    /// A tool's function is entered. Its start has to be in the store, and nobody may have asked
    /// for the end.
    pub(crate) fn enter(&self, call: &str) -> Presence {
        {
            let mut inner = self.lock();
            let is_start = |event: &&RunEvent| match &event.body {
                EventPayload::ToolCall(told) => {
                    told.call.id.as_deref() == Some(call)
                        && told.status == Some(ToolStatus::Running)
                }
                _ => false,
            };
            let starts = inner.stored.values().filter(is_start).count();
            let here = Seen::Entered(call.to_owned());
            let entered = inner.log.iter().filter(|seen| **seen == here).count();
            if starts <= entered {
                inner.breaches.push(format!("{call} starts, and the store does not know"));
            }
            let after = inner.log.iter().rev().take_while(|seen| !matches!(seen, Seen::Ending(_)));
            let stopped = |seen: &Seen| {
                matches!(seen, Seen::Pressed(Pressing::Asked | Pressing::Forced | Pressing::Leave))
            };
            if after.into_iter().any(stopped) {
                inner.breaches.push(format!("{call} starts behind an interrupt"));
            }
            inner.see(here);
            inner.living += 1;
        }
        self.0.entered.send_modify(|count| *count += 1);
        Presence { world: self.clone(), call: call.to_owned(), finished: false }
    }

    /// Nothing goes on before every answer that was given is in the store.
    pub(crate) fn expects_answers(&self, what: &str) {
        let mut inner = self.lock();
        let mut given: BTreeMap<String, usize> = BTreeMap::new();
        for seen in &inner.log {
            if let Seen::Finished(call) = seen {
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

    /// Counts as a tool for whoever waits for company, and for nobody else.
    pub(crate) fn enter_unseen(&self) {
        self.0.entered.send_modify(|count| *count += 1);
    }

    /// Waits until so many tools were entered.
    pub(crate) async fn company(&self, wanted: usize) {
        let mut entered = self.0.entered.subscribe();
        let _ = entered.wait_for(|count| *count >= wanted).await;
    }

    /// How many tools are at work.
    pub(crate) fn living(&self) -> usize {
        self.lock().living
    }
}

/// A tool at work.
pub(crate) struct Presence {
    world: World,
    call: String,
    finished: bool,
}

impl Presence {
    /// It returns its answer.
    pub(crate) fn finish(mut self) {
        self.finished = true;
        self.world.see(Seen::Finished(self.call.clone()));
    }

    /// It stops as it was asked to.
    pub(crate) fn give_up(mut self) {
        self.finished = true;
        self.world.see(Seen::Gave(self.call.clone()));
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if !self.finished {
            self.world.see(Seen::Dropped(self.call.clone()));
        }
        self.world.lock().living -= 1;
    }
}
