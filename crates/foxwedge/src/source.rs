//! Bytes to documents: the session file of an agent, one conversation, or one a line.

use std::{path::Path, sync::Arc};

use foxwedge_core::CheckOptions;
use foxwedge_formats::{
    DetectionConfidence, FormatDetection, OutlinedDocument, ReadError, detect, outline_options,
    position, read,
};
use foxwedge_sessions::{ParsedSession, SessionText};

use crate::{
    check_settings::CheckSettings,
    cli::InputFormat,
    cli_output::{clean, cut},
    outcome::TargetFailure,
    positions::positions,
};

mod document;
mod compression;
mod session;
mod unrecognized;

pub(crate) use compression::{FileCompression, decompress, decompress_within};
pub(crate) use document::{DocumentBody, InputDocument};
pub(crate) use session::{format_rule_counts, identify_session};

/// How a target is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InputHint {
    /// Its name says that each line is a document.
    pub(crate) is_json_lines: bool,
    /// It was found in a folder: it may be anything.
    pub(crate) from_folder: bool,
}

impl InputHint {
    /// How a file is looked at, by its name.
    pub(crate) fn of_file(path: &Path, walked: bool) -> InputHint {
        let named = |path: &Path, wanted: &str| {
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
        };
        let packed = named(path, "zst");
        let lines = named(path, "jsonl") || packed && named(&path.with_extension(""), "jsonl");
        InputHint { is_json_lines: lines, from_folder: walked }
    }
}

/// The documents of one target.
pub(crate) struct ParsedInput<'a> {
    /// The whole text, without a byte-order mark. Damaged bytes of a session are mended here.
    pub(crate) text: &'a str,
    /// The bytes it stands for.
    pub(crate) bytes: &'a [u8],
    pub(crate) documents: Vec<InputDocument<'a>>,
    /// Lines that could not be read.
    pub(crate) failures: Vec<TargetFailure>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl<'a> ParsedInput<'a> {
    /// The session, if the target is the file of one.
    pub(crate) fn session(&self) -> Option<&ParsedSession<'a>> {
        self.documents.iter().find_map(|document| match &document.body {
            DocumentBody::Session(session) => Some(&**session),
            DocumentBody::Wire(_) => None,
        })
    }
}

/// Why there are no documents.
pub(crate) enum InputRejection {
    /// It is no conversation, and nobody said it were.
    Skipped,
    Failed(TargetFailure),
}

impl From<TargetFailure> for InputRejection {
    fn from(failure: TargetFailure) -> InputRejection {
        InputRejection::Failed(failure)
    }
}

/// Makes unpacked bytes readable.
pub(crate) fn decode_text(bytes: &[u8]) -> Result<SessionText<'_>, TargetFailure> {
    if bytes.starts_with(b"SQLite format 3\0") {
        return Err(TargetFailure::new("this is an SQLite database, not a conversation")
            .help("agents that keep their sessions in a database are not supported yet"));
    }
    foxwedge_sessions::readable_text(bytes)
        .map_err(|error| TargetFailure::new(describe_read_error(&error)))
}

/// Reads all documents of a target.
pub(crate) fn parse_input<'a>(
    text: &'a SessionText<'_>,
    manner: InputHint,
    ask: &CheckSettings,
) -> Result<ParsedInput<'a>, InputRejection> {
    match session::parse_session(text, ask)? {
        Some(source) => Ok(source),
        None => parse_conversations(text.bytes(), manner, ask),
    }
}

/// Reads what a provider would be sent.
fn parse_conversations<'a>(
    bytes: &'a [u8],
    manner: InputHint,
    ask: &CheckSettings,
) -> Result<ParsedInput<'a>, InputRejection> {
    let text =
        foxwedge_formats::text(bytes).map_err(|error| not_text_rejection(bytes, &error, manner))?;
    let lines = is_lines(text, manner.is_json_lines);
    let pieces = if lines { split(text) } else { vec![(0, text)] };
    let detected = detect_formats(&pieces, ask);
    if detected.iter().all(Option::is_none) {
        return Err(if manner.from_folder {
            InputRejection::Skipped
        } else {
            InputRejection::Failed(unrecognized::explain(text, lines))
        });
    }
    let mut source =
        ParsedInput { text, bytes, documents: Vec::new(), failures: Vec::new(), notes: Vec::new() };
    let mut failed = Vec::new();
    for (number, ((base, piece), detection)) in pieces.into_iter().zip(detected).enumerate() {
        let Some(detection) = detection else {
            if manner.from_folder {
                continue;
            }
            failed.push((base, "no conversation: there is no list of messages".to_owned()));
            continue;
        };
        let question = ask.options_for_format(detection.wire);
        match read(piece, detection.wire, outline_options(question.profile)) {
            Ok(reading) if manner.from_folder && !is_conversation(&reading) => {}
            Ok(reading) => {
                push_notes(&mut source.notes, number, &detection, ask, &question);
                let body = DocumentBody::Wire(Arc::new(reading));
                source.documents.push(InputDocument {
                    offset: base,
                    line: None,
                    body,
                    check_options: question,
                    tolerated: Vec::new(),
                });
            }
            Err(error) if manner.from_folder && !is_inside(&error, piece) => {}
            Err(error) => failed.push((base + error.at(), describe_read_error(&error))),
        }
    }
    if source.documents.is_empty() && failed.is_empty() {
        return Err(InputRejection::Skipped);
    }
    assign_positions(&mut source, failed, lines);
    if source.documents.is_empty()
        && source.failures.len() == 1
        && let Some(failure) = source.failures.pop()
    {
        return Err(InputRejection::Failed(unrecognized::with_help(failure, text)));
    }
    Ok(source)
}

/// Line numbers for documents and failures, in one pass.
fn assign_positions(source: &mut ParsedInput<'_>, failed: Vec<(usize, String)>, lines: bool) {
    let bases = source.documents.iter().map(|document| document.offset);
    let offsets: Vec<usize> = bases.chain(failed.iter().map(|(at, _)| *at)).collect();
    let mut found = positions(source.text, &offsets).into_iter();
    for (document, position) in source.documents.iter_mut().zip(found.by_ref()) {
        document.line = lines.then_some(position.line);
    }
    for ((_, message), position) in failed.into_iter().zip(found) {
        source.failures.push(TargetFailure::new(message).at(position));
    }
}

fn not_text_rejection(bytes: &[u8], error: &ReadError, manner: InputHint) -> InputRejection {
    if manner.from_folder {
        return InputRejection::Skipped;
    }
    InputRejection::Failed(
        TargetFailure::new(describe_read_error(error)).at(position(bytes, error.at())),
    )
}

/// What a reader says, fit to be shown: it may quote a key of the input.
fn describe_read_error(error: &ReadError) -> String {
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
fn detect_formats(pieces: &[(usize, &str)], ask: &CheckSettings) -> Vec<Option<FormatDetection>> {
    if let Some(InputFormat::Wire(wire)) = ask.format() {
        let named =
            FormatDetection { wire, confidence: DetectionConfidence::Certain, reason: "--format" };
        return vec![Some(named); pieces.len()];
    }
    let mut found: Vec<Option<FormatDetection>> =
        pieces.iter().map(|(_, piece)| detect(piece)).collect();
    let best = found
        .iter()
        .flatten()
        .copied()
        .reduce(|best, other| if other.confidence > best.confidence { other } else { best });
    if let Some(best) = best {
        for detection in found.iter_mut().flatten() {
            if detection.confidence == DetectionConfidence::Guess {
                *detection = best;
            }
        }
    }
    found
}

/// Whether something found in a folder is a conversation at all, and not a file with a list in it.
fn is_conversation(reading: &OutlinedDocument<'_>) -> bool {
    use foxwedge_core::{PartKind, Role};
    let draft = &reading.draft;
    let spoken = |role: Role| !matches!(role, Role::Unknown | Role::Neutral);
    reading.frame.list.is_some()
        && (draft.messages.iter().any(|message| spoken(message.role))
            || draft
                .parts
                .iter()
                .any(|part| matches!(part.kind, PartKind::Call(_) | PartKind::Answer(_)))
            || draft.messages.is_empty() && draft.body.model.is_some())
}

/// Whether an error lies inside a list of messages that surely is one: somebody spoke before.
fn is_inside(error: &ReadError, piece: &str) -> bool {
    let before = piece.get(..error.at()).unwrap_or(piece);
    matches!(error, ReadError::Malformed { place: Some(_), .. })
        && ["\"role\"", "\"call_id\""].iter().any(|key| before.contains(key))
}

fn push_notes(
    notes: &mut Vec<String>,
    number: usize,
    detection: &FormatDetection,
    ask: &CheckSettings,
    question: &CheckOptions,
) {
    if detection.confidence == DetectionConfidence::Guess && number == 0 {
        notes.push(format!(
            "read as {}, which is a guess from {}; --format names another",
            detection.wire.name(),
            detection.reason
        ));
    }
    if number == 0 {
        notes.extend(no_rules_note(ask, question));
    }
}

/// Says so if there is nothing to look for.
fn no_rules_note(ask: &CheckSettings, question: &CheckOptions) -> Option<String> {
    let profile = question.profile;
    ask.selects_no_rule(profile)
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
