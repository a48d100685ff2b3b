//! The run state machine: one outcome for every run, one accurate status for every tool call.
//!
//! The crate is pure: it does no I/O, reads no clock and never waits. A caller that runs an agent,
//! follows a foreign agent or replays a log passes events to [`step`] one at a time, with the time.
//! [`step`] returns the new state and the effects that the caller must carry out.
//!
//! ```
//! use foxwedge_run::{
//!     EventPayload,
//!     follow::{AgentFollower, StreamSource},
//! };
//!
//! let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run-1".into());
//! let events = follower.line(r#"{"type":"system","subtype":"init","session_id":"s1"}"#);
//! assert!(events.iter().any(|event| matches!(event.body, EventPayload::Started(_))));
//! ```

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
