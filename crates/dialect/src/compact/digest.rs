//! A summary that needs no model: what the user asked, what was concluded, which tools ran on what,
//! and what failed. It quotes; it understands nothing.

use std::collections::BTreeMap;

use foxwedge_core::Language;

use super::{
    hints,
    summary::{Summarizer, SummaryRequest},
    tell::cut,
    words::text,
};
use crate::canon::{At, Bit, Pairs, Speaker};

/// The summarizer that is always there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digest;

impl Summarizer for Digest {
    fn name(&self) -> &str {
        "digest"
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let notes = Notes::of(request);
        // Shorter and shorter quotes, until it fits; four bytes a token are near enough here.
        let most = usize::try_from(request.most.saturating_mul(3)).unwrap_or(usize::MAX);
        let mut quote = 600;
        loop {
            let told = notes.told(quote, request.language);
            if told.len() <= most || quote < 40 {
                return Ok(cut(&told, most));
            }
            quote /= 2;
        }
    }
}

#[derive(Default)]
struct Notes<'r> {
    asked: Vec<&'r str>,
    concluded: Vec<&'r str>,
    tools: BTreeMap<&'r str, usize>,
    files: Vec<String>,
    failed: Vec<(String, String)>,
}

impl<'r> Notes<'r> {
    fn of(request: &'r SummaryRequest<'_>) -> Notes<'r> {
        let mut notes = Notes::default();
        let pairs = Pairs::of(&request.history);
        let name_of = |at: At| {
            let said = request.history.messages.get(pairs.partner(at)?.message)?;
            match said.parts.get(pairs.partner(at)?.part)?.bit() {
                Bit::Call(call) => Some(&*call.name),
                _ => None,
            }
        };
        for (message, said) in request.history.messages.iter().enumerate() {
            for (part, one) in said.parts.iter().enumerate() {
                match (said.role, one.bit()) {
                    (_, Bit::Text(text)) if text.trim().is_empty() => {}
                    (Speaker::User, Bit::Text(text)) => notes.asked.push(text),
                    (Speaker::Assistant, Bit::Text(text)) => notes.concluded.push(text),
                    (_, Bit::Call(call)) => {
                        *notes.tools.entry(&call.name).or_default() += 1;
                        if let Some(file) = hints::file(&call.arguments)
                            && !notes.files.contains(&file.as_ref().to_owned())
                            && notes.files.len() < FILES
                        {
                            notes.files.push(file.into_owned());
                        }
                    }
                    (_, Bit::Answer(answer)) if hints::failed(answer) => {
                        let name = name_of(At { message, part }).unwrap_or("a call").to_owned();
                        notes.failed.push((name, text(answer).into_owned()));
                    }
                    _ => {}
                }
            }
        }
        notes
    }

    fn told(&self, quote: usize, language: Language) -> String {
        let [asked, said, ran, about, failures] = match language {
            Language::English => [
                "The user said",
                "The assistant said",
                "Tools that ran",
                "Files they were about",
                "Failures",
            ],
            Language::Chinese => ["用户说", "助手说", "执行过的工具", "涉及的文件", "失败"],
        };
        let mut out = String::new();
        let line = |text: &str| cut(text, quote).replace('\n', "\n  ");
        section(&mut out, asked, self.asked.iter().map(|text| line(text)));
        // The latest conclusions stand for the way that led to them.
        let recent = self.concluded.len().saturating_sub(CONCLUSIONS);
        let concluded = self.concluded.iter().skip(recent).map(|text| line(text));
        section(&mut out, said, concluded);
        let tools = self.tools.iter().map(|(tool, count)| format!("{tool} × {count}"));
        section(&mut out, ran, tools);
        section(&mut out, about, self.files.iter().map(|file| cut(file, quote)));
        let recent = self.failed.len().saturating_sub(CONCLUSIONS);
        let failed = self.failed.iter().skip(recent);
        let failed = failed.map(|(tool, text)| format!("{tool}: {}", line(&cut(text, quote / 2))));
        section(&mut out, failures, failed);
        out
    }
}

/// At most so many files are named.
const FILES: usize = 100;
/// At most so many conclusions and failures are quoted.
const CONCLUSIONS: usize = 12;

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
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
