//! Diffs of repairs and compactions, message by message or record by record.

use foxwedge_core::{CheckOptions, Format, Profile};
use foxwedge_formats::{OutlinedDocument, outline_options, read};
use foxwedge_sessions::ParsedSession;

use crate::compact::CompactionResult;
use foxwedge_local::{
    language::localize,
    outcome::message_path,
    output::{ADDED, BOLD, FRAME, REMOVED, clean, paint},
    source::{DocumentBody, InputDocument, ParsedInput},
};

mod shorten_line;

use foxwedge_local::align::{DiffStep, align};
use shorten_line::{flatten_message, shorten_line};

/// The diff of a repair of a target; `None` if it changes nothing.
pub(crate) fn of(path: &str, source: &ParsedInput<'_>) -> Option<String> {
    let mut text = String::new();
    for document in &source.documents {
        match &document.body {
            DocumentBody::Wire(reading) => diff_messages(&mut text, document, reading),
            DocumentBody::Session(session) => {
                diff_records(&mut text, source.bytes, document, session)
            }
        }
    }
    if text.is_empty() {
        return None;
    }
    Some(with_header(path, &text))
}

/// The diff of a repair of a request for a profile. Empty if the request cannot be read.
pub(crate) fn of_request(source: &str, format: Format, profile: Profile) -> String {
    let mut text = String::new();
    if let Ok(reading) = read(source, format, outline_options(profile)) {
        let (patched, repair) = reading.fix(&CheckOptions::for_profile(profile));
        let origins = repair.messages.iter().map(|message| message.origin()).collect();
        let change =
            DocumentChange { reading: &reading, fixed: &patched.to_string(), origins, line: "" };
        change.draw(&mut text, profile);
    }
    text
}

fn with_header(path: &str, text: &str) -> String {
    let path = clean(path);
    let old = paint(BOLD, format_args!("--- {path}"));
    let new = paint(BOLD, format_args!("+++ {path}"));
    format!("{old}\n{new}\n{text}")
}

/// Adds the changes to a session file, one line per record.
fn diff_records(
    text: &mut String,
    bytes: &[u8],
    document: &InputDocument<'_>,
    session: &ParsedSession<'_>,
) {
    let (rewritten, repair) = session.fix(&document.check_options);
    if repair.is_untouched() {
        return;
    }
    let (before, after) = (to_readable_text([bytes]), to_readable_text(rewritten.pieces()));
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let steps = align(&old, &new, &vec![None; new.len()]);
    push_hunks(text, &old, &new, &steps, |first| format!("line {}", first + 1));
}

/// Converts bytes to text. Invalid UTF-8 is escaped: it may be all that a repair changes.
fn to_readable_text<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut text = String::new();
    for chunk in pieces.into_iter().flat_map(<[u8]>::utf8_chunks) {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Adds the changes to a conversation.
fn diff_messages(text: &mut String, document: &InputDocument<'_>, reading: &OutlinedDocument<'_>) {
    let (patched, repair) = reading.fix(&document.check_options);
    if repair.is_untouched() {
        return;
    }
    let line = document.line.map(|line| format!("line {line}, ")).unwrap_or_default();
    let origins = repair.messages.iter().map(|message| message.origin()).collect();
    let change = DocumentChange { reading, fixed: &patched.to_string(), origins, line: &line };
    change.draw(text, document.check_options.profile);
}

/// The diff of a compaction; `None` if it changes nothing.
pub(crate) fn of_compaction(result: &CompactionResult<'_>) -> Option<String> {
    let mut text = String::new();
    let origins = result.compacted.messages.iter().map(|line| line.origin).collect();
    let change = DocumentChange {
        reading: result.reading,
        fixed: &result.compacted.text,
        origins,
        line: "",
    };
    change.draw(&mut text, result.profile);
    (!text.is_empty()).then(|| with_header(result.path, &text))
}

/// A conversation before and after a change.
struct DocumentChange<'c> {
    reading: &'c OutlinedDocument<'c>,
    fixed: &'c str,
    /// For each new message, the index of the old one it comes from.
    origins: Vec<Option<usize>>,
    /// Prefix with its line, if the file has several conversations.
    line: &'c str,
}

impl DocumentChange<'_> {
    fn draw(self, text: &mut String, profile: Profile) {
        let DocumentChange { reading, fixed, origins, line } = self;
        let draft = &reading.draft;
        // A result that cannot be read is shown completely.
        let Ok(after) = read(fixed, draft.format, outline_options(profile)) else {
            push_header(text, &format!("{line}the whole document"));
            push_pair(text, &[draft.source], &[fixed]);
            return;
        };
        let spans = |draft: &foxwedge_core::Draft<'_>| -> Vec<foxwedge_core::Span> {
            draft.messages.iter().map(|message| message.span).collect()
        };
        let old: Vec<&str> = spans(draft).iter().map(|span| span.of(draft.source)).collect();
        let new: Vec<&str> = spans(&after.draft).iter().map(|span| span.of(fixed)).collect();
        let around = [
            text_around_messages(draft.source, reading.frame.list),
            text_around_messages(fixed, after.frame.list),
        ];
        if around[0] != around[1] {
            push_header(text, &format!("{line}around the messages"));
            push_pair(text, &[&around[0]], &[&around[1]]);
        }
        let origins: Vec<Option<usize>> = if origins.len() == new.len() {
            origins
        } else {
            // The messages were not changed.
            (0..new.len()).map(Some).collect()
        };
        let steps = align(&old, &new, &origins);
        push_hunks(text, &old, &new, &steps, |first| {
            format!("{line}{}", message_path(draft.format, first))
        });
    }
}

/// The text before and after the list of messages.
fn text_around_messages(source: &str, list: Option<foxwedge_core::Span>) -> String {
    let Some(list) = list else { return source.to_owned() };
    let before = source.get(..list.start as usize).unwrap_or_default();
    let after = source.get(list.end as usize..).unwrap_or_default();
    format!("{before}[…]{after}").trim().to_owned()
}

fn push_hunks(
    text: &mut String,
    old: &[&str],
    new: &[&str],
    steps: &[DiffStep],
    name: impl Fn(usize) -> String,
) {
    let mut at = 0;
    while let Some(start) = steps[at..].iter().position(|step| !step.is_kept()).map(|n| at + n) {
        // Changes with at most two kept messages between them share one hunk.
        let mut end = start;
        let mut kept = 0;
        for (index, step) in steps.iter().enumerate().skip(start) {
            kept = if step.is_kept() { kept + 1 } else { 0 };
            if kept > 2 {
                break;
            }
            if kept == 0 {
                end = index + 1;
            }
        }
        let shown = start.saturating_sub(1)..(end + 1).min(steps.len());
        let first = steps.get(shown.start).map_or(0, DiffStep::old_index);
        push_header(text, &name(first));
        push_hunk(text, &steps[shown], old, new);
        at = end;
    }
}

fn push_hunk(text: &mut String, steps: &[DiffStep], old: &[&str], new: &[&str]) {
    let (mut removed, mut added): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for step in steps {
        match *step {
            DiffStep::Removed(at) => removed.extend(old.get(at)),
            DiffStep::Added(_, at) => added.extend(new.get(at)),
            DiffStep::Kept(at) => {
                push_pair(text, &std::mem::take(&mut removed), &std::mem::take(&mut added));
                let kept = old.get(at).copied().unwrap_or_default();
                text.push_str(&format!(
                    "  {}\n",
                    clean(&shorten_line(&flatten_message(kept), None))
                ));
            }
        }
    }
    push_pair(text, &removed, &added);
}

fn push_header(text: &mut String, title: &str) {
    text.push_str(&format!("{}\n", paint(FRAME, format_args!("@@ {} @@", localize(title)))));
}

/// Adds old lines, then new lines. Each is shortened around its difference from its partner.
fn push_pair(text: &mut String, old: &[&str], new: &[&str]) {
    let old: Vec<String> = old.iter().map(|message| flatten_message(message)).collect();
    let new: Vec<String> = new.iter().map(|message| flatten_message(message)).collect();
    let lines = [("-", REMOVED, &old, &new), ("+", ADDED, &new, &old)];
    for (sign, style, own, others) in lines {
        for (index, message) in own.iter().enumerate() {
            let other = others.get(index).map(String::as_str);
            let shown = clean(&shorten_line(message, other));
            text.push_str(&format!("{}\n", paint(style, format_args!("{sign} {shown}"))));
        }
    }
}
