//! Hostile documents and session files: many repetitions of one small element.
//!
//! Time and memory must grow linearly with their bytes, whatever is wrong with them. `cargo xtask
//! growth` measures the time, `crates/testkit/tests/memory.rs` the memory.

use foxwedge_core::{CheckOptions, Draft, Format, Profile, check};
use foxwedge_formats::{outline_options, read};
use foxwedge_sessions::{self, SessionAgent};

mod requests;
mod sessions;

/// The format of a hostile document.
#[derive(Clone, Copy, Debug)]
pub enum HostileFormat {
    /// A request, or a list of messages.
    Request(Format, Profile),
    /// The session file of an agent.
    Session(SessionAgent),
}

/// One kind of hostile document: `make` builds one with about this many repetitions.
#[derive(Clone, Copy, Debug)]
pub struct HostileShape {
    /// What is repeated.
    pub name: &'static str,
    /// The format that it is read as.
    pub format: HostileFormat,
    /// Builds the document.
    pub make: fn(usize) -> Vec<u8>,
}

/// Every shape.
pub fn shapes() -> Vec<HostileShape> {
    let mut shapes = requests::shapes();
    shapes.extend(sessions::shapes());
    shapes
}

/// Findings of a document, and the size of its repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostileOutcome {
    /// Findings.
    pub findings: usize,
    /// Edits of the repair.
    pub edits: usize,
    /// Bytes of the repaired document.
    pub written: usize,
    /// Fixable findings that remain after the repair.
    pub left: usize,
}

impl HostileFormat {
    fn question(self) -> CheckOptions {
        match self {
            HostileFormat::Request(_, profile) => CheckOptions::for_profile(profile),
            HostileFormat::Session(agent) => {
                let mut options = CheckOptions::for_profile(agent.profile());
                agent.restrict_rules(&mut options);
                options
            }
        }
    }

    /// Checks a document; `None` if it cannot be read.
    pub fn check(self, bytes: &[u8]) -> Option<HostileOutcome> {
        let options = self.question();
        let report = match self {
            HostileFormat::Request(format, profile) => {
                let source = std::str::from_utf8(bytes).ok()?;
                check(&read(source, format, outline_options(profile)).ok()?.draft, &options)
            }
            HostileFormat::Session(agent) => {
                let text = foxwedge_sessions::readable_text(bytes).ok()?;
                let session =
                    foxwedge_sessions::read(&text, agent, outline_options(options.profile)).ok()?;
                check(session.draft(), &options)
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

    /// Repairs a document and discards the result; `None` if it cannot be read.
    pub fn fix(self, bytes: &[u8]) -> Option<HostileOutcome> {
        let mut sink = WrittenByteCount(0);
        let repair = self.write_fixed(bytes, &mut sink)?;
        Some(HostileOutcome { written: sink.0, ..repair })
    }

    fn write_fixed(self, bytes: &[u8], out: &mut impl std::io::Write) -> Option<HostileOutcome> {
        let options = self.question();
        Some(match self {
            HostileFormat::Request(format, profile) => {
                let source = std::str::from_utf8(bytes).ok()?;
                let reading = read(source, format, outline_options(profile)).ok()?;
                let (patched, repair) = reading.fix(&options);
                patched.write_to(out).ok()?;
                told(&repair)
            }
            HostileFormat::Session(agent) => {
                let text = foxwedge_sessions::readable_text(bytes).ok()?;
                let session =
                    foxwedge_sessions::read(&text, agent, outline_options(options.profile)).ok()?;
                let (rewritten, repair) = session.fix(&options);
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

/// A writer that only counts bytes.
struct WrittenByteCount(usize);

impl std::io::Write for WrittenByteCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A document that repeats the messages of another until it has this many bytes. Each repetition is
/// followed by a kilobyte of text per message, as in real conversations.
pub fn multiplied(document: &str, format: Format, bytes: usize) -> Option<String> {
    let filler = |messages: usize| {
        let filler = "word ".repeat(200 * messages);
        let filler = filler.trim_end();
        match format {
            Format::OpenaiChat | Format::Anthropic => {
                format!("{{\"role\":\"user\",\"content\":\"{filler}\"}},")
            }
            Format::OpenaiResponses => {
                format!("{{\"type\":\"message\",\"role\":\"user\",\"content\":\"{filler}\"}},")
            }
            Format::GeminiInteractions => format!(
                "{{\"type\":\"user_input\",\"content\":[{{\"type\":\"text\",\"text\":\"{filler}\"}}]}},"
            ),
            Format::Gemini => {
                format!("{{\"role\":\"user\",\"parts\":[{{\"text\":\"{filler}\"}}]}},")
            }
            Format::Bedrock => {
                format!("{{\"role\":\"user\",\"content\":[{{\"text\":\"{filler}\"}}]}},")
            }
        }
    };
    repeated(document, format, bytes, filler).map(|(text, _)| text)
}

/// The same without text in between: only small and invalid messages. Also returns the number of
/// messages.
pub fn multiplied_bare(document: &str, format: Format, bytes: usize) -> Option<(String, usize)> {
    repeated(document, format, bytes, |_| String::new())
}

fn repeated(
    document: &str,
    format: Format,
    bytes: usize,
    filler: impl Fn(usize) -> String,
) -> Option<(String, usize)> {
    let reading = read(document, format, outline_options(Profile::for_format(format))).ok()?;
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

/// Messages with different ids in each repetition, so that each has the same defects and no id is
/// used again.
struct NumberedIds<'d> {
    ids: Vec<&'d str>,
    /// Text, and the index of the id after it.
    segments: Vec<(&'d str, Option<usize>)>,
}

impl<'d> NumberedIds<'d> {
    /// Number of digits that count the repetitions.
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
        let mut segments = Vec::new();
        let mut rest = inside;
        loop {
            let next = ids.iter().enumerate().filter_map(|(index, id)| {
                rest.find(&format!("\"{id}\"")).map(|at| (at + 1, index))
            });
            let Some((at, index)) = next.min() else { break };
            let (text, behind) = rest.split_at(at);
            segments.push((text, Some(index)));
            rest = behind.get(ids[index].len()..).unwrap_or_default();
        }
        segments.push((rest, None));
        NumberedIds { ids, segments }
    }

    fn write(&self, text: &mut String, repetition: usize) {
        for &(segment, id) in &self.segments {
            text.push_str(segment);
            let Some(index) = id else { continue };
            let id = self.ids[index];
            let number = repetition * self.ids.len() + index;
            // The number replaces the last characters, because some ids must not become longer.
            let max = id.len().saturating_sub(Self::DIGITS);
            let end = (0..=max).rev().find(|&at| id.is_char_boundary(at)).unwrap_or(0);
            text.push_str(&id[..end]);
            text.push_str(&format!("{number:0width$}", width = Self::DIGITS.min(id.len())));
        }
    }
}

/// A list of generated elements between two texts.
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

/// Generated lines.
fn lines(many: usize, one: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = String::new();
    for index in 0..many {
        text.push_str(&one(index));
        text.push('\n');
    }
    text.into_bytes()
}
