//! Bytes to documents: the session file of an agent, one conversation, or one a line.

use std::{path::Path, sync::Arc};

use foxwedge_core::Question;
use foxwedge_dialect::{
    Confidence, Detection, ReadError, Reading, detect, position, read,
    session::{Session, Text},
    want,
};

use crate::{
    ask::Ask,
    cli::Format,
    outcome::Failure,
    place::positions,
    say::{clean, cut},
};

mod document;
mod packed;
mod session;
mod stranger;

pub(crate) use document::{Body, Document};
pub(crate) use packed::{Packing, unpacked, unpacked_within};
pub(crate) use session::{labels, sitting};

/// How a target is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Manner {
    /// Its name says that each line is a document.
    pub(crate) lines: bool,
    /// It was found in a folder: it may be anything.
    pub(crate) walked: bool,
}

impl Manner {
    /// How a file is looked at, by its name.
    pub(crate) fn of_file(path: &Path, walked: bool) -> Manner {
        let named = |path: &Path, wanted: &str| {
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
        };
        let packed = named(path, "zst");
        let lines = named(path, "jsonl") || packed && named(&path.with_extension(""), "jsonl");
        Manner { lines, walked }
    }
}

/// The documents of one target.
pub(crate) struct Source<'a> {
    /// The whole text, without a byte-order mark. Damaged bytes of a session are mended here.
    pub(crate) text: &'a str,
    /// The bytes it stands for.
    pub(crate) bytes: &'a [u8],
    pub(crate) documents: Vec<Document<'a>>,
    /// Lines that could not be read.
    pub(crate) failures: Vec<Failure>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl<'a> Source<'a> {
    /// The session, if the target is the file of one.
    pub(crate) fn session(&self) -> Option<&Session<'a>> {
        self.documents.iter().find_map(|document| match &document.body {
            Body::Session(session) => Some(&**session),
            Body::Wire(_) => None,
        })
    }
}

/// Why there are no documents.
pub(crate) enum Closed {
    /// It is no conversation, and nobody said it were.
    Skipped,
    Failed(Failure),
}

impl From<Failure> for Closed {
    fn from(failure: Failure) -> Closed {
        Closed::Failed(failure)
    }
}

/// Makes unpacked bytes readable.
pub(crate) fn text(bytes: &[u8]) -> Result<Text<'_>, Failure> {
    if bytes.starts_with(b"SQLite format 3\0") {
        return Err(Failure::new("this is an SQLite database, not a conversation")
            .help("agents that keep their sessions in a database are not supported yet"));
    }
    foxwedge_dialect::session::text(bytes).map_err(|error| Failure::new(sentence(&error)))
}

/// Reads all documents of a target.
pub(crate) fn open<'a>(
    text: &'a Text<'_>,
    manner: Manner,
    ask: &Ask,
) -> Result<Source<'a>, Closed> {
    match session::open(text, ask)? {
        Some(source) => Ok(source),
        None => conversations(text.bytes(), manner, ask),
    }
}

/// Reads what a provider would be sent.
fn conversations<'a>(bytes: &'a [u8], manner: Manner, ask: &Ask) -> Result<Source<'a>, Closed> {
    let text = foxwedge_dialect::text(bytes).map_err(|error| not_text(bytes, &error, manner))?;
    let lines = is_lines(text, manner.lines);
    let pieces = if lines { split(text) } else { vec![(0, text)] };
    let detected = detections(&pieces, ask);
    if detected.iter().all(Option::is_none) {
        return Err(if manner.walked {
            Closed::Skipped
        } else {
            Closed::Failed(stranger::explain(text, lines))
        });
    }
    let mut source =
        Source { text, bytes, documents: Vec::new(), failures: Vec::new(), notes: Vec::new() };
    let mut failed = Vec::new();
    for (number, ((base, piece), detection)) in pieces.into_iter().zip(detected).enumerate() {
        let Some(detection) = detection else {
            if manner.walked {
                continue;
            }
            failed.push((base, "no conversation: there is no list of messages".to_owned()));
            continue;
        };
        let question = ask.question(detection.wire);
        match read(piece, detection.wire, want(question.profile)) {
            Ok(reading) if manner.walked && !is_conversation(&reading) => {}
            Ok(reading) => {
                note(&mut source.notes, number, &detection, ask, &question);
                let body = Body::Wire(Arc::new(reading));
                source.documents.push(Document {
                    base,
                    line: None,
                    body,
                    question,
                    coped: Vec::new(),
                });
            }
            Err(error) if manner.walked && !is_inside(&error, piece) => {}
            Err(error) => failed.push((base + error.at(), sentence(&error))),
        }
    }
    if source.documents.is_empty() && failed.is_empty() {
        return Err(Closed::Skipped);
    }
    locate(&mut source, failed, lines);
    if source.documents.is_empty()
        && source.failures.len() == 1
        && let Some(failure) = source.failures.pop()
    {
        return Err(Closed::Failed(stranger::with_help(failure, text)));
    }
    Ok(source)
}

/// Line numbers for documents and failures, in one pass.
fn locate(source: &mut Source<'_>, failed: Vec<(usize, String)>, lines: bool) {
    let bases = source.documents.iter().map(|document| document.base);
    let offsets: Vec<usize> = bases.chain(failed.iter().map(|(at, _)| *at)).collect();
    let mut found = positions(source.text, &offsets).into_iter();
    for (document, position) in source.documents.iter_mut().zip(found.by_ref()) {
        document.line = lines.then_some(position.line);
    }
    for ((_, message), position) in failed.into_iter().zip(found) {
        source.failures.push(Failure::new(message).at(position));
    }
}

fn not_text(bytes: &[u8], error: &ReadError, manner: Manner) -> Closed {
    if manner.walked {
        return Closed::Skipped;
    }
    Closed::Failed(Failure::new(sentence(error)).at(position(bytes, error.at())))
}

/// What a reader says, fit to be shown: it may quote a key of the input.
fn sentence(error: &ReadError) -> String {
    cut(&clean(&error.to_string()), 200)
}

/// Whether each line is a document: the first one is complete and not the only one.
fn is_lines(text: &str, named_so: bool) -> bool {
    let text = text.trim_start();
    let Some((first, rest)) = text.split_once('\n') else { return named_so };
    let complete = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let opens = first.starts_with(['{', '[']);
    if rest.trim().is_empty() {
        return named_so;
    }
    // A torn first line is no reason to read a list of documents as one.
    opens && complete(first) || named_so && !complete(text)
}

/// The lines that hold something, with the offset of what they hold.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut base = 0;
    let mut pieces = Vec::new();
    for line in text.split_inclusive('\n') {
        let held = line.trim();
        if !held.is_empty() {
            pieces.push((base + (line.len() - line.trim_start().len()), held));
        }
        base += line.len();
    }
    pieces
}

/// The format of each document. A guess takes the word of a neighbour that is sure.
fn detections(pieces: &[(usize, &str)], ask: &Ask) -> Vec<Option<Detection>> {
    if let Some(Format::Wire(wire)) = ask.format() {
        let named = Detection { wire, confidence: Confidence::Certain, reason: "--format" };
        return vec![Some(named); pieces.len()];
    }
    let mut found: Vec<Option<Detection>> = pieces.iter().map(|(_, piece)| detect(piece)).collect();
    let best = found
        .iter()
        .flatten()
        .copied()
        .reduce(|best, other| if other.confidence > best.confidence { other } else { best });
    if let Some(best) = best {
        for detection in found.iter_mut().flatten() {
            if detection.confidence == Confidence::Guess {
                *detection = best;
            }
        }
    }
    found
}

/// Whether something found in a folder is a conversation at all, and not a file with a list in it.
fn is_conversation(reading: &Reading<'_>) -> bool {
    use foxwedge_core::{Kind, Role};
    let draft = &reading.draft;
    let spoken = |role: Role| !matches!(role, Role::Unknown | Role::Neutral);
    reading.frame.list.is_some()
        && (draft.messages.iter().any(|message| spoken(message.role))
            || draft.parts.iter().any(|part| matches!(part.kind, Kind::Call(_) | Kind::Answer(_)))
            || draft.messages.is_empty() && draft.body.model.is_some())
}

/// Whether an error lies inside a list of messages that surely is one: somebody spoke before.
fn is_inside(error: &ReadError, piece: &str) -> bool {
    let before = piece.get(..error.at()).unwrap_or(piece);
    matches!(error, ReadError::Malformed { place: Some(_), .. })
        && ["\"role\"", "\"call_id\""].iter().any(|key| before.contains(key))
}

fn note(
    notes: &mut Vec<String>,
    number: usize,
    detection: &Detection,
    ask: &Ask,
    question: &Question,
) {
    if detection.confidence == Confidence::Guess && number == 0 {
        notes.push(format!(
            "read as {}, which is a guess from {}; --format names another",
            detection.wire.name(),
            detection.reason
        ));
    }
    if number == 0 {
        notes.extend(idle(ask, question));
    }
}

/// Says so if there is nothing to look for.
fn idle(ask: &Ask, question: &Question) -> Option<String> {
    let profile = question.profile;
    ask.idle(profile)
        .then(|| format!("none of the selected rules applies to the profile {}", profile.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_documents_when_the_first_stands_alone() {
        let table = [
            ("{}\n{}\n", false, true),
            ("{\n}\n", false, false),
            ("{}", false, false),
            ("{}", true, true),
            ("[]\n\n", false, false),
            ("{\n}\n", true, false),
            ("{\"torn\n{}\n", true, true),
            ("{\"torn\n{}\n", false, false),
            ("", true, true),
        ];
        for (text, named_so, expected) in table {
            assert_eq!(is_lines(text, named_so), expected, "{text:?} {named_so}");
        }
    }

    #[test]
    fn blank_lines_and_line_ends_belong_to_no_document() {
        assert_eq!(split("{}\r\n\n  [1] \n2"), [(0, "{}"), (7, "[1]"), (12, "2")]);
    }
}
