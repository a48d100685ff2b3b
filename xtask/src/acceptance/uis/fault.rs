//! Faults that a client must find: what a faulty encoder would send.

use std::fmt;

use foxwedge_run::encode::{FrameId, UiFormat, UiFrame};

use super::UiClient;

/// Something that is wrong with a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamFault {
    /// Every frame with this text is left out.
    Without(&'static str),
    /// The last frame with this text is left out.
    WithoutLast(&'static str),
    /// Every frame with this text is left out of a run that does not end in an error.
    Open(&'static str),
    /// The first text is replaced by the second one.
    Changed(&'static str, &'static str),
    /// The last frame comes twice.
    TwoEnds,
}

impl fmt::Display for StreamFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamFault::Without(text) | StreamFault::Open(text) => {
                write!(formatter, "without `{text}`")
            }
            StreamFault::WithoutLast(text) => write!(formatter, "without the last `{text}`"),
            StreamFault::Changed(text, other) => {
                write!(formatter, "with `{other}` instead of `{text}`")
            }
            StreamFault::TwoEnds => write!(formatter, "with two ends"),
        }
    }
}

impl StreamFault {
    /// The stream with the fault in it; nothing if it has no place for it.
    pub(super) fn plant(self, frames: &[UiFrame]) -> Option<Vec<UiFrame>> {
        let mut left = frames.to_vec();
        match self {
            StreamFault::Open(_) if frames.iter().any(|it| it.data.contains("\"RUN_ERROR\"")) => {}
            StreamFault::Without(text) | StreamFault::Open(text) => {
                left.retain(|frame| !frame.data.contains(text));
            }
            StreamFault::WithoutLast(text) => {
                let last = left.iter().rposition(|frame| frame.data.contains(text))?;
                left.remove(last);
            }
            StreamFault::Changed(text, other) => {
                for frame in &mut left {
                    frame.data = frame.data.replace(text, other);
                }
            }
            StreamFault::TwoEnds => {
                let end = left.iter().rfind(|frame| frame.data != "[DONE]")?.clone();
                let at = left.iter().rposition(|frame| frame.data != "[DONE]")?;
                left.insert(at, end);
            }
        }
        let changed = left != frames;
        // The ids are no part of the fault.
        for (seq, frame) in (1..).zip(&mut left) {
            frame.id = FrameId { seq, part: 1 };
        }
        changed.then_some(left)
    }
}

/// The faults that a client has to find.
pub(super) fn of(client: UiClient) -> Vec<StreamFault> {
    match (client.format, client.version) {
        (UiFormat::AgUi, _) => {
            let mut faults = vec![
                StreamFault::Without("\"RUN_STARTED\""),
                StreamFault::Without("\"TEXT_MESSAGE_START\""),
                StreamFault::Without("\"TOOL_CALL_START\""),
                StreamFault::Without("\"TOOL_CALL_RESULT\""),
                StreamFault::WithoutLast("\"TOOL_CALL_RESULT\""),
                StreamFault::WithoutLast("\"RUN_"),
                StreamFault::TwoEnds,
                // An error may come at any time.
                StreamFault::Open("\"TEXT_MESSAGE_END\""),
                StreamFault::Open("\"TOOL_CALL_END\""),
                StreamFault::Open("\"STEP_FINISHED\""),
            ];
            // Older ones do not look at thoughts, and know no sub-agents.
            if client.package == "@ag-ui/client" {
                faults.push(StreamFault::Without("\"REASONING_MESSAGE_START\""));
                faults.push(StreamFault::Open("\"REASONING_MESSAGE_END\""));
                faults.push(StreamFault::Open("\"REASONING_END\""));
                faults.push(StreamFault::Open("\"SUBAGENT_FINISHED\""));
            }
            if client.version == 1 {
                let ids = "\"pendingToolCallIds\":[\"";
                faults.push(StreamFault::Changed(ids, "\"pendingToolCallIds\":[\"other-"));
                faults.push(StreamFault::Changed(ids, "\"formerToolCallIds\":[\""));
            }
            faults
        }
        (UiFormat::AiSdk, _) => vec![
            StreamFault::Without("\"start\""),
            StreamFault::Without("\"tool-output-"),
            StreamFault::WithoutLast("\"tool-output-"),
            StreamFault::Without("\"tool-approval-response\""),
            StreamFault::Without("\"text-start\""),
            StreamFault::Without("\"text-end\""),
            StreamFault::Without("[DONE]"),
            StreamFault::TwoEnds,
        ],
        (UiFormat::Acp, 1) => vec![
            StreamFault::Without("\"tool_call\""),
            StreamFault::Without("\"failed\",\"content\""),
            StreamFault::Without("\"completed\",\"content\""),
            StreamFault::Without("$/cancel_request"),
            StreamFault::WithoutLast("\"id\""),
            StreamFault::TwoEnds,
        ],
        (UiFormat::Acp, _) => vec![
            StreamFault::Without("\"completed\",\"content\""),
            StreamFault::Without("\"cancelled\",\"content\""),
            StreamFault::Without("\"idle\""),
            StreamFault::TwoEnds,
        ],
        (UiFormat::Jsonl, _) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_planted_where_it_has_a_place() {
        let table = [
            (StreamFault::Without("a"), "a b a c", Some("b c")),
            (StreamFault::Without("x"), "a b", None),
            (StreamFault::WithoutLast("a"), "a b a c", Some("a b c")),
            (StreamFault::Open("a"), "a b", Some("b")),
            (StreamFault::Open("a"), "a \"RUN_ERROR\"", None),
            (StreamFault::Changed("a", "x"), "a b a", Some("x b x")),
            (StreamFault::Changed("a", "x"), "b", None),
            (StreamFault::TwoEnds, "a b [DONE]", Some("a b b [DONE]")),
        ];
        for (fault, before, expected) in table {
            let id = FrameId { seq: 1, part: 1 };
            let frame = |data: &str| UiFrame { id, data: data.to_owned() };
            let frames: Vec<UiFrame> = before.split(' ').map(frame).collect();
            let after = fault.plant(&frames).map(|frames| {
                let data: Vec<&str> = frames.iter().map(|frame| frame.data.as_str()).collect();
                data.join(" ")
            });
            assert_eq!(after.as_deref(), expected, "{fault} in {before}");
        }
    }
}
