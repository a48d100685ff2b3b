//! How the end of a call is told to the model and to people. Pure.

use std::time::Duration;

use foxwedge_core::{MissingAnswer, PlaceholderLanguage, placeholder_text};
use foxwedge_run::{RawJson, ToolOutcome as Ending};
use foxwedge_tools::{
    CapturedOutput, OutputCapture, ToolCallResult, ToolCompletion, ToolEffect, ToolResultContent,
};
use serde_json::Value;

use super::tool_tasks::{FinishedTool, ToolTaskOutcome};

/// Bytes of blocks that are no text: images have to fit through a provider's door.
const MAX_BLOCKS: usize = 4 << 20;

/// How a call ended, and what is said about it, in at most so many bytes.
pub(super) fn tool_result(done: FinishedTool, most: usize) -> (Ending, RawJson) {
    let FinishedTool { elapsed, effect, outcome: how, output: said, .. } = done;
    match how {
        ToolTaskOutcome::NotStarted => (
            Ending::Cancelled,
            RawJson::string(placeholder_text(
                MissingAnswer::NotStarted,
                PlaceholderLanguage::English,
            )),
        ),
        ToolTaskOutcome::Answered(ToolCallResult { completion: ToolCompletion::Done, content }) => {
            (Ending::Ok, encode_content(content, most))
        }
        ToolTaskOutcome::Answered(ToolCallResult {
            completion: ToolCompletion::Failed,
            content,
        }) => (Ending::Error, encode_content(content, most)),
        ToolTaskOutcome::Answered(ToolCallResult {
            completion: ToolCompletion::Stopped,
            content,
        }) => {
            let said = match content {
                ToolResultContent::Text(text) => text,
                ToolResultContent::Blocks(_) => said,
            };
            (
                Ending::Interrupted,
                interrupted_result(interruption_kind(effect), elapsed, &said, most),
            )
        }
        ToolTaskOutcome::Interrupted => (
            Ending::Interrupted,
            interrupted_result(interruption_kind(effect), elapsed, &said, most),
        ),
        ToolTaskOutcome::TimedOut => {
            (Ending::TimedOut, interrupted_result(MissingAnswer::TimedOut, elapsed, &said, most))
        }
    }
}

/// What is told about a call that somebody did not allow.
pub(super) fn denied_result(why: Option<&str>) -> RawJson {
    let words = placeholder_text(MissingAnswer::Denied, PlaceholderLanguage::English);
    match why.map(str::trim).filter(|why| !why.is_empty()) {
        Some(why) => RawJson::string(&format!("{words} They said: {why}")),
        None => RawJson::string(words),
    }
}

/// An answer for which there is no room beside the others of its turn.
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

/// A call that was cut off: what is known, how long it ran, and what it had said.
fn interrupted_result(
    missing: MissingAnswer,
    elapsed: Duration,
    said: &str,
    most: usize,
) -> RawJson {
    let words = placeholder_text(missing, PlaceholderLanguage::English);
    let ran = format!("It ran for {:.1} s.", elapsed.as_secs_f64());
    let said = truncate_middle(said.trim_end(), most);
    match said.is_empty() {
        true => RawJson::string(&format!("{words} {ran}")),
        false => RawJson::string(&format!("{words} {ran} Until then it said:\n{said}")),
    }
}

fn encode_content(content: ToolResultContent, most: usize) -> RawJson {
    match content {
        ToolResultContent::Text(text) => RawJson::string(&truncate_middle(&text, most)),
        ToolResultContent::Blocks(blocks) => {
            let blocks: Vec<Value> =
                blocks.into_iter().map(|block| truncate_block(block, most)).collect();
            let told = Value::Array(blocks);
            let json = RawJson::from(&told);
            match json.raw().len() {
                0..=MAX_BLOCKS => json,
                bytes => RawJson::string(&format!(
                    "The answer of {bytes} bytes is too large to be kept, and is left out."
                )),
            }
        }
    }
}

fn truncate_block(mut block: Value, most: usize) -> Value {
    if let Some(text) = block.get_mut("text")
        && let Some(long) = text.as_str().filter(|text| text.len() > most)
    {
        *text = Value::String(truncate_middle(long, most));
    }
    block
}

/// A text with its middle left out, if it is too long.
fn truncate_middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let output = OutputCapture::new(most);
    output.push(text.as_bytes());
    let CapturedOutput { text, .. } = output.capture();
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn done(how: ToolTaskOutcome, said: &str) -> (Ending, String) {
        let done = FinishedTool {
            place: 0,
            elapsed: Duration::from_millis(3_140),
            effect: ToolEffect::Writes,
            outcome: how,
            output: said.to_owned(),
        };
        let (ending, json) = tool_result(done, 16);
        (ending, json.plain())
    }

    #[test]
    fn nothing_is_claimed_that_is_not_known() {
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
        for (how, said, ending, words) in table {
            assert_eq!(done(how, said), (ending, words.to_owned()));
        }
        assert_eq!(
            denied_result(Some("later")).plain(),
            "[foxwedge] Denied by the user: this call did not run. They said: later"
        );
    }
}
