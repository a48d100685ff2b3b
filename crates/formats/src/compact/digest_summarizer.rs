//! A summarizer without a model. It quotes the user's requests and the model's conclusions, and
//! lists which tools ran on which files and what failed.

use std::collections::BTreeMap;

use foxwedge_core::PlaceholderLanguage;

use super::{
    plain_text::truncate,
    shortened_text::result_text,
    summary::{HistorySummarizer, SummaryRequest},
    tool_hints,
};
use crate::model::{CallPairs, ContentPart, ModelRole, PartIndex};

/// The summarizer that is always available.
#[derive(Clone, Copy, Debug, Default)]
pub struct DigestSummarizer;

impl HistorySummarizer for DigestSummarizer {
    fn name(&self) -> &str {
        "digest"
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let notes = DigestNotes::of(request);
        // Shortens the quotes until the summary fits. Estimates the budget at three bytes per
        // token.
        let max_bytes = usize::try_from(request.max_tokens.saturating_mul(3)).unwrap_or(usize::MAX);
        let mut quote_bytes = 600;
        loop {
            let summary = notes.render(quote_bytes, request.language);
            if summary.len() <= max_bytes || quote_bytes < 40 {
                return Ok(truncate(&summary, max_bytes));
            }
            quote_bytes /= 2;
        }
    }
}

#[derive(Default)]
struct DigestNotes<'r> {
    requests: Vec<&'r str>,
    conclusions: Vec<&'r str>,
    tools: BTreeMap<&'r str, usize>,
    files: Vec<String>,
    failed: Vec<(String, String)>,
}

impl<'r> DigestNotes<'r> {
    fn of(request: &'r SummaryRequest<'_>) -> DigestNotes<'r> {
        let mut notes = DigestNotes::default();
        let pairs = CallPairs::of(&request.history);
        let name_of = |at: PartIndex| {
            let message = request.history.messages.get(pairs.partner(at)?.message)?;
            match message.parts.get(pairs.partner(at)?.part)?.content() {
                ContentPart::ToolCall(call) => Some(&*call.name),
                _ => None,
            }
        };
        for (message_index, message) in request.history.messages.iter().enumerate() {
            for (part_index, part) in message.parts.iter().enumerate() {
                match (message.role, part.content()) {
                    (_, ContentPart::Text(text)) if text.trim().is_empty() => {}
                    (ModelRole::User, ContentPart::Text(text)) => notes.requests.push(text),
                    (ModelRole::Assistant, ContentPart::Text(text)) => notes.conclusions.push(text),
                    (_, ContentPart::ToolCall(call)) => {
                        *notes.tools.entry(&call.name).or_default() += 1;
                        if let Some(file) = tool_hints::file_argument(&call.arguments)
                            && !notes.files.contains(&file.as_ref().to_owned())
                            && notes.files.len() < MAX_FILES
                        {
                            notes.files.push(file.into_owned());
                        }
                    }
                    (_, ContentPart::ToolResult(result)) if tool_hints::is_failed(result) => {
                        let name = name_of(PartIndex { message: message_index, part: part_index })
                            .unwrap_or("a call")
                            .to_owned();
                        notes.failed.push((name, result_text(result).into_owned()));
                    }
                    _ => {}
                }
            }
        }
        notes
    }

    fn render(&self, quote_bytes: usize, language: PlaceholderLanguage) -> String {
        let [requests_title, conclusions_title, tools_title, files_title, failures_title] =
            match language {
                PlaceholderLanguage::English => [
                    "The user said",
                    "The assistant said",
                    "Tools that ran",
                    "Files they were about",
                    "Failures",
                ],
                PlaceholderLanguage::Chinese => {
                    ["用户说", "助手说", "执行过的工具", "涉及的文件", "失败"]
                }
            };
        let mut out = String::new();
        let line = |text: &str| truncate(text, quote_bytes).replace('\n', "\n  ");
        write_section(&mut out, requests_title, self.requests.iter().map(|text| line(text)));
        // The latest conclusions cover the steps before them.
        let recent = self.conclusions.len().saturating_sub(MAX_QUOTES);
        let conclusions = self.conclusions.iter().skip(recent).map(|text| line(text));
        write_section(&mut out, conclusions_title, conclusions);
        let tools = self.tools.iter().map(|(tool, count)| format!("{tool} × {count}"));
        write_section(&mut out, tools_title, tools);
        write_section(
            &mut out,
            files_title,
            self.files.iter().map(|file| truncate(file, quote_bytes)),
        );
        let recent = self.failed.len().saturating_sub(MAX_QUOTES);
        let failed = self.failed.iter().skip(recent);
        let failed = failed
            .map(|(tool, text)| format!("{tool}: {}", line(&truncate(text, quote_bytes / 2))));
        write_section(&mut out, failures_title, failed);
        out
    }
}

/// Maximum number of files in the list.
const MAX_FILES: usize = 100;
/// Maximum number of quoted conclusions and failures.
const MAX_QUOTES: usize = 12;

fn write_section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(title);
    out.push_str(":\n");
    for line in lines {
        out.push_str("- ");
        out.push_str(&line);
        out.push('\n');
    }
}
