//! Documents and session files that were made to hurt: many of one thing, as small as it can be.
//!
//! What they cost has to grow with their bytes, in time and in memory, whatever is wrong with them.
//! `cargo xtask growth` measures the time, `crates/testkit/tests/memory.rs` the memory.

use foxwedge_core::{CheckOptions, Draft, Format, Profile, check};
use foxwedge_dialect::{
    outline_options, read,
    session::{self, SessionAgent},
};

mod requests;
mod sessions;

/// What a hostile document is read as.
#[derive(Clone, Copy, Debug)]
pub enum HostileFormat {
    /// A request, or a list of messages.
    Request(Format, Profile),
    /// The session file of an agent.
    Session(SessionAgent),
}

/// One way to hurt: `make` yields a document of about so many times one thing.
#[derive(Clone, Copy, Debug)]
pub struct HostileShape {
    /// What there are many of.
    pub name: &'static str,
    /// What it is read as.
    pub format: HostileFormat,
    /// The document.
    pub make: fn(usize) -> Vec<u8>,
}

/// Every shape.
pub fn shapes() -> Vec<HostileShape> {
    let mut shapes = requests::shapes();
    shapes.extend(sessions::shapes());
    shapes
}

/// What is found in a document, and how large its repair is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostileOutcome {
    /// Findings.
    pub findings: usize,
    /// Edits of the repair.
    pub edits: usize,
    /// Bytes of the repaired document.
    pub written: usize,
    /// Findings that a repair should have removed, and did not.
    pub left: usize,
}

impl HostileFormat {
    fn question(self) -> CheckOptions {
        match self {
            HostileFormat::Request(_, profile) => CheckOptions::for_profile(profile),
            HostileFormat::Session(agent) => {
                let mut question = CheckOptions::for_profile(agent.profile());
                agent.restrict_rules(&mut question);
                question
            }
        }
    }

    /// Checks a document; `None` if it cannot be read.
    pub fn check(self, bytes: &[u8]) -> Option<HostileOutcome> {
        let question = self.question();
        let report = match self {
            HostileFormat::Request(wire, profile) => {
                let source = std::str::from_utf8(bytes).ok()?;
                check(&read(source, wire, outline_options(profile)).ok()?.draft, &question)
            }
            HostileFormat::Session(agent) => {
                let text = session::readable_text(bytes).ok()?;
                let session =
                    session::read(&text, agent, outline_options(question.profile)).ok()?;
                check(session.draft(), &question)
            }
        };
        let (findings, left) = (report.total(), report.counts.fixable(false));
        Some(HostileOutcome { findings, left, ..HostileOutcome::default() })
    }

    /// Repairs a document; `None` if it cannot be read.
    pub fn repaired(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut written = Vec::new();
        self.write_fixed(bytes, &mut written)?;
        Some(written)
    }

    /// Repairs a document, and writes the result to nowhere; `None` if it cannot be read.
    pub fn fix(self, bytes: &[u8]) -> Option<HostileOutcome> {
        let mut sink = Sink(0);
        let repair = self.write_fixed(bytes, &mut sink)?;
        Some(HostileOutcome { written: sink.0, ..repair })
    }

    fn write_fixed(self, bytes: &[u8], out: &mut impl std::io::Write) -> Option<HostileOutcome> {
        let question = self.question();
        Some(match self {
            HostileFormat::Request(wire, profile) => {
                let source = std::str::from_utf8(bytes).ok()?;
                let reading = read(source, wire, outline_options(profile)).ok()?;
                let (patched, repair) = reading.fix(&question);
                patched.write_to(out).ok()?;
                told(&repair)
            }
            HostileFormat::Session(agent) => {
                let text = session::readable_text(bytes).ok()?;
                let session =
                    session::read(&text, agent, outline_options(question.profile)).ok()?;
                let (rewritten, repair) = session.fix(&question);
                rewritten.write_to(out).ok()?;
                told(&repair)
            }
        })
    }
}

fn told(repair: &foxwedge_core::Repair<'_>) -> HostileOutcome {
    HostileOutcome {
        findings: repair.before.total(),
        edits: repair.edits.len(),
        written: 0,
        left: repair.after.counts.fixable(false),
    }
}

/// Counts bytes.
struct Sink(usize);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A document whose messages are those of another, again and again, until it has so many bytes. A
/// kilobyte of text for each message stands behind each repetition, as in real conversations.
pub fn multiplied(document: &str, wire: Format, bytes: usize) -> Option<String> {
    let words = |messages: usize| {
        let words = "word ".repeat(200 * messages);
        let words = words.trim_end();
        match wire {
            Format::OpenaiChat | Format::Anthropic => {
                format!("{{\"role\":\"user\",\"content\":\"{words}\"}},")
            }
            Format::OpenaiResponses => {
                format!("{{\"type\":\"message\",\"role\":\"user\",\"content\":\"{words}\"}},")
            }
            Format::Gemini => {
                format!("{{\"role\":\"user\",\"parts\":[{{\"text\":\"{words}\"}}]}},")
            }
            Format::Bedrock => {
                format!("{{\"role\":\"user\",\"content\":[{{\"text\":\"{words}\"}}]}},")
            }
        }
    };
    repeated(document, wire, bytes, words).map(|(text, _)| text)
}

/// The same with nothing in between: messages as small as they are, all of them broken. Tells how
/// many messages there are.
pub fn multiplied_bare(document: &str, wire: Format, bytes: usize) -> Option<(String, usize)> {
    repeated(document, wire, bytes, |_| String::new())
}

fn repeated(
    document: &str,
    wire: Format,
    bytes: usize,
    filler: impl Fn(usize) -> String,
) -> Option<(String, usize)> {
    let reading = read(document, wire, outline_options(Profile::for_format(wire))).ok()?;
    let list = reading.frame.list?;
    let inside = document.get(list.start as usize + 1..list.end as usize - 1)?.trim();
    let (before, behind) =
        (document.get(..=list.start as usize)?, document.get(list.end as usize - 1..)?);
    if inside.is_empty() {
        return None;
    }
    let messages = reading.draft.messages.len().max(1);
    let filler = filler(messages);
    let numbered = NumberedIds::of(&reading.draft, inside);
    let mut many = messages;
    let mut text = String::with_capacity(bytes + document.len() + filler.len());
    text.push_str(before);
    for repetition in 0.. {
        numbered.write(&mut text, repetition);
        if text.len() >= bytes {
            break;
        }
        text.push(',');
        text.push_str(&filler);
        many += messages;
    }
    text.push_str(behind);
    Some((text, many))
}

/// Messages whose ids are others in each repetition: what is wrong with them stays the same, and no
/// id is used again.
struct NumberedIds<'d> {
    ids: Vec<&'d str>,
    /// Text, and the index of the id behind it.
    pieces: Vec<(&'d str, Option<usize>)>,
}

impl<'d> NumberedIds<'d> {
    /// Digits that count the repetitions.
    const DIGITS: usize = 6;

    fn of(draft: &Draft<'_>, inside: &'d str) -> NumberedIds<'d> {
        let spelled = |id: &str| {
            let at = inside.find(&format!("\"{id}\""))? + 1;
            inside.get(at..at + id.len())
        };
        let known = draft.parts.iter().filter_map(|part| part.kind.id());
        let mut ids: Vec<&'d str> = known.filter_map(spelled).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut pieces = Vec::new();
        let mut rest = inside;
        loop {
            let next = ids.iter().enumerate().filter_map(|(index, id)| {
                rest.find(&format!("\"{id}\"")).map(|at| (at + 1, index))
            });
            let Some((at, index)) = next.min() else { break };
            let (text, behind) = rest.split_at(at);
            pieces.push((text, Some(index)));
            rest = behind.get(ids[index].len()..).unwrap_or_default();
        }
        pieces.push((rest, None));
        NumberedIds { ids, pieces }
    }

    fn write(&self, text: &mut String, repetition: usize) {
        for &(piece, id) in &self.pieces {
            text.push_str(piece);
            let Some(index) = id else { continue };
            let id = self.ids[index];
            let number = repetition * self.ids.len() + index;
            // The number takes the place of the last characters: some ids may not be longer.
            let most = id.len().saturating_sub(Self::DIGITS);
            let kept = (0..=most).rev().find(|&at| id.is_char_boundary(at)).unwrap_or(0);
            text.push_str(&id[..kept]);
            text.push_str(&format!("{number:0width$}", width = Self::DIGITS.min(id.len())));
        }
    }
}

/// A list of things that are made one by one, between two texts.
fn joined(before: &str, many: usize, one: impl Fn(usize) -> String, behind: &str) -> Vec<u8> {
    let mut text = before.to_owned();
    for index in 0..many {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&one(index));
    }
    text.push_str(behind);
    text.into_bytes()
}

/// Lines that are made one by one.
fn lines(many: usize, one: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = String::new();
    for index in 0..many {
        text.push_str(&one(index));
        text.push('\n');
    }
    text.into_bytes()
}
