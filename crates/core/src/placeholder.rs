//! The text of generated answers. It is stable: the same call always gets the same text, so prompt
//! caches survive a repeated repair. It never claims more than is known.

mod raw_strings;

pub(crate) use raw_strings::has_key;
use raw_strings::{split_string, unescape};

/// The language of generated text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlaceholderLanguage {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

/// What is known about a call that has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingAnswer {
    /// It never ran.
    NotStarted,
    /// It may have run.
    Interrupted,
    /// It may have run, and only reads: running it again does no harm.
    InterruptedReading,
    /// The user denied it.
    Denied,
    /// Not run, because an earlier call ended the turn.
    Skipped,
    /// It took too long.
    TimedOut,
    /// It ran, but its answer was lost.
    Lost,
}

/// The text of a placeholder answer.
pub fn placeholder_text(missing: MissingAnswer, language: PlaceholderLanguage) -> &'static str {
    match (language, missing) {
        (PlaceholderLanguage::English, MissingAnswer::NotStarted) => {
            "[foxwedge] Not started: this call never ran."
        }
        (PlaceholderLanguage::English, MissingAnswer::Interrupted) => {
            "[foxwedge] Interrupted: no answer was recorded. The call may have run; check before repeating it."
        }
        (PlaceholderLanguage::English, MissingAnswer::InterruptedReading) => {
            "[foxwedge] Interrupted: no answer was recorded. The call only reads; it can be repeated."
        }
        (PlaceholderLanguage::English, MissingAnswer::Denied) => {
            "[foxwedge] Denied by the user: this call did not run."
        }
        (PlaceholderLanguage::English, MissingAnswer::Skipped) => {
            "[foxwedge] Skipped: an earlier call ended the turn."
        }
        (PlaceholderLanguage::English, MissingAnswer::TimedOut) => {
            "[foxwedge] Timed out: the call may still have had an effect; check before repeating it."
        }
        (PlaceholderLanguage::English, MissingAnswer::Lost) => {
            "[foxwedge] Lost: the call ran, but its answer was not kept."
        }
        (PlaceholderLanguage::Chinese, MissingAnswer::NotStarted) => {
            "[foxwedge] 未开始：该调用从未执行。"
        }
        (PlaceholderLanguage::Chinese, MissingAnswer::Interrupted) => {
            "[foxwedge] 已中断：没有记录到结果。该调用可能已经执行，重复之前请先确认。"
        }
        (PlaceholderLanguage::Chinese, MissingAnswer::InterruptedReading) => {
            "[foxwedge] 已中断：没有记录到结果。该调用只读取数据，可以重新执行。"
        }
        (PlaceholderLanguage::Chinese, MissingAnswer::Denied) => {
            "[foxwedge] 用户拒绝：该调用没有执行。"
        }
        (PlaceholderLanguage::Chinese, MissingAnswer::Skipped) => {
            "[foxwedge] 已跳过：前面的调用结束了本轮。"
        }
        (PlaceholderLanguage::Chinese, MissingAnswer::TimedOut) => {
            "[foxwedge] 超时：该调用可能已经产生影响，重复之前请先确认。"
        }
        (PlaceholderLanguage::Chinese, MissingAnswer::Lost) => {
            "[foxwedge] 已丢失：调用已执行，但结果没有保存。"
        }
    }
}

/// Classifies an open call: well-known tools that only read may be repeated, everything else must
/// be checked first. A verb in a name proves nothing (`get_or_create`), so only whole names count.
pub fn classify_open_call(name: Option<&str>) -> MissingAnswer {
    const READ_ONLY_TOOLS: [&str; 24] = [
        "cat",
        "codebasesearch",
        "fetch",
        "find",
        "getweather",
        "glob",
        "grep",
        "greptool",
        "list",
        "listdir",
        "listdirectory",
        "listfiles",
        "ls",
        "read",
        "readfile",
        "readmanyfiles",
        "ripgrep",
        "search",
        "searchfilecontent",
        "searchfiles",
        "view",
        "viewfile",
        "webfetch",
        "websearch",
    ];
    let normalized: String = name
        .unwrap_or("")
        .chars()
        .take(32)
        .filter(|c| !matches!(c, '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if READ_ONLY_TOOLS.contains(&normalized.as_str()) {
        MissingAnswer::InterruptedReading
    } else {
        MissingAnswer::Interrupted
    }
}

/// Whether an answer's content (raw JSON) is a placeholder, of foxwedge or of a known agent: a real
/// answer is preferred. The content must be a single text that starts with placeholder text (it may
/// be there twice); a mention is not enough.
pub fn is_placeholder(raw: &str) -> bool {
    // Escapes can make a text six times as long.
    const MAX_BYTES: usize = 600;
    if raw.len() > MAX_BYTES * 6 {
        return false;
    }
    let mut texts = content_texts(raw);
    let Some(text) = texts.next() else { return false };
    text.len() <= MAX_BYTES && is_known_placeholder(&text) && texts.all(|other| other == text)
}

/// Whether agents and libraries write this text in place of a missing result.
fn is_known_placeholder(text: &str) -> bool {
    const PREFIXES: [&str; 13] = [
        "[foxwedge] ",
        // Claude Code.
        "[Request interrupted by user",
        "[Tool call interrupted",
        "[Tool result missing due to internal error]",
        "[Tool use interrupted]",
        // LiteLLM.
        "[System: Tool execution skipped/interrupted by user.",
        // opencode, Kilo, Roo Code.
        "[Tool execution was interrupted]",
        "Tool execution was interrupted",
        "Tool execution aborted",
        "Tool execution was skipped due to",
        "Task was interrupted before this tool call",
        "Context condensation triggered. Tool execution deferred.",
        // Crush and others.
        "No result was recorded for this tool call",
    ];
    // pi; Codex.
    const EXACT: [&str; 2] = ["No result provided", "aborted"];
    // deepagents: the name and the id of the call are in between.
    let superseded = text.starts_with("Tool call ")
        && text.ends_with("was cancelled - another message came in before it could be completed.");
    superseded || EXACT.contains(&text) || PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// The non-empty texts in an answer's content (raw JSON): strings that are neither keys nor types.
fn content_texts(raw: &str) -> impl Iterator<Item = String> {
    let mut rest = raw;
    let mut is_type_value = false;
    std::iter::from_fn(move || {
        loop {
            let (_, inside) = rest.split_once('"')?;
            let (string, rest_after) = split_string(inside)?;
            rest = rest_after;
            if rest.trim_start().starts_with(':') {
                is_type_value = unescape(string) == "type";
            } else if !std::mem::take(&mut is_type_value) && !string.is_empty() {
                return Some(unescape(string));
            }
        }
    })
}

/// Whether the content of an answer (raw JSON) is null, or a list or a text with nothing but white
/// space.
pub(crate) fn is_blank(raw: &str) -> bool {
    // Blank content is never longer in practice.
    const MAX_BYTES: usize = 200;
    const KEYS: [&str; 4] = ["type", "text", "output", "result"];
    if raw.len() > MAX_BYTES || !raw.contains(['[', '"']) {
        return raw == "null";
    }
    let mut rest = raw;
    let mut is_type_value = false;
    while let Some((before, inside)) = rest.split_once('"') {
        let Some((string, rest_after)) = split_string(inside) else { return false };
        let is_key = rest_after.trim_start().starts_with(':');
        let text = unescape(string);
        let blank = match is_key {
            true => KEYS.contains(&text.as_str()),
            false => is_type_value || text.trim().is_empty(),
        };
        if !blank || before.contains(char::is_alphanumeric) {
            return false;
        }
        is_type_value = is_key && text == "type";
        rest = rest_after;
    }
    !rest.contains(char::is_alphanumeric)
}

/// Text of an assistant message between an answer and a user message, where a provider requires
/// one.
pub(crate) fn bridge_text(language: PlaceholderLanguage) -> &'static str {
    match language {
        PlaceholderLanguage::English => "Understood.",
        PlaceholderLanguage::Chinese => "好的。",
    }
}

/// Text of a user message inserted before a history that starts with the assistant.
pub(crate) fn opening_text(language: PlaceholderLanguage) -> &'static str {
    match language {
        PlaceholderLanguage::English => "(The beginning of this conversation is not available.)",
        PlaceholderLanguage::Chinese => "（本次对话的开头不可用。）",
    }
}

/// Text of a user message appended to a history that ends with the assistant.
pub(crate) fn continue_text(language: PlaceholderLanguage) -> &'static str {
    match language {
        PlaceholderLanguage::English => "Continue.",
        PlaceholderLanguage::Chinese => "请继续。",
    }
}

/// Replaces the content of an empty user message.
pub(crate) fn empty_message_text(language: PlaceholderLanguage) -> &'static str {
    match language {
        PlaceholderLanguage::English => "(empty message)",
        PlaceholderLanguage::Chinese => "（空消息）",
    }
}

/// Replaces the content of an empty answer.
pub(crate) fn no_output_text(language: PlaceholderLanguage) -> &'static str {
    match language {
        PlaceholderLanguage::English => "(no output)",
        PlaceholderLanguage::Chinese => "（无输出）",
    }
}

/// Heading of a quoted answer whose call is not in the history.
pub fn orphan_heading(id: Option<&str>, language: PlaceholderLanguage) -> String {
    match (language, id) {
        (PlaceholderLanguage::English, Some(id)) => {
            format!("[foxwedge] Answer to tool call {id}, which is not in this history:")
        }
        (PlaceholderLanguage::English, None) => {
            "[foxwedge] Answer to a tool call that is not in this history:".to_owned()
        }
        (PlaceholderLanguage::Chinese, Some(id)) => {
            format!("[foxwedge] 工具调用 {id} 的结果（该调用不在历史中）：")
        }
        (PlaceholderLanguage::Chinese, None) => {
            "[foxwedge] 某个工具调用的结果（该调用不在历史中）：".to_owned()
        }
    }
}

/// Heading of a quoted answer that names its tool and no call.
pub fn orphan_tool_heading(name: &str, language: PlaceholderLanguage) -> String {
    match language {
        PlaceholderLanguage::English => {
            format!("[foxwedge] Answer of the tool {name}, whose call is not in this history:")
        }
        PlaceholderLanguage::Chinese => {
            format!("[foxwedge] 工具 {name} 的结果（其调用不在历史中）：")
        }
    }
}

/// Heading of a quoted second answer.
pub(crate) fn second_answer_heading(id: Option<&str>, language: PlaceholderLanguage) -> String {
    let id = id.unwrap_or("?");
    match language {
        PlaceholderLanguage::English => format!("[foxwedge] Another answer to tool call {id}:"),
        PlaceholderLanguage::Chinese => format!("[foxwedge] 工具调用 {id} 的另一个结果："),
    }
}

/// Heading of media that was moved out of an answer.
pub fn media_heading(id: Option<&str>, language: PlaceholderLanguage) -> String {
    let id = id.unwrap_or("?");
    match language {
        PlaceholderLanguage::English => {
            format!("[foxwedge] Media from the answer to tool call {id}:")
        }
        PlaceholderLanguage::Chinese => format!("[foxwedge] 工具调用 {id} 的结果中的媒体："),
    }
}

/// The call id in a text written by [`media_heading`], in either language.
pub fn media_heading_id(text: &str) -> Option<&str> {
    let text = text.strip_prefix("[foxwedge] ")?;
    let english = || text.strip_prefix("Media from the answer to tool call ")?.strip_suffix(':');
    let chinese = || text.strip_prefix("工具调用 ")?.strip_suffix(" 的结果中的媒体：");
    english().or_else(chinese)
}

/// Whether a text (raw JSON) starts like [`media_heading`].
pub(crate) fn is_media_heading(raw: &str) -> bool {
    let text = strip_to_own_text(raw);
    text.starts_with("[foxwedge] Media from the answer")
        || text.starts_with("[foxwedge] 工具调用") && text.contains("的结果中的媒体")
}

/// Whether a text (raw JSON) starts with a foxwedge heading in a user message: what follows came
/// from a tool, not from the user.
pub(crate) fn is_tool_note(raw: &str) -> bool {
    const HEADINGS: [&str; 7] = [
        "[foxwedge] Media from the answer",
        "[foxwedge] Answer to ",
        "[foxwedge] Answer of ",
        "[foxwedge] Another answer to ",
        "[foxwedge] 工具调用",
        "[foxwedge] 工具 ",
        "[foxwedge] 某个工具调用",
    ];
    let text = strip_to_own_text(raw);
    HEADINGS.iter().any(|heading| text.starts_with(heading))
}

/// Whether a text (raw JSON) starts like the notes that agents add to user messages.
pub(crate) fn is_agent_reminder(raw: &str) -> bool {
    const NOTES: [&str; 2] = ["<system-reminder>", "[Request interrupted by user"];
    NOTES.iter().any(|note| !strip_to_words(raw, note).is_empty())
}

/// The text of a string, or of a small object around one, if it starts with the foxwedge marker.
fn strip_to_own_text(raw: &str) -> &str {
    strip_to_words(raw, "[foxwedge] ")
}

/// The text of a string, or of a small object around one, if it starts with `prefix`; else empty.
fn strip_to_words<'r>(raw: &'r str, prefix: &str) -> &'r str {
    let Some(at) = find_near_start(raw, prefix) else { return "" };
    let (before, text) = raw.split_at(at);
    let string = before == "\"";
    let field = before.starts_with('{') && before.ends_with('"') && before.contains("text");
    let alone = field && before.trim_end_matches('"').trim_end().ends_with(':');
    if string || alone { text } else { "" }
}

/// The position of `prefix`, if it is near the start.
fn find_near_start(raw: &str, prefix: &str) -> Option<usize> {
    const MAX_DISTANCE: usize = 64;
    let mut end = raw.len().min(MAX_DISTANCE);
    while !raw.is_char_boundary(end) {
        end -= 1;
    }
    raw.get(..end)?.find(prefix)
}

/// The text of a summary that replaces `count` messages. Its end is marked, because formats that
/// join user messages would hide where the user continues.
pub fn summary_text(text: &str, count: usize, language: PlaceholderLanguage) -> String {
    let text = text.trim();
    match language {
        PlaceholderLanguage::English => {
            format!("[foxwedge] Summary of {count} earlier messages:\n\n{text}\n\n{SUMMARY_END}")
        }
        PlaceholderLanguage::Chinese => {
            format!("[foxwedge] 此前 {count} 条消息的摘要：\n\n{text}\n\n{SUMMARY_END_CHINESE}")
        }
    }
}

/// The text of a summary that another program wrote of messages that are not in the history.
pub fn earlier_summary_text(text: &str) -> String {
    format!("[foxwedge] Summary of earlier messages:\n\n{}\n\n{SUMMARY_END}", text.trim())
}

const SUMMARY_END: &str = "[foxwedge] End of summary.";
const SUMMARY_END_CHINESE: &str = "[foxwedge] 摘要结束。";

/// Whether a text (raw JSON) is a [`summary_text`] and nothing else.
pub(crate) fn is_summary(raw: &str) -> bool {
    let text = strip_to_own_text(raw);
    let end = raw.trim_end_matches(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '}'));
    (text.starts_with("[foxwedge] Summary of ") || text.starts_with("[foxwedge] 此前 "))
        && (end.ends_with(SUMMARY_END) || end.ends_with(SUMMARY_END_CHINESE))
}

/// Text left in an answer whose media was moved out.
pub(crate) fn media_pointer_text(language: PlaceholderLanguage) -> &'static str {
    match language {
        PlaceholderLanguage::English => "(see the following user message)",
        PlaceholderLanguage::Chinese => "（见后面的用户消息）",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_heading_names_its_call() {
        for language in [PlaceholderLanguage::English, PlaceholderLanguage::Chinese] {
            let heading = media_heading(Some("call_1"), language);
            assert_eq!(media_heading_id(&heading), Some("call_1"), "{heading}");
            assert_eq!(media_heading_id(&format!("see: {heading}")), None);
        }
    }

    #[test]
    fn only_whole_names_of_reading_tools_may_be_repeated() {
        for name in ["read_file", "Read", "readFile", "Grep", "list_dir", "WebSearch"] {
            assert_eq!(classify_open_call(Some(name)), MissingAnswer::InterruptedReading, "{name}");
        }
        let others =
            ["search_and_replace", "get_or_create_user", "find_and_kill", "getPaid", "bash", ""];
        for name in others {
            assert_eq!(classify_open_call(Some(name)), MissingAnswer::Interrupted, "{name}");
        }
        assert_eq!(classify_open_call(None), MissingAnswer::Interrupted);
    }

    #[test]
    fn a_text_that_mentions_a_placeholder_is_not_one() {
        let table = [
            (r#""[foxwedge] Interrupted: no answer was recorded.""#, true),
            (r#"[{"type":"text","text":"[Tool execution was interrupted]"}]"#, true),
            (r#"{"error":"No result provided"}"#, true),
            (r#""aborted""#, true),
            (r#"[{"type":"text","text":"aborted","text":"aborted"}]"#, true),
            (r#"[{"type":"text","text":"aborted","text":"7"}]"#, false),
            (r#"  "[Tool use interrupted]" "#, true),
            (r#"[{"text":"\u005bTool use\u0020interrupted]","type":"text"}]"#, true),
            (
                r#""[System: Tool execution skipped\/interrupted by user. No result provided for tool 'f'.]""#,
                true,
            ),
            (
                r#""Tool call f with id \"x\" was cancelled - another message came in before it could be completed.""#,
                true,
            ),
            (
                r#"[{"stdout":"Tool execution aborted","stderr":"","outcome":{"type":"exit"}}]"#,
                true,
            ),
            (r#""No result provided by the index for `fox`""#, false),
            (r#"[{"type":"text","text":"No result provided"},{"type":"text","text":"7"}]"#, false),
            (r#"{"No result provided":"7"}"#, false),
            (
                r#""the call was cancelled - another message came in before it could be completed.""#,
                false,
            ),
            (r#""grep: run.rs:3: Tool execution aborted""#, false),
            (r#"[{"type":"text","text":"the log says: Tool execution aborted"}]"#, false),
            (r#""the run was aborted""#, false),
            ("", false),
        ];
        for (raw, expected) in table {
            assert_eq!(is_placeholder(raw), expected, "{raw}");
        }
    }
}
