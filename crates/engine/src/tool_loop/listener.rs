//! Who is told what happens, and who decides whether a tool may run.

use std::time::Duration;

use foxwedge_run::Effect;
use foxwedge_tools::{About, Future};
use serde_json::Value;

use crate::{Change, CountedList};

/// Is told what happens. Everything it is told is in the store.
pub trait Listener: Send {
    /// Something happened. Must not wait.
    fn told(&mut self, told: Told);
}

/// What a listener is told.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly everything that is told is a run's")]
pub enum Told {
    /// What the run machine says: events of the log, and changes of what is shown.
    Run(Effect),
    /// Something beside the run.
    Note(Note),
}

/// Something beside the run.
#[derive(Clone, PartialEq, Debug)]
pub enum Note {
    /// Passing trouble of the model is waited out.
    Waiting {
        /// How long.
        pause: Duration,
        /// Why.
        why: String,
    },
    /// The history was repaired, for good.
    Repaired(CountedList<Change>),
    /// The provider refused so many tools: fewer are offered from now on.
    FewerTools {
        /// How many.
        offered: usize,
        /// How many there are.
        all: usize,
    },
    /// The history is being made shorter.
    Compacting,
    /// It was made shorter: tokens before and after.
    Compacted(u64, u64),
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {
    fn told(&mut self, _: Told) {}
}

impl<F: FnMut(Told) + Send> Listener for F {
    fn told(&mut self, told: Told) {
        self(told);
    }
}

/// Decides whether a call may run.
pub trait Approver: Send + Sync + 'static {
    /// Whether somebody has to be asked at all; else the call runs at once.
    fn asks(&self, asking: &Asking<'_>) -> bool;

    /// Asks. May be dropped while it waits: then nobody wants to know any more.
    fn decide<'a>(&'a self, asking: Asking<'a>) -> Future<'a, Decision>;
}

/// A call that wants to run.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The id of the call.
    pub call: &'a str,
    /// The tool.
    pub tool: &'a About,
    /// The arguments.
    pub input: &'a Value,
}

/// What was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It may.
    Allow,
    /// It may not; what the person said about it goes to the model.
    Deny(Option<String>),
}

/// Lets everything run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Approver for Everything {
    fn asks(&self, _: &Asking<'_>) -> bool {
        false
    }

    fn decide<'a>(&'a self, _: Asking<'a>) -> Future<'a, Decision> {
        Box::pin(async { Decision::Allow })
    }
}

/// Lets run what only reads, and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadingOnly;

impl Approver for ReadingOnly {
    fn asks(&self, asking: &Asking<'_>) -> bool {
        asking.tool.effect == foxwedge_tools::Effect::Writes
    }

    fn decide<'a>(&'a self, _: Asking<'a>) -> Future<'a, Decision> {
        Box::pin(async { Decision::Deny(Some("only reading is allowed here".to_owned())) })
    }
}
