//! The tool results that the model and users see. Pure.

use std::time::Duration;

use foxwedge_core::{MissingAnswer, PlaceholderLanguage, placeholder_text};
use foxwedge_run::{RawJson, ToolOutcome as Ending};
use foxwedge_tools::{
    CapturedOutput, OutputCapture, ToolCallResult, ToolCompletion, ToolEffect, ToolResultContent,
};
use serde_json::Value;

use super::tool_tasks::{FinishedTool, ToolTaskOutcome};

/// Maximum bytes of content blocks: images have to fit the provider's request limit.
const MAX_BLOCKS: usize = 4 << 20;

/// The outcome of a call, and its content in at most `max_bytes` bytes of text.
pub(super) fn tool_result(done: FinishedTool, max_bytes: usize) -> (Ending, RawJson) {
    let FinishedTool { elapsed, effect, outcome, output, .. } = done;
    match outcome {
        ToolTaskOutcome::NotStarted => (
            Ending::Cancelled,
            RawJson::string(placeholder_text(
                MissingAnswer::NotStarted,
                PlaceholderLanguage::English,
            )),
        ),
        ToolTaskOutcome::Answered(ToolCallResult { completion: ToolCompletion::Done, content }) => {
            (Ending::Ok, encode_content(content, max_bytes))
        }
        ToolTaskOutcome::Answered(ToolCallResult {
            completion: ToolCompletion::Failed,
            content,
        }) => (Ending::Error, encode_content(content, max_bytes)),
        ToolTaskOutcome::Answered(ToolCallResult {
            completion: ToolCompletion::Stopped,
            content,
        }) => {
            let output = match content {
                ToolResultContent::Text(text) => text,
                ToolResultContent::Blocks(_) => output,
            };
            (
                Ending::Interrupted,
                interrupted_result(interruption_kind(effect), elapsed, &output, max_bytes),
            )
        }
        ToolTaskOutcome::Interrupted => (
            Ending::Interrupted,
            interrupted_result(interruption_kind(effect), elapsed, &output, max_bytes),
        ),
        ToolTaskOutcome::TimedOut => (
            Ending::TimedOut,
            interrupted_result(MissingAnswer::TimedOut, elapsed, &output, max_bytes),
        ),
    }
}

/// The result of a call that was denied.
pub(super) fn denied_result(reason: Option<&str>) -> RawJson {
    let text = placeholder_text(MissingAnswer::Denied, PlaceholderLanguage::English);
    match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => RawJson::string(&format!("{text} They said: {reason}")),
        None => RawJson::string(text),
    }
}

/// Replaces a result that does not fit beside the other results of its turn.
pub(super) fn omitted_result(bytes: usize) -> RawJson {
    RawJson::string(&format!(
        "The answer of {bytes} bytes is left out: there is no room for it beside the other answers."
    ))
}

fn interruption_kind(effect: ToolEffect) -> MissingAnswer {
    match effect {
        ToolEffect::Reads => MissingAnswer::InterruptedReading,
        ToolEffect::Writes => MissingAnswer::Interrupted,
    }
}

/// The result of an interrupted call: what is known, how long it ran, and its output.
fn interrupted_result(
    missing: MissingAnswer,
    elapsed: Duration,
    output: &str,
    max_bytes: usize,
) -> RawJson {
    let text = placeholder_text(missing, PlaceholderLanguage::English);
    let duration = format!("It ran for {:.1} s.", elapsed.as_secs_f64());
    let output = truncate_middle(output.trim_end(), max_bytes);
    match output.is_empty() {
        true => RawJson::string(&format!("{text} {duration}")),
        false => RawJson::string(&format!("{text} {duration} Until then it said:\n{output}")),
    }
}

fn encode_content(content: ToolResultContent, max_bytes: usize) -> RawJson {
    match content {
        ToolResultContent::Text(text) => RawJson::string(&truncate_middle(&text, max_bytes)),
        ToolResultContent::Blocks(blocks) => {
            let blocks: Vec<Value> =
                blocks.into_iter().map(|block| truncate_block(block, max_bytes)).collect();
            let array = Value::Array(blocks);
            let json = RawJson::from(&array);
            match json.raw().len() {
                0..=MAX_BLOCKS => json,
                bytes => RawJson::string(&format!(
                    "The answer of {bytes} bytes is too large to be kept, and is left out."
                )),
            }
        }
    }
}

fn truncate_block(mut block: Value, max_bytes: usize) -> Value {
    if let Some(text) = block.get_mut("text")
        && let Some(long) = text.as_str().filter(|text| text.len() > max_bytes)
    {
        *text = Value::String(truncate_middle(long, max_bytes));
    }
    block
}

/// Leaves out the middle of a text that is too long.
fn truncate_middle(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let output = OutputCapture::new(max_bytes);
    output.push(text.as_bytes());
    let CapturedOutput { text, .. } = output.capture();
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn done(outcome: ToolTaskOutcome, output: &str) -> (Ending, String) {
        let done = FinishedTool {
            place: 0,
            elapsed: Duration::from_millis(3_140),
            effect: ToolEffect::Writes,
            outcome,
            output: output.to_owned(),
        };
        let (ending, json) = tool_result(done, 16);
        (ending, json.plain())
    }

    #[test]
    fn results_claim_only_what_is_known() {
        let stopped = ToolCallResult {
            completion: ToolCompletion::Stopped,
            content: ToolResultContent::Text("half".into()),
        };
        let blocks = ToolCallResult {
            completion: ToolCompletion::Done,
            content: ToolResultContent::Blocks(vec![json!({ "type": "text", "text": "seen" })]),
        };
        let table = [
            (ToolTaskOutcome::Answered(ToolCallResult::done("fine")), "", Ending::Ok, "fine"),
            (ToolTaskOutcome::Answered(ToolCallResult::failed("no")), "", Ending::Error, "no"),
            (ToolTaskOutcome::Answered(blocks), "", Ending::Ok, "seen"),
            (
                ToolTaskOutcome::Answered(stopped),
                "",
                Ending::Interrupted,
                "[foxwedge] Interrupted: no answer was recorded. The call may have run; check before \
                 repeating it. It ran for 3.1 s. Until then it said:\nhalf",
            ),
            (
                ToolTaskOutcome::Interrupted,
                "",
                Ending::Interrupted,
                "[foxwedge] Interrupted: no answer was recorded. The call may have run; check before \
                 repeating it. It ran for 3.1 s.",
            ),
            (
                ToolTaskOutcome::TimedOut,
                "0123456789abcdefghij",
                Ending::TimedOut,
                "[foxwedge] Timed out: the call may still have had an effect; check before repeating \
                 it. It ran for 3.1 s. Until then it said:\n01234567\n[… 4 bytes left out …]\ncdefghij",
            ),
        ];
        for (outcome, output, ending, text) in table {
            assert_eq!(done(outcome, output), (ending, text.to_owned()));
        }
        assert_eq!(
            denied_result(Some("later")).plain(),
            "[foxwedge] Denied by the user: this call did not run. They said: later"
        );
    }
}
