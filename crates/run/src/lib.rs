//! The run machine: one outcome for every run, one truthful status for every tool.
//!
//! Pure. Whoever runs an agent, follows a foreign one or replays a log gives [`step`] one event
//! after the other, with the time; it returns the new state and what has to be done about it.
//! Nothing here waits, reads a clock or talks to anybody.

mod value;
mod status;
mod outcome;
mod event;
mod effect;
mod settings;
mod machine;
mod history;
pub mod wire;
pub mod encode;
pub mod follow;

pub use effect::{Change, Effect, Part, Refusal, Resolution, ToolRef, Warning};
pub use event::{
    Activity, Ask, AskKind, Body, Call, CallRef, Ended, Event, How, Problem, Reply, Started, Stop,
    Task, TaskStatus, Text, ToolResult, ToolsAvailable, Turn, Usage, Verdict,
};
pub use history::{Message, history};
pub use machine::{
    Answer, AnswerError, Asked, Counts, Flags, Input, Phase, Routed, Run, Session, TextItem,
    TextKind, Tool, step,
};
pub use outcome::{Outcome, Summary};
pub use settings::{Limits, Settings};
pub use status::{Reason, Status};
pub use value::{Id, Json};
