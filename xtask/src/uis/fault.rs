//! Faults that a client must find: what an encoder would send that forgot something.

use std::fmt;

use foxwedge_run::encode::{FrameId, UiFormat, UiFrame};

use super::reader::Reader;

/// Something that is wrong with a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// Every frame with these words is left out.
    Without(&'static str),
    /// The last frame with these words is left out.
    WithoutLast(&'static str),
    /// Every frame with these words is left out of a run that does not end in an error.
    Open(&'static str),
    /// The last frame comes twice.
    TwoEnds,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Without(words) | Fault::Open(words) => write!(formatter, "without `{words}`"),
            Fault::WithoutLast(words) => write!(formatter, "without the last `{words}`"),
            Fault::TwoEnds => write!(formatter, "with two ends"),
        }
    }
}

impl Fault {
    /// The stream with the fault in it; nothing if it has no place for it.
    pub(super) fn plant(self, frames: &[UiFrame]) -> Option<Vec<UiFrame>> {
        let mut left = frames.to_vec();
        match self {
            Fault::Open(_) if frames.iter().any(|it| it.data.contains("\"RUN_ERROR\"")) => {}
            Fault::Without(words) | Fault::Open(words) => {
                left.retain(|frame| !frame.data.contains(words));
            }
            Fault::WithoutLast(words) => {
                let last = left.iter().rposition(|frame| frame.data.contains(words))?;
                left.remove(last);
            }
            Fault::TwoEnds => {
                let end = left.iter().rfind(|frame| frame.data != "[DONE]")?.clone();
                let at = left.iter().rposition(|frame| frame.data != "[DONE]")?;
                left.insert(at, end);
            }
        }
        let changed = left.len() != frames.len();
        // The ids are no part of the fault.
        for (seq, frame) in (1..).zip(&mut left) {
            frame.id = FrameId { seq, part: 1 };
        }
        changed.then_some(left)
    }
}

/// The faults that a client has to find.
pub(super) fn of(reader: Reader) -> Vec<Fault> {
    match (reader.format, reader.version) {
        (UiFormat::AgUi, _) => {
            let mut faults = vec![
                Fault::Without("\"RUN_STARTED\""),
                Fault::Without("\"TEXT_MESSAGE_START\""),
                Fault::Without("\"TOOL_CALL_START\""),
                Fault::Without("\"TOOL_CALL_RESULT\""),
                Fault::WithoutLast("\"TOOL_CALL_RESULT\""),
                Fault::WithoutLast("\"RUN_"),
                Fault::TwoEnds,
                // An error may come at any time.
                Fault::Open("\"TEXT_MESSAGE_END\""),
                Fault::Open("\"TOOL_CALL_END\""),
                Fault::Open("\"STEP_FINISHED\""),
            ];
            // Older ones do not look at thoughts, and know no sub-agents.
            if reader.package == "@ag-ui/client" {
                faults.push(Fault::Without("\"REASONING_MESSAGE_START\""));
                faults.push(Fault::Open("\"REASONING_MESSAGE_END\""));
                faults.push(Fault::Open("\"REASONING_END\""));
                faults.push(Fault::Open("\"SUBAGENT_FINISHED\""));
            }
            faults
        }
        (UiFormat::AiSdk, _) => vec![
            Fault::Without("\"start\""),
            Fault::Without("\"tool-output-"),
            Fault::WithoutLast("\"tool-output-"),
            Fault::Without("\"tool-approval-response\""),
            Fault::Without("\"text-start\""),
            Fault::Without("\"text-end\""),
            Fault::Without("[DONE]"),
            Fault::TwoEnds,
        ],
        (UiFormat::Acp, 1) => vec![
            Fault::Without("\"tool_call\""),
            Fault::Without("\"failed\",\"content\""),
            Fault::Without("\"completed\",\"content\""),
            Fault::Without("$/cancel_request"),
            Fault::WithoutLast("\"id\""),
            Fault::TwoEnds,
        ],
        (UiFormat::Acp, _) => vec![
            Fault::Without("\"completed\",\"content\""),
            Fault::Without("\"cancelled\",\"content\""),
            Fault::Without("\"idle\""),
            Fault::TwoEnds,
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
            (Fault::Without("a"), "a b a c", Some("b c")),
            (Fault::Without("x"), "a b", None),
            (Fault::WithoutLast("a"), "a b a c", Some("a b c")),
            (Fault::Open("a"), "a b", Some("b")),
            (Fault::Open("a"), "a \"RUN_ERROR\"", None),
            (Fault::TwoEnds, "a b [DONE]", Some("a b b [DONE]")),
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
