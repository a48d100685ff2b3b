//! Parses input into documents: an agent's session file, one conversation, or one per line.

use std::{path::Path, sync::Arc};

use foxwedge_core::{CheckOptions, RuleSet};
use foxwedge_formats::{
    DetectionConfidence, FormatDetection, OutlinedDocument, ReadError, detect, outline_options,
    position, read,
};
use foxwedge_sessions::{ParsedSession, SessionText};

use crate::{
    check_settings::CheckSettings,
    input_format::InputFormat,
    outcome::TargetFailure,
    output::{clean, cut},
    positions::positions,
};

mod document;
mod compression;
mod session;
mod unrecognized;

pub use compression::{FileCompression, decompress, decompress_within};
pub use document::{DocumentBody, InputDocument};
pub use session::{format_rule_counts, identify_session};

/// What is known about an input before it is parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InputHint {
    /// By its name, each line is a document.
    pub is_json_lines: bool,
    /// It was found in a folder, so it may be any file.
    pub from_folder: bool,
}

impl InputHint {
    /// The hint for a file, from its name.
    pub fn of_file(path: &Path, from_folder: bool) -> InputHint {
        let has_extension = |path: &Path, wanted: &str| {
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
        };
        let is_compressed = has_extension(path, "zst");
        let is_json_lines = has_extension(path, "jsonl")
            || is_compressed && has_extension(&path.with_extension(""), "jsonl");
        InputHint { is_json_lines, from_folder }
    }
}

/// The documents of one target.
pub struct ParsedInput<'a> {
    /// The whole text, without a byte-order mark. Invalid bytes of a session are replaced.
    pub text: &'a str,
    /// The bytes that the text was decoded from.
    pub bytes: &'a [u8],
    /// The conversations.
    pub documents: Vec<InputDocument<'a>>,
    /// Lines that could not be read.
    pub failures: Vec<TargetFailure>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl<'a> ParsedInput<'a> {
    /// The session, if the target is a session file.
    pub fn session(&self) -> Option<&ParsedSession<'a>> {
        self.documents.iter().find_map(|document| match &document.body {
            DocumentBody::Session(session) => Some(&**session),
            DocumentBody::Wire(_) => None,
        })
    }
}

/// Why there are no documents.
pub enum InputRejection {
    /// A file in a folder that is not a conversation.
    Skipped,
    /// It cannot be read.
    Failed(TargetFailure),
}

impl From<TargetFailure> for InputRejection {
    fn from(failure: TargetFailure) -> InputRejection {
        InputRejection::Failed(failure)
    }
}

/// Decodes decompressed bytes.
pub fn decode_text(bytes: &[u8]) -> Result<SessionText<'_>, TargetFailure> {
    if bytes.starts_with(b"SQLite format 3\0") {
        return Err(TargetFailure::new("this is an SQLite database, not a conversation")
            .help("name a session in it: `DATABASE/ID`; `foxwedge list` lists them"));
    }
    foxwedge_sessions::readable_text(bytes)
        .map_err(|error| TargetFailure::new(describe_read_error(&error)))
}

/// Why nothing is left of a session whose file has no record at all; `None` if it has text.
pub fn lost_content(text: &SessionText<'_>) -> Option<&'static str> {
    match (text.as_str().trim().is_empty(), text.bytes().contains(&0)) {
        (true, true) => Some("the file has only zeros: its content is lost"),
        (true, false) => Some("the file is empty: its content is lost"),
        (false, _) => None,
    }
}

/// Parses all documents of a target.
pub fn parse_input<'a>(
    text: &'a SessionText<'_>,
    hint: InputHint,
    settings: &CheckSettings,
) -> Result<ParsedInput<'a>, InputRejection> {
    match session::parse_session(text, settings)? {
        Some(source) => Ok(source),
        None => parse_conversations(text.bytes(), hint, settings),
    }
}

/// Parses conversations in the formats of providers.
fn parse_conversations<'a>(
    bytes: &'a [u8],
    hint: InputHint,
    settings: &CheckSettings,
) -> Result<ParsedInput<'a>, InputRejection> {
    let text =
        foxwedge_formats::text(bytes).map_err(|error| not_text_rejection(bytes, &error, hint))?;
    let is_per_line = is_lines(text, hint.is_json_lines);
    let chunks = if is_per_line { split(text) } else { vec![(0, text)] };
    let detected = detect_formats(&chunks, settings);
    if detected.iter().all(Option::is_none) {
        return Err(if hint.from_folder {
            InputRejection::Skipped
        } else {
            InputRejection::Failed(unrecognized::explain(text, is_per_line))
        });
    }
    let mut source =
        ParsedInput { text, bytes, documents: Vec::new(), failures: Vec::new(), notes: Vec::new() };
    let mut failed = Vec::new();
    for (number, ((base, chunk), detection)) in chunks.into_iter().zip(detected).enumerate() {
        let Some(detection) = detection else {
            if hint.from_folder {
                continue;
            }
            failed.push((base, "no conversation: it contains no list of messages".to_owned()));
            continue;
        };
        let options = settings.options_for_format(detection.wire);
        match read(chunk, detection.wire, outline_options(options.profile)) {
            Ok(reading) if hint.from_folder && !is_conversation(&reading) => {}
            Ok(reading) => {
                push_notes(&mut source.notes, number, &detection, &options);
                let body = DocumentBody::Wire(Arc::new(reading));
                source.documents.push(InputDocument {
                    offset: base,
                    line: None,
                    body,
                    check_options: options,
                    tolerated: Vec::new(),
                });
            }
            Err(error) if hint.from_folder && !is_inside(&error, chunk) => {}
            Err(error) => failed.push((base + error.at(), describe_read_error(&error))),
        }
    }
    if source.documents.is_empty() && failed.is_empty() {
        return Err(InputRejection::Skipped);
    }
    assign_positions(&mut source, failed, is_per_line);
    if source.documents.is_empty()
        && source.failures.len() == 1
        && let Some(failure) = source.failures.pop()
    {
        return Err(InputRejection::Failed(unrecognized::with_help(failure, text)));
    }
    Ok(source)
}

/// Sets the line numbers of documents and failures, in one pass.
fn assign_positions(source: &mut ParsedInput<'_>, failed: Vec<(usize, String)>, is_per_line: bool) {
    let bases = source.documents.iter().map(|document| document.offset);
    let offsets: Vec<usize> = bases.chain(failed.iter().map(|(at, _)| *at)).collect();
    let mut found = positions(source.text, &offsets).into_iter();
    for (document, position) in source.documents.iter_mut().zip(found.by_ref()) {
        document.line = is_per_line.then_some(position.line);
    }
    for ((_, message), position) in failed.into_iter().zip(found) {
        source.failures.push(TargetFailure::new(message).at(position));
    }
}

fn not_text_rejection(bytes: &[u8], error: &ReadError, hint: InputHint) -> InputRejection {
    if hint.from_folder {
        return InputRejection::Skipped;
    }
    InputRejection::Failed(
        TargetFailure::new(describe_read_error(error)).at(position(bytes, error.at())),
    )
}

/// The text of a read error, cleaned and cut because it may quote the input.
fn describe_read_error(error: &ReadError) -> String {
    cut(&clean(&error.to_string()), 200)
}

/// Whether each line is a document: the first line is complete JSON and not the only line.
pub(crate) fn is_lines(text: &str, is_json_lines: bool) -> bool {
    let text = text.trim_start();
    let Some((first, rest)) = text.split_once('\n') else { return is_json_lines };
    let complete = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let opens = first.starts_with(['{', '[']);
    if rest.trim().is_empty() {
        return is_json_lines;
    }
    // A truncated first line must not make a JSON Lines file a single document.
    opens && complete(first) || is_json_lines && !complete(text)
}

/// The lines that are not blank, trimmed, with their offsets.
pub(crate) fn split(text: &str) -> Vec<(usize, &str)> {
    let mut base = 0;
    let mut chunks = Vec::new();
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if !trimmed.is_empty() {
            chunks.push((base + (line.len() - line.trim_start().len()), trimmed));
        }
        base += line.len();
    }
    chunks
}

/// The format of each document. Guesses are replaced by the most certain detection.
fn detect_formats(
    chunks: &[(usize, &str)],
    settings: &CheckSettings,
) -> Vec<Option<FormatDetection>> {
    if let Some(InputFormat::Wire(wire)) = settings.format() {
        let detection =
            FormatDetection { wire, confidence: DetectionConfidence::Certain, reason: "--format" };
        return vec![Some(detection); chunks.len()];
    }
    let mut found: Vec<Option<FormatDetection>> =
        chunks.iter().map(|(_, chunk)| detect(chunk)).collect();
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

/// Whether a file from a folder is a conversation, and not another file with a list in it.
fn is_conversation(reading: &OutlinedDocument<'_>) -> bool {
    use foxwedge_core::{PartKind, Role};
    let draft = &reading.draft;
    let is_known = |role: Role| !matches!(role, Role::Unknown | Role::Neutral);
    reading.frame.list.is_some()
        && (draft.messages.iter().any(|message| is_known(message.role))
            || draft
                .parts
                .iter()
                .any(|part| matches!(part.kind, PartKind::Call(_) | PartKind::Answer(_)))
            || draft.messages.is_empty() && draft.body.model.is_some())
}

/// Whether an error is inside a list of messages: a message comes before it.
fn is_inside(error: &ReadError, chunk: &str) -> bool {
    let before = chunk.get(..error.at()).unwrap_or(chunk);
    matches!(error, ReadError::Malformed { place: Some(_), .. })
        && ["\"role\"", "\"call_id\""].iter().any(|key| before.contains(key))
}

fn push_notes(
    notes: &mut Vec<String>,
    number: usize,
    detection: &FormatDetection,
    options: &CheckOptions,
) {
    if detection.confidence == DetectionConfidence::Guess && number == 0 {
        notes.push(format!(
            "read as {}, guessed from {}; set another format with --format",
            detection.wire.name(),
            detection.reason
        ));
    }
    if number == 0 {
        notes.extend(no_rules_note(options));
    }
}

/// A note if no selected rule applies.
fn no_rules_note(options: &CheckOptions) -> Option<String> {
    let profile = options.profile.name();
    (options.rules == RuleSet::default())
        .then(|| format!("none of the selected rules applies to the profile {profile}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_documents_when_the_first_is_complete() {
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
        for (text, is_json_lines, expected) in table {
            assert_eq!(is_lines(text, is_json_lines), expected, "{text:?} {is_json_lines}");
        }
    }

    #[test]
    fn blank_lines_and_line_ends_belong_to_no_document() {
        assert_eq!(split("{}\r\n\n  [1] \n2"), [(0, "{}"), (7, "[1]"), (12, "2")]);
    }
}
