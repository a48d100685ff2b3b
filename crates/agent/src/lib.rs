//! A live agent as a model: what a client asks for over HTTP becomes orders to an agent that is
//! running, and what the agent does becomes replies to the client, call by call.
//!
//! Pure. [`Talk`] is the machine between one client's conversation and one agent: inputs in,
//! outputs out, no clock, no process, no pipe. A *kind* of agent is a [`Protocol`]: lines of its
//! pipe to [`Heard`], [`Order`]s to lines. A new kind is one file. The engine starts processes,
//! carries lines, and decides nothing.

mod tail;
mod merge;
mod names;
mod heard;
mod kind;
mod talk;
mod speech;
pub mod claude_code;

pub use heard::{Ask, AskKind, Decision, Heard, Order, Trouble};
pub use kind::{Kind, Launch, Wish};
pub use merge::{Merged, merged};
pub use names::Names;
pub use tail::{Answer, Call, Tail};
pub use talk::{Fault, Input, Note, Output, Phase, RequestCheck, Talk};

/// How one kind of agent is spoken to. It keeps what its own handshakes need and nothing else.
pub trait Protocol: Send {
    /// The lines to send before anything else.
    fn begin(&mut self) -> Vec<String>;

    /// One line of the agent's output, without its line end: what it tells, and the lines to send
    /// back at once. Never fails: a line that cannot be read is [`Heard::Noise`].
    fn line(&mut self, line: &[u8]) -> (Vec<Heard>, Vec<String>);

    /// Nothing was heard for a while, although a wish is open and a message has not ended: what that
    /// means. Some agents say nothing when their provider breaks off.
    fn quiet(&mut self) -> Vec<Heard> {
        Vec::new()
    }

    /// The lines that carry an order.
    fn order(&mut self, order: Order) -> Vec<String>;
}
