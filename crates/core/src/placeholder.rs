//! The words of invented answers. They are stable: the same call gets the same words every time,
//! so prompt caches survive a repeated repair. They never claim more than is known.

/// The language of invented text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

/// What is known about a call that has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// It never ran.
    NotStarted,
    /// It may have run.
    Interrupted,
    /// It may have run, and only reads: running it again does no harm.
    InterruptedReading,
    /// The user said no.
    Denied,
    /// Left out, because an earlier call of the turn ended the work.
    Skipped,
    /// It took too long.
    TimedOut,
    /// It ran, and its answer is gone.
    Lost,
}

/// The words of a placeholder answer.
pub fn words(missing: Missing, language: Language) -> &'static str {
    match (language, missing) {
        (Language::English, Missing::NotStarted) => "[foxwedge] Not started: this call never ran.",
        (Language::English, Missing::Interrupted) => {
            "[foxwedge] Interrupted: no answer was recorded. The call may have run; check before repeating it."
        }
        (Language::English, Missing::InterruptedReading) => {
            "[foxwedge] Interrupted: no answer was recorded. The call only reads; it can be repeated."
        }
        (Language::English, Missing::Denied) => {
            "[foxwedge] Denied by the user: this call did not run."
        }
        (Language::English, Missing::Skipped) => {
            "[foxwedge] Skipped: an earlier call ended the turn."
        }
        (Language::English, Missing::TimedOut) => {
            "[foxwedge] Timed out: the call may still have had an effect; check before repeating it."
        }
        (Language::English, Missing::Lost) => {
            "[foxwedge] Lost: the call ran, but its answer was not kept."
        }
        (Language::Chinese, Missing::NotStarted) => "[foxwedge] 未开始：该调用从未执行。",
        (Language::Chinese, Missing::Interrupted) => {
            "[foxwedge] 已中断：没有记录到结果。该调用可能已经执行，重复之前请先确认。"
        }
        (Language::Chinese, Missing::InterruptedReading) => {
            "[foxwedge] 已中断：没有记录到结果。该调用只读取数据，可以重新执行。"
        }
        (Language::Chinese, Missing::Denied) => "[foxwedge] 用户拒绝：该调用没有执行。",
        (Language::Chinese, Missing::Skipped) => "[foxwedge] 已跳过：前面的调用结束了本轮。",
        (Language::Chinese, Missing::TimedOut) => {
            "[foxwedge] 超时：该调用可能已经产生影响，重复之前请先确认。"
        }
        (Language::Chinese, Missing::Lost) => "[foxwedge] 已丢失：调用已执行，但结果没有保存。",
    }
}

/// What is known of a call that a history leaves open: tools whose name says that they only read
/// may be repeated, everything else has to be checked first.
pub(crate) fn for_tool(name: Option<&str>) -> Missing {
    const READING: [&str; 11] =
        ["read", "list", "ls", "get", "search", "grep", "glob", "find", "view", "fetch", "cat"];
    let Some(name) = name else { return Missing::Interrupted };
    let lower = name.to_ascii_lowercase();
    let first = lower.split(['_', '-', '.', ':', ' ']).next().unwrap_or("");
    let plain = READING.contains(&first);
    let camel = ["read", "list", "get", "search"].iter().any(|verb| {
        lower.starts_with(verb)
            && name.as_bytes().get(verb.len()).is_some_and(u8::is_ascii_uppercase)
    });
    if plain || camel { Missing::InterruptedReading } else { Missing::Interrupted }
}

/// Whether an answer's content (raw JSON) is a placeholder, ours or one that known agents write:
/// a real answer beats it. Mentioning such words is not enough: the text has to begin with them
/// and hold little else.
pub fn is_placeholder(raw: &str) -> bool {
    const LONGEST: usize = 600;
    const KNOWN: [&str; 9] = [
        "[foxwedge] ",
        "[Tool execution was interrupted]",
        "[Tool call interrupted",
        "[Request interrupted by user",
        "No result provided",
        "Tool execution was interrupted",
        "Tool execution aborted",
        "Task was interrupted before this tool call",
        "Context condensation triggered. Tool execution deferred.",
    ];
    if raw == "\"aborted\"" {
        return true;
    }
    // The first string that is neither a key nor a type is what the answer says.
    let says = raw.split('"').skip(1).step_by(2).find(|text| !is_field(text)).unwrap_or("");
    raw.len() <= LONGEST && KNOWN.iter().any(|words| says.starts_with(words))
}

/// Words of the formats themselves, in front of what an answer says.
fn is_field(text: &str) -> bool {
    matches!(
        text,
        "type" | "text" | "error" | "output" | "result" | "content" | "input_text" | "output_text"
    )
}

/// Text put between an answer and a user message where a provider wants an assistant in between.
pub(crate) fn bridge(language: Language) -> &'static str {
    match language {
        Language::English => "Understood.",
        Language::Chinese => "好的。",
    }
}

/// Text of a user message put in front of a history that starts with the assistant.
pub(crate) fn opening(language: Language) -> &'static str {
    match language {
        Language::English => "(The beginning of this conversation is not available.)",
        Language::Chinese => "（本次对话的开头不可用。）",
    }
}

/// Text of a user message put behind a history that ends with the assistant.
pub(crate) fn onward(language: Language) -> &'static str {
    match language {
        Language::English => "Continue.",
        Language::Chinese => "请继续。",
    }
}

/// Stands in for an answer that says nothing.
pub(crate) fn no_output(language: Language) -> &'static str {
    match language {
        Language::English => "(no output)",
        Language::Chinese => "（无输出）",
    }
}

/// Heads a quoted answer whose call is not in the history.
pub(crate) fn quote(id: Option<&str>, language: Language) -> String {
    match (language, id) {
        (Language::English, Some(id)) => {
            format!("[foxwedge] Answer to tool call {id}, which is not in this history:")
        }
        (Language::English, None) => {
            "[foxwedge] Answer to a tool call that is not in this history:".to_owned()
        }
        (Language::Chinese, Some(id)) => {
            format!("[foxwedge] 对工具调用 {id} 的结果，该调用不在历史中：")
        }
        (Language::Chinese, None) => "[foxwedge] 对不在历史中的工具调用的结果：".to_owned(),
    }
}

/// Heads a quoted second answer.
pub(crate) fn second(id: Option<&str>, language: Language) -> String {
    let id = id.unwrap_or("?");
    match language {
        Language::English => format!("[foxwedge] Another answer to tool call {id}:"),
        Language::Chinese => format!("[foxwedge] 工具调用 {id} 的另一个结果："),
    }
}

/// Heads media that was moved out of an answer.
pub(crate) fn media(id: Option<&str>, language: Language) -> String {
    let id = id.unwrap_or("?");
    match language {
        Language::English => format!("[foxwedge] Media from the answer to tool call {id}:"),
        Language::Chinese => format!("[foxwedge] 工具调用 {id} 的结果中的媒体："),
    }
}

/// Left in an answer whose media was moved out.
pub(crate) fn media_pointer(language: Language) -> &'static str {
    match language {
        Language::English => "(see the following user message)",
        Language::Chinese => "（见后面的用户消息）",
    }
}
