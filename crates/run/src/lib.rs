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

pub use effect::{
    ApprovalResolution, RunEffect, RunRefusal, RunWarning, ToolRef, UiChange, UiPart,
};
pub use event::{
    ActivityCard, ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, CallRef,
    EventPayload, RunEnd, RunEvent, RunProblem, RunStart, RunUsage, StopRequest, TaskItem,
    TaskStatus, TextUpdate, ToolCallUpdate, ToolOutcome, ToolResult, ToolsAvailable, TurnStart,
};
pub use history::{RunMessage, history};
pub use machine::{
    ActivityFlags, AnswerError, AnswerRoute, ApprovalState, EventCounts, MachineInput, Run,
    RunPhase, SessionMachine, TextItem, TextKind, ToolCallState, UserAnswer, step,
};
pub use outcome::{Outcome, RunSummary};
pub use settings::{MachineLimits, MachineSettings};
pub use status::{ToolStatus, ToolStatusReason};
pub use value::{RawJson, SharedId};
