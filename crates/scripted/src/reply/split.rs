//! Splits the texts of a stream so that they arrive word by word.

use foxwedge_core::Format;
use serde_json::{Value, json};

/// Characters of arguments in one delta.
const ARGUMENTS: usize = 12;

/// The frames of a stream, each with its blank line. Long texts are split into several frames.
pub(super) fn split_frames(format: Format, text: &str) -> Vec<String> {
    let mut frames = Vec::new();
    for frame in text.split_inclusive("\n\n") {
        match split_frame(format, frame) {
            Some(several) => frames.extend(several),
            None => frames.push(frame.to_owned()),
        }
    }
    match format {
        Format::OpenaiResponses => renumber_events(&mut frames),
        Format::Gemini => merge_last_frame(&mut frames),
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock | Format::GeminiInteractions => {}
    }
    frames
}

/// The path to the text of a frame that may be split.
fn text_pointer(format: Format, data: &Value) -> Option<String> {
    let is_text = |pointer: &&str| data.pointer(pointer).is_some_and(Value::is_string);
    let candidates: &[&str] = match format {
        Format::OpenaiChat => &[
            "/choices/0/delta/content",
            "/choices/0/delta/refusal",
            "/choices/0/delta/reasoning_content",
            "/choices/0/delta/tool_calls/0/function/arguments",
        ],
        Format::OpenaiResponses => {
            let kind = data.get("type")?.as_str()?;
            if kind.ends_with(".delta") { &["/delta"] } else { &[] }
        }
        Format::Anthropic => &["/delta/text", "/delta/partial_json", "/delta/thinking"],
        Format::Gemini => &["/candidates/0/content/parts/0/text"],
        Format::GeminiInteractions => &["/delta/text", "/delta/arguments", "/delta/content/text"],
        Format::Bedrock => &[],
    };
    candidates.iter().find(|pointer| is_text(pointer)).map(|pointer| (*pointer).to_owned())
}

fn split_frame(format: Format, frame: &str) -> Option<Vec<String>> {
    let (head, line) = frame.rsplit_once("data: ")?;
    let data: Value = serde_json::from_str(line.trim_end()).ok()?;
    let place = text_pointer(format, &data)?;
    let text = data.pointer(&place)?.as_str()?;
    let arguments = ["arguments", "partial_json"].iter().any(|end| place.ends_with(end))
        || data.get("type").and_then(Value::as_str).is_some_and(|kind| kind.contains("arguments"));
    let deltas = if arguments { chunks(text) } else { words(text) };
    if deltas.len() < 2 {
        return None;
    }
    let mut frames = Vec::with_capacity(deltas.len());
    let mut data = data.clone();
    let last = deltas.len() - 1;
    for (index, delta) in deltas.iter().enumerate() {
        *data.pointer_mut(&place)? = json!(delta);
        if format == Format::Gemini {
            // Only the last frame has the stop reason.
            let mut data = data.clone();
            if index != last
                && let Some(candidate) =
                    data.pointer_mut("/candidates/0").and_then(Value::as_object_mut)
            {
                candidate.remove("finishReason");
            }
            frames.push(format!("{head}data: {data}\n\n"));
            continue;
        }
        frames.push(format!("{head}data: {data}\n\n"));
        if format == Format::OpenaiChat && index == 0 {
            remove_repeated_fields(&mut data);
        }
    }
    Some(frames)
}

/// Removes the fields that only the first Chat delta has.
fn remove_repeated_fields(data: &mut Value) {
    if let Some(delta) = data.pointer_mut("/choices/0/delta").and_then(Value::as_object_mut) {
        delta.remove("role");
    }
    let call = data.pointer_mut("/choices/0/delta/tool_calls/0");
    if let Some(call) = call.and_then(Value::as_object_mut) {
        call.remove("id");
        call.remove("type");
        if let Some(function) = call.get_mut("function").and_then(Value::as_object_mut) {
            function.remove("name");
        }
    }
}

/// Words with the white space after them.
fn words(text: &str) -> Vec<&str> {
    let mut deltas = Vec::new();
    let mut start = 0;
    let mut space = false;
    for (at, letter) in text.char_indices() {
        if space && !letter.is_whitespace() {
            deltas.extend(text.get(start..at));
            start = at;
        }
        space = letter.is_whitespace();
    }
    deltas.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    deltas
}

fn chunks(text: &str) -> Vec<&str> {
    let starts = text.char_indices().step_by(ARGUMENTS).map(|(at, _)| at);
    let mut ends: Vec<usize> = starts.collect();
    ends.push(text.len());
    ends.windows(2).filter_map(|pair| text.get(*pair.first()?..*pair.last()?)).collect()
}

/// Renumbers the events of a Responses stream.
fn renumber_events(frames: &mut [String]) {
    const KEY: &str = "\"sequence_number\":";
    let mut next = 0_u64;
    for frame in frames {
        let Some(at) = frame.find(KEY) else { continue };
        let start = at + KEY.len();
        let digits = frame
            .get(start..)
            .map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        frame.replace_range(start..start + digits, &next.to_string());
        next += 1;
    }
}

/// Google sends the finish reason with the last text. A separate frame would have an empty text,
/// which clients send back and judges refuse.
fn merge_last_frame(frames: &mut Vec<String>) {
    let [.., text_frame, end] = frames.as_slice() else { return };
    let data = |frame: &String| -> Option<Value> {
        serde_json::from_str(frame.split_once("data: ")?.1.trim_end()).ok()
    };
    let (Some(mut text_frame), Some(end)) = (data(text_frame), data(end)) else { return };
    let parts = end.pointer("/candidates/0/content/parts");
    if parts != Some(&json!([{"text": ""}])) {
        return;
    }
    for (at, key) in [("/candidates/0", "finishReason"), ("", "usageMetadata")] {
        let value = end.pointer(at).and_then(|it| it.get(key)).cloned();
        let into = text_frame.pointer_mut(at).and_then(Value::as_object_mut);
        if let (Some(value), Some(into)) = (value, into) {
            into.insert(key.to_owned(), value);
        }
    }
    frames.truncate(frames.len() - 2);
    frames.push(format!("data: {text_frame}\n\n"));
}
