//! Text that the engine writes. It is not part of the content of a document.

/// Texts for a message or a result that a provider requires to be non-empty.
const FILLERS: [&str; 13] = [
    "Understood.",
    "好的。",
    "(The beginning of this conversation is not available.)",
    "（本次对话的开头不可用。）",
    "Continue.",
    "请继续。",
    "(empty message)",
    "（空消息）",
    "(no output)",
    "（无输出）",
    "(see the following user message)",
    "（见后面的用户消息）",
    "(the media follows behind the answers)",
];

/// All other engine text begins like this.
const OURS: &str = "[foxwedge] ";

/// A text without engine lines, without blank lines, and trimmed.
pub(super) fn clean(text: &str) -> String {
    let ours = |line: &str| line.starts_with(OURS) || FILLERS.contains(&line.trim());
    let says = |line: &&str| !line.trim().is_empty() && !ours(line);
    let lines: Vec<&str> = text.lines().filter(says).collect();
    lines.join("\n").trim().to_owned()
}

/// The call that a heading names: the media after it belongs to the result of that call.
pub(super) fn heading(text: &str) -> Option<&str> {
    let line = text.lines().next()?.strip_prefix(OURS)?;
    let english = line.strip_prefix("Media from the answer to tool call ");
    let chinese = line.strip_prefix("工具调用 ");
    let english = english.and_then(|rest| rest.strip_suffix(':'));
    english.or_else(|| chinese.and_then(|rest| rest.strip_suffix(" 的结果中的媒体：")))
}
