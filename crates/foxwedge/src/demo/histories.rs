//! Histories as real agents leave them, with the provider's error for each.

use foxwedge_core::Profile;

/// One broken history.
pub(super) struct DemoHistory {
    /// What happened, as a heading.
    pub(super) title: &'static str,
    /// How it happened, in one sentence.
    pub(super) cause: &'static str,
    /// The provider that would have received it.
    pub(super) profile: Profile,
    /// The broken history, as JSON.
    pub(super) history: &'static str,
    /// The provider's error message, with the ids of this history.
    pub(super) refusal: &'static str,
}

/// The histories, in the order of the demo.
pub(super) const DEMO_HISTORIES: [DemoHistory; 7] = [
    DemoHistory {
        title: "kill -9 in the middle of three parallel calls",
        cause: "One result was on disk, two tools were still running when the process died.",
        profile: Profile::Anthropic,
        history: include_str!("killed.json"),
        refusal: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately \
                  after: toolu_web, toolu_e2e. Each `tool_use` block must have a corresponding \
                  `tool_result` block in the next message.",
    },
    DemoHistory {
        title: "ESC, a new message, and then the tool comes back",
        cause: "The user wrote while a tool was running; its result was appended too late.",
        profile: Profile::OpenaiChat,
        history: include_str!("escaped.json"),
        refusal: "An assistant message with 'tool_calls' must be followed by tool messages \
                  responding to each 'tool_call_id'. The following tool_call_ids did not have \
                  response messages: call_write",
    },
    DemoHistory {
        title: "compaction kept a tool result and removed its call",
        cause: "\"Keep the last four messages\" ignores which messages belong together.",
        profile: Profile::OpenaiChat,
        history: include_str!("compacted.json"),
        refusal: "Invalid parameter: messages with role 'tool' must be a response to a preceeding \
                  message with 'tool_calls'.",
    },
    DemoHistory {
        title: "one output is lost, a custom tool's output is late",
        cause: "The connection was lost. The late output may stay: this API pairs by call_id.",
        profile: Profile::OpenaiResponses,
        history: include_str!("late.json"),
        refusal: "No tool output found for function call call_test.",
    },
    DemoHistory {
        title: "parallel calls, with one result per turn",
        cause: "The client sent each result as soon as it had it.",
        profile: Profile::Gemini,
        history: include_str!("scattered.json"),
        refusal: "Please ensure that the number of function response parts is equal to the number \
                  of function call parts of the function call turn.",
    },
    DemoHistory {
        title: "user text in front of the tool results",
        cause: "A hook put a reminder at the start of the message that carries the results.",
        profile: Profile::Bedrock,
        history: include_str!("crowded.json"),
        refusal: "… must begin with a matching number of tool_result blocks",
    },
    DemoHistory {
        title: "an interrupted turn in thinking mode",
        cause: "Interrupted before the reasoning was saved; it is unknown whether the tool ran.",
        profile: Profile::Deepseek,
        history: include_str!("thinking.json"),
        refusal: "The `reasoning_content` in the thinking mode must be passed back to the API.",
    },
];
