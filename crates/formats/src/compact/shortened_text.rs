//! Texts that replace shortened tool results. The texts are stable: the same result is always
//! shortened to the same bytes.

use std::borrow::Cow;

use foxwedge_core::{
    Draft, PlaceholderLanguage,
    compact::{AnswerRemainder, CompactionPlan, ShrunkAnswer, TokenCounter},
};

use super::{call_clues::tool_results, token_weights::ENVELOPE};
use crate::model::{ContentPart, ToolResultPart, decode_message};

/// Maximum cost of a note, in tokens of the counter.
pub(super) fn note_cost(counter: &mut dyn TokenCounter, language: PlaceholderLanguage) -> u32 {
    const MANY: u64 = 9_999_999;
    let notes =
        [cleared_note(MANY, language), elided_note(MANY, language), media_note(99, language)];
    let max = notes.iter().map(|note| counter.count_text(note)).max().unwrap_or(0);
    // The envelope of the result, and one token where two texts meet.
    max.saturating_add(ENVELOPE + 2)
}

/// The new text of every shortened result, in the order of the plan.
pub(super) fn shortened_texts(
    draft: &Draft<'_>,
    plan: &CompactionPlan,
    language: PlaceholderLanguage,
) -> Vec<String> {
    plan.shrunk.iter().map(|shrunk| shortened_text(draft, shrunk, language)).collect()
}

fn shortened_text(
    draft: &Draft<'_>,
    shrunk: &ShrunkAnswer,
    language: PlaceholderLanguage,
) -> String {
    let Some(message) = draft.messages.get(shrunk.message) else { return String::new() };
    // Index of the result among the results of its message.
    let before = draft.parts.slice(message.range().start..shrunk.part);
    let index = before
        .iter()
        .filter(|part| matches!(part.kind, foxwedge_core::PartKind::Answer(_)))
        .count();
    let decoded = decode_message(message.span.of(draft.source), draft.format).ok();
    let result = decoded.as_ref().and_then(|decoded| tool_results(decoded).nth(index));
    let Some(result) = result else { return cleared_note(shrunk.tokens, language) };
    match shrunk.keep {
        AnswerRemainder::Text => {
            let text = result_text(result);
            let note = media_note(count_media(result), language);
            if text.is_empty() { note } else { format!("{text}\n{note}") }
        }
        AnswerRemainder::Ends(tokens) => keep_ends(result, tokens, shrunk.tokens, language),
        AnswerRemainder::Note => cleared_note(shrunk.tokens, language),
    }
}

/// Keeps the start and the end of a result.
fn keep_ends(
    result: &ToolResultPart<'_>,
    tokens: u32,
    total: u64,
    language: PlaceholderLanguage,
) -> String {
    let text = result_text(result);
    let budget = proportion(text.len(), u64::from(tokens), total);
    if budget >= text.len() {
        return media_note(count_media(result), language) + "\n" + &text;
    }
    // The start shows what it is, the end how it finished.
    let head = cut_before(&text, budget * 2 / 3);
    let tail = cut_after(&text, text.len() - (budget - budget * 2 / 3));
    let omitted = total.saturating_sub(u64::from(tokens));
    format!(
        "{}\n{}\n{}",
        text.get(..head).unwrap_or(""),
        elided_note(omitted, language),
        text.get(tail..).unwrap_or("")
    )
}

/// `bytes × part ÷ all`, without overflow.
fn proportion(bytes: usize, part: u64, total: u64) -> usize {
    let bytes_kept = bytes as u128 * u128::from(part) / u128::from(total.max(1));
    usize::try_from(bytes_kept).unwrap_or(usize::MAX)
}

/// The last position at or before `at` where a text can be cut; at a line end if one is near.
fn cut_before(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let line = text.get(..at).and_then(|head| head.rfind('\n'));
    line.filter(|line| at - line <= at / 4).unwrap_or(at)
}

/// The first position at or after `at` where a text can be cut; at a line start if one is near.
fn cut_after(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let rest = text.len() - at;
    let line = text.get(at..).and_then(|tail| tail.find('\n'));
    line.filter(|line| *line <= rest / 4).map_or(at, |line| at + line + 1)
}

/// All text of a tool result.
pub(super) fn result_text<'s>(result: &'s ToolResultPart<'_>) -> Cow<'s, str> {
    let mut texts = result.parts.iter().filter_map(|part| match part.content() {
        ContentPart::Text(text) => Some(&**text),
        ContentPart::Unknown(other) => Some(&*other.json),
        _ => None,
    });
    let Some(first) = texts.next() else { return Cow::Borrowed("") };
    match texts.next() {
        None => Cow::Borrowed(first),
        Some(second) => {
            let mut joined = format!("{first}\n{second}");
            texts.for_each(|text| {
                joined.push('\n');
                joined.push_str(text);
            });
            Cow::Owned(joined)
        }
    }
}

fn count_media(result: &ToolResultPart<'_>) -> usize {
    result.parts.iter().filter(|part| matches!(part.content(), ContentPart::Media(_))).count()
}

/// Replaces a cleared tool result.
fn cleared_note(tokens: u64, language: PlaceholderLanguage) -> String {
    match language {
        PlaceholderLanguage::English => format!(
            "[foxwedge] The call ran; its answer of about {tokens} tokens was cleared to save space."
        ),
        PlaceholderLanguage::Chinese => {
            format!("[foxwedge] 调用已执行；为节省空间，约 {tokens} 个 token 的结果已清除。")
        }
    }
}

/// Replaces the middle of a tool result.
fn elided_note(tokens: u64, language: PlaceholderLanguage) -> String {
    match language {
        PlaceholderLanguage::English => {
            format!("[foxwedge] … about {tokens} tokens were left out here to save space …")
        }
        PlaceholderLanguage::Chinese => {
            format!("[foxwedge] ……为节省空间，此处省略约 {tokens} 个 token……")
        }
    }
}

/// Replaces the images and files of a tool result.
fn media_note(count: usize, language: PlaceholderLanguage) -> String {
    match language {
        PlaceholderLanguage::English => {
            format!("[foxwedge] Images and files were left out here to save space: {count}")
        }
        PlaceholderLanguage::Chinese => {
            format!("[foxwedge] 为节省空间，此处省略图片和文件：{count}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelPart;

    fn answer(text: &str) -> ToolResultPart<'_> {
        let parts = vec![ModelPart::new(ContentPart::Text(text.into()))];
        ToolResultPart {
            id: None,
            name: None,
            family: foxwedge_core::CallFamily::Function,
            parts,
            error: false,
        }
    }

    #[test]
    fn ends_are_cut_at_character_boundaries_and_at_near_line_breaks() {
        let long = "字".repeat(900);
        let left = keep_ends(&answer(&long), 30, 900, PlaceholderLanguage::English);
        assert!(left.starts_with('字') && left.ends_with('字'), "{left}");
        assert!(left.contains("about 870 tokens"), "{left}");
        let lines: String = (0..200).map(|line| format!("line {line}\n")).collect();
        let left = keep_ends(&answer(&lines), 40, 600, PlaceholderLanguage::English);
        assert!(left.lines().all(|line| line.starts_with("line ") || line.contains("[foxwedge]")));
        assert!(left.starts_with("line 0\n") && left.trim_end().ends_with("line 199"), "{left}");
    }
}
