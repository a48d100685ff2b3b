//! What a repair would change, message by message.

use foxwedge_core::{Profile, Question, Wire};
use foxwedge_dialect::{Reading, read, session::Session, want};

use crate::{
    compact::Told,
    outcome::place,
    say::{ADDED, BOLD, FRAME, REMOVED, clean, paint},
    source::{Body, Document, Source},
};

mod align;
mod squeeze;

pub(crate) use align::{Step, align};
use squeeze::{flat, squeezed};

/// The changes to a target; `None` if there are none.
pub(crate) fn of(path: &str, source: &Source<'_>) -> Option<String> {
    let mut text = String::new();
    for document in &source.documents {
        match &document.body {
            Body::Wire(reading) => messages(&mut text, document, reading),
            Body::Session(session) => records(&mut text, source.bytes, document, session),
        }
    }
    if text.is_empty() {
        return None;
    }
    Some(headed(path, &text))
}

/// What a repair for a profile changes in a request; nothing, if it is no request we can read.
pub(crate) fn of_request(source: &str, wire: Wire, profile: Profile) -> String {
    let mut text = String::new();
    if let Ok(reading) = read(source, wire, want(profile)) {
        let (patched, repair) = reading.fix(&Question::of(profile));
        let origins = repair.slots.iter().map(|slot| slot.origin).collect();
        let change = Change { reading: &reading, fixed: &patched.to_string(), origins, line: "" };
        change.draw(&mut text, profile);
    }
    text
}

fn headed(path: &str, text: &str) -> String {
    let path = clean(path);
    let old = paint(BOLD, format_args!("--- {path}"));
    let new = paint(BOLD, format_args!("+++ {path}"));
    format!("{old}\n{new}\n{text}")
}

/// The changes to a session file: a record is a line.
fn records(text: &mut String, bytes: &[u8], document: &Document<'_>, session: &Session<'_>) {
    let (rewritten, repair) = session.fix(&document.question);
    if repair.is_untouched() {
        return;
    }
    let (before, after) = (legible([bytes]), legible(rewritten.pieces()));
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let steps = align(&old, &new, &vec![None; new.len()]);
    hunks(text, &old, &new, &steps, |first| format!("line {}", first + 1));
}

/// Bytes as text. What is no text is spelled out: it may be all that a repair changes.
fn legible<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut text = String::new();
    for chunk in pieces.into_iter().flat_map(<[u8]>::utf8_chunks) {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// The changes to a conversation.
fn messages(text: &mut String, document: &Document<'_>, reading: &Reading<'_>) {
    let (patched, repair) = reading.fix(&document.question);
    if repair.is_untouched() {
        return;
    }
    let line = document.line.map(|line| format!("line {line}, ")).unwrap_or_default();
    let origins = repair.slots.iter().map(|slot| slot.origin).collect();
    let change = Change { reading, fixed: &patched.to_string(), origins, line: &line };
    change.draw(text, document.question.profile);
}

/// What a compaction changes; `None` if that is nothing.
pub(crate) fn between(told: &Told<'_>) -> Option<String> {
    let mut text = String::new();
    let origins = told.compacted.messages.iter().map(|line| line.origin).collect();
    let change = Change { reading: told.reading, fixed: &told.compacted.text, origins, line: "" };
    change.draw(&mut text, told.profile);
    (!text.is_empty()).then(|| headed(told.path, &text))
}

/// A conversation and what it becomes.
struct Change<'c> {
    reading: &'c Reading<'c>,
    fixed: &'c str,
    /// For each new message the old one.
    origins: Vec<Option<usize>>,
    /// Where it begins, if others stand beside it.
    line: &'c str,
}

impl Change<'_> {
    fn draw(self, text: &mut String, profile: Profile) {
        let Change { reading, fixed, origins, line } = self;
        let draft = &reading.draft;
        // Whatever was written, it is shown: a result that cannot be read is shown as a whole.
        let Ok(after) = read(fixed, draft.wire, want(profile)) else {
            header(text, &format!("{line}the whole document"));
            pair(text, &[draft.source], &[fixed]);
            return;
        };
        let spans = |draft: &foxwedge_core::Draft<'_>| -> Vec<foxwedge_core::Span> {
            draft.messages.iter().map(|message| message.span).collect()
        };
        let old: Vec<&str> = spans(draft).iter().map(|span| span.of(draft.source)).collect();
        let new: Vec<&str> = spans(&after.draft).iter().map(|span| span.of(fixed)).collect();
        let around = [around(draft.source, reading.frame.list), around(fixed, after.frame.list)];
        if around[0] != around[1] {
            header(text, &format!("{line}around the messages"));
            pair(text, &[&around[0]], &[&around[1]]);
        }
        let origins: Vec<Option<usize>> = if origins.len() == new.len() {
            origins
        } else {
            // The messages were left alone.
            (0..new.len()).map(Some).collect()
        };
        let steps = align(&old, &new, &origins);
        hunks(text, &old, &new, &steps, |first| format!("{line}{}", place(draft.wire, first)));
    }
}

/// What stands around the list of messages.
fn around(source: &str, list: Option<foxwedge_core::Span>) -> String {
    let Some(list) = list else { return source.to_owned() };
    let before = source.get(..list.start as usize).unwrap_or_default();
    let behind = source.get(list.end as usize..).unwrap_or_default();
    format!("{before}[…]{behind}").trim().to_owned()
}

fn hunks(
    text: &mut String,
    old: &[&str],
    new: &[&str],
    steps: &[Step],
    name: impl Fn(usize) -> String,
) {
    let mut at = 0;
    while let Some(start) = steps[at..].iter().position(|step| !step.is_kept()).map(|n| at + n) {
        // Changes with at most two kept messages between them stand in one hunk.
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
        let first = steps.get(shown.start).map_or(0, Step::old);
        header(text, &name(first));
        hunk(text, &steps[shown], old, new);
        at = end;
    }
}

fn hunk(text: &mut String, steps: &[Step], old: &[&str], new: &[&str]) {
    let (mut gone, mut come): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for step in steps {
        match *step {
            Step::Removed(at) => gone.extend(old.get(at)),
            Step::Added(_, at) => come.extend(new.get(at)),
            Step::Kept(at) => {
                pair(text, &std::mem::take(&mut gone), &std::mem::take(&mut come));
                let kept = old.get(at).copied().unwrap_or_default();
                text.push_str(&format!("  {}\n", clean(&squeezed(&flat(kept), None))));
            }
        }
    }
    pair(text, &gone, &come);
}

fn header(text: &mut String, what: &str) {
    text.push_str(&format!("{}\n", paint(FRAME, format_args!("@@ {what} @@"))));
}

/// Old lines, then new lines. Each is cut so that what differs from its partner stays in sight.
fn pair(text: &mut String, old: &[&str], new: &[&str]) {
    let old: Vec<String> = old.iter().map(|message| flat(message)).collect();
    let new: Vec<String> = new.iter().map(|message| flat(message)).collect();
    let lines = [("-", REMOVED, &old, &new), ("+", ADDED, &new, &old)];
    for (sign, style, mine, others) in lines {
        for (index, message) in mine.iter().enumerate() {
            let other = others.get(index).map(String::as_str);
            let shown = clean(&squeezed(message, other));
            text.push_str(&format!("{}\n", paint(style, format_args!("{sign} {shown}"))));
        }
    }
}
