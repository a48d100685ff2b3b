//! The format of an input: a provider's request format, or an agent's session file.

use foxwedge_core::Format;
use foxwedge_sessions::SessionAgent;

/// The format of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputFormat {
    /// A provider's request format.
    Wire(Format),
    /// An agent's session file.
    Agent(SessionAgent),
}

impl InputFormat {
    /// The value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            InputFormat::Wire(format) => format.name(),
            InputFormat::Agent(agent) => agent.name(),
        }
    }
}
