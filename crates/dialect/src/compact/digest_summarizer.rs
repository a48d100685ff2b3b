//! A summary that needs no model: what the user asked, what was concluded, which tools ran on what,
//! and what failed. It quotes; it understands nothing.

use std::collections::BTreeMap;

use foxwedge_core::PlaceholderLanguage;

use super::{
    plain_text::truncate,
    shortened_text::result_text,
    summary::{HistorySummarizer, SummaryRequest},
    tool_hints,
};
use crate::model::{CallPairs, ContentPart, ModelRole, PartIndex};

/// The summarizer that is always there.
#[derive(Clone, Copy, Debug, Default)]
pub struct DigestSummarizer;

impl HistorySummarizer for DigestSummarizer {
    fn name(&self) -> &str {
        "digest"
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let notes = DigestNotes::of(request);
        // Shorter and shorter quotes, until it fits; four bytes a token are near enough here.
        let most = usize::try_from(request.max_tokens.saturating_mul(3)).unwrap_or(usize::MAX);
        let mut quote = 600;
        loop {
            let told = notes.render(quote, request.language);
            if told.len() <= most || quote < 40 {
                return Ok(truncate(&told, most));
            }
            quote /= 2;
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
            let said = request.history.messages.get(pairs.partner(at)?.message)?;
            match said.parts.get(pairs.partner(at)?.part)?.content() {
                ContentPart::ToolCall(call) => Some(&*call.name),
                _ => None,
            }
        };
        for (message, said) in request.history.messages.iter().enumerate() {
            for (part, one) in said.parts.iter().enumerate() {
                match (said.role, one.content()) {
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
                    (_, ContentPart::ToolResult(answer)) if tool_hints::is_failed(answer) => {
                        let name =
                            name_of(PartIndex { message, part }).unwrap_or("a call").to_owned();
                        notes.failed.push((name, result_text(answer).into_owned()));
                    }
                    _ => {}
                }
            }
        }
        notes
    }

    fn render(&self, quote: usize, language: PlaceholderLanguage) -> String {
        let [asked, said, ran, about, failures] = match language {
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
        let line = |text: &str| truncate(text, quote).replace('\n', "\n  ");
        write_section(&mut out, asked, self.requests.iter().map(|text| line(text)));
        // The latest conclusions stand for the way that led to them.
        let recent = self.conclusions.len().saturating_sub(MAX_QUOTES);
        let concluded = self.conclusions.iter().skip(recent).map(|text| line(text));
        write_section(&mut out, said, concluded);
        let tools = self.tools.iter().map(|(tool, count)| format!("{tool} × {count}"));
        write_section(&mut out, ran, tools);
        write_section(&mut out, about, self.files.iter().map(|file| truncate(file, quote)));
        let recent = self.failed.len().saturating_sub(MAX_QUOTES);
        let failed = self.failed.iter().skip(recent);
        let failed =
            failed.map(|(tool, text)| format!("{tool}: {}", line(&truncate(text, quote / 2))));
        write_section(&mut out, failures, failed);
        out
    }
}

/// At most so many files are named.
const MAX_FILES: usize = 100;
/// At most so many conclusions and failures are quoted.
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
