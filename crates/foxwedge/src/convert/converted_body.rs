//! Converts requests and responses, which are read completely first.

use std::{borrow::Cow, sync::Arc};

use anyhow::Context;
use foxwedge_core::{CheckOptions, EditLog, Format, RuleSet};
use foxwedge_formats::{
    ReadError,
    convert::{self, ConversionOptions, ToolNotation},
    outline_options, position, read,
};
use foxwedge_sessions::ParsedSession;

use super::{
    ConversionInput,
    conversion_report::{ConversionEnding, ConversionReport},
    input_kind::is_session,
};
use crate::{
    cli::{ConversionKind, ConversionTarget, ConvertArgs, ReportFormat},
    diagnose,
};
use foxwedge_local::{
    check_settings::CheckSettings,
    export,
    findings::{ReportDetail, build_file_report},
    input_format::InputFormat,
    outcome::{FileReport, TargetFailure},
    output::{self, HelpfulError, clean, cut},
    provider_conversation::ProviderConversation,
    source::{
        DocumentBody, InputDocument, InputRejection, ParsedInput, decode_text, decompress,
        parse_input,
    },
};

/// A converted body with its report.
pub(crate) struct ConvertedBody {
    pub(crate) text: String,
    pub(crate) report: ConversionReport,
}

/// Converts a request, a list of messages, or the history of a session.
pub(crate) fn request(
    args: &ConvertArgs,
    input: &ConversionInput,
    options: &ConversionOptions,
) -> anyhow::Result<ConvertedBody> {
    let settings = CheckSettings::of(args.from, options.policy);
    let settings = input.path().map_or(Cow::Borrowed(&settings), |path| settings.for_file(path));
    let plain = decompress(&input.buffer).with_context(|| clean(&input.display_name))?;
    let (plain, mut before) = repair_session_file(input, &settings, plain)?;
    let readable = decode_text(&plain).map_err(|failure| failure_error(input, &failure))?;
    let parsed = parse_input(&readable, input.hint, &settings);
    let document = single_document(input, args.to, &parsed)?;
    if let (Ok(source), ReportFormat::Full, false) = (&parsed, args.output_format, args.quiet) {
        let path = clean(&input.display_name);
        source
            .notes
            .iter()
            .for_each(|note| output::print_note(&format!("{path}: {}", rename_format_flag(note))));
    }
    check_not_empty(input, document)?;
    if let (DocumentBody::Session(session), ConversionTarget::List(to)) = (&document.body, args.to)
        && session.agent.message_list() == Some(to)
        && options.tools == ToolNotation::Native
    {
        return repaired_list(args, session, &settings);
    }
    let conversation = ProviderConversation::of(document);
    let (text, wire) = (&*conversation.text, conversation.wire);
    let converted = match args.to {
        ConversionTarget::Wire(to) => convert::request(text, wire, to, options),
        ConversionTarget::List(to) => convert::message_list(text, wire, to, options),
    };
    let converted = converted.map_err(|error| match &document.body {
        DocumentBody::Wire(_) => {
            let at = document.offset + error.at();
            unreadable_error(
                input,
                readable.as_str(),
                at,
                &error,
                ConversionKind::Request,
                conversation.wire,
            )
        }
        DocumentBody::Session(_) => {
            failure_error(input, &TargetFailure::new(describe_read_error(&error)))
        }
    })?;
    before.append(converted.source_edits);
    let profile = match args.to {
        ConversionTarget::Wire(to) => Some(options.profile(to)),
        ConversionTarget::List(_) => None,
    };
    let mut losses = match &document.body {
        DocumentBody::Session(session) => session.history_losses(),
        DocumentBody::Wire(_) => Vec::new(),
    };
    losses.extend(converted.losses);
    losses.sort_by_key(|loss| loss.location);
    let mut report = ConversionReport {
        path: output_name(args),
        kind: ConversionKind::Request,
        from: conversation.format,
        wire: conversation.wire,
        to: args.to,
        profile,
        messages: converted.messages,
        losses: losses.into_iter().map(Into::into).collect(),
        renamed_ids: converted.renamed,
        renamed_tools: converted.renamed_tools,
        repairs_before: before,
        repairs_after: converted.target_edits,
        remaining: FileReport::default(),
        ending: ConversionEnding::Complete,
    };
    let text = format_result(args, converted.body);
    if let (ConversionTarget::Wire(to), Some(profile), false) =
        (args.to, profile, converted.remaining.is_empty())
    {
        let rules = RuleSet::of(profile);
        let check_options = CheckOptions { profile, rules, policy: options.policy };
        report.remaining = check_result(&text, to, check_options)?;
    }
    Ok(ConvertedBody { text, report })
}

/// A message list that stays one of its kind: only repairs change it.
fn repaired_list(
    args: &ConvertArgs,
    session: &ParsedSession<'_>,
    settings: &CheckSettings,
) -> anyhow::Result<ConvertedBody> {
    let (rewritten, repair) = session.fix(&settings.options_for_agent(session.agent));
    let mut text = Vec::new();
    rewritten.write_to(&mut text)?;
    let report = ConversionReport {
        path: output_name(args),
        kind: ConversionKind::Request,
        from: InputFormat::Agent(session.agent),
        wire: session.agent.wire(),
        to: args.to,
        profile: None,
        messages: session.draft().messages.len(),
        losses: Vec::new(),
        renamed_ids: Vec::new(),
        renamed_tools: Vec::new(),
        repairs_before: repair.edits,
        repairs_after: EditLog::default(),
        remaining: FileReport::default(),
        ending: ConversionEnding::Complete,
    };
    let text = format_result(args, String::from_utf8(text)?);
    Ok(ConvertedBody { text, report })
}

/// Converts a response.
pub(crate) fn response(
    args: &ConvertArgs,
    input: &ConversionInput,
    (from, to): (Format, Format),
    options: &ConversionOptions,
) -> anyhow::Result<ConvertedBody> {
    let plain = decompress(&input.buffer).with_context(|| clean(&input.display_name))?;
    let bytes = plain.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&plain);
    let source = foxwedge_formats::text(bytes).map_err(|error| {
        let place = position(bytes, error.at());
        failure_error(input, &TargetFailure::new(describe_read_error(&error)).at(place))
    })?;
    let converted = convert::response(source, from, to, options).map_err(|error| {
        unreadable_error(input, source, error.at(), &error, ConversionKind::Response, from)
    })?;
    let report = ConversionReport {
        path: output_name(args),
        kind: ConversionKind::Response,
        from: InputFormat::Wire(from),
        wire: from,
        to: args.to,
        profile: Some(options.profile(to)),
        messages: usize::from(!converted.failed),
        losses: converted.losses.into_iter().map(Into::into).collect(),
        renamed_ids: converted.renamed,
        renamed_tools: Vec::new(),
        repairs_before: EditLog::default(),
        repairs_after: EditLog::default(),
        remaining: FileReport::default(),
        ending: if converted.failed {
            ConversionEnding::Failed
        } else {
            ConversionEnding::Complete
        },
    };
    Ok(ConvertedBody { text: format_result(args, converted.body), report })
}

/// Name of the output in messages.
pub(crate) fn output_name(args: &ConvertArgs) -> String {
    let file = args.output.as_ref().map(|path| path.to_string_lossy().into_owned());
    file.unwrap_or_else(|| "<stdout>".to_owned())
}

/// Repairs a session file first, so that the same history is converted as in other commands.
fn repair_session_file<'p>(
    input: &ConversionInput,
    settings: &CheckSettings,
    plain: Cow<'p, [u8]>,
) -> anyhow::Result<(Cow<'p, [u8]>, EditLog)> {
    if !matches!(settings.format(), Some(InputFormat::Agent(_))) && !is_session(input) {
        return Ok((plain, EditLog::default()));
    }
    let text = decode_text(&plain).map_err(|failure| failure_error(input, &failure))?;
    let parsed = parse_input(&text, input.hint, settings);
    let Some(session) = parsed.as_ref().ok().and_then(ParsedInput::session) else {
        return Ok((plain, EditLog::default()));
    };
    diagnose::log_session(&input.display_name, session);
    let check_options = settings.options_for_agent(session.agent);
    let (rewritten, repair) = session.fix(&check_options);
    if repair.is_untouched() {
        return Ok((plain, EditLog::default()));
    }
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    Ok((Cow::Owned(content), repair.edits))
}

/// The only conversation of the input.
fn single_document<'s, 'a>(
    input: &ConversionInput,
    to: ConversionTarget,
    parsed: &'s Result<ParsedInput<'a>, InputRejection>,
) -> Result<&'s InputDocument<'a>, HelpfulError> {
    let path = clean(&input.display_name);
    let source = match parsed {
        Ok(source) => source,
        Err(InputRejection::Failed(failure)) => return Err(failure_error(input, failure)),
        Err(InputRejection::Skipped) => {
            return Err(HelpfulError::new(format!("{path}: no conversation")));
        }
    };
    if let Some(failure) = source.failures.first() {
        return Err(failure_error(input, failure));
    }
    match source.documents.as_slice() {
        [only] => Ok(only),
        several => {
            let many = several.len();
            let to = to.name();
            Err(HelpfulError::new(format!(
                "{path}: there are {many} conversations in it, one per line"
            ))
            .help(format!("extract one: `sed -n 1p FILE | foxwedge convert --to {to} -`")))
        }
    }
}

/// Refuses a session without messages.
fn check_not_empty(
    input: &ConversionInput,
    document: &InputDocument<'_>,
) -> Result<(), HelpfulError> {
    match &document.body {
        DocumentBody::Session(session) if session.draft().messages.is_empty() => {
            let path = clean(&input.display_name);
            Err(HelpfulError::new(format!("{path}: the session has no messages")).help(
                "there is no history to convert; `foxwedge list` shows sessions that have one",
            ))
        }
        DocumentBody::Session(_) | DocumentBody::Wire(_) => Ok(()),
    }
}

/// Checks a result for the target's profile. Positions refer to the result.
fn check_result(
    text: &str,
    format: Format,
    check_options: CheckOptions,
) -> anyhow::Result<FileReport> {
    let reading = read(text, format, outline_options(check_options.profile))
        .context("the result cannot be read again")?;
    let body = DocumentBody::Wire(Arc::new(reading));
    let document =
        InputDocument { offset: 0, line: None, body, check_options, tolerated: Vec::new() };
    let source = ParsedInput {
        text,
        bytes: text.as_bytes(),
        documents: vec![document],
        failures: Vec::new(),
        notes: Vec::new(),
    };
    Ok(build_file_report(&source, ReportDetail { edits: usize::MAX, excerpts: 0 }))
}

/// Formats the result, with one line break at its end.
fn format_result(args: &ConvertArgs, body: String) -> String {
    let pretty = args.pretty.then(|| export::pretty(&body)).flatten();
    let mut text = pretty.unwrap_or(body);
    text.truncate(text.trim_ascii_end().len());
    text.push('\n');
    text
}

/// The error for a failure, with its position.
fn failure_error(input: &ConversionInput, failure: &TargetFailure) -> HelpfulError {
    let position = failure.position.map(|at| format!(":{}:{}", at.line, at.column));
    let path = clean(&input.display_name);
    let message = rename_format_flag(&clean(&failure.message));
    let error = HelpfulError::new(format!("{path}{}: {message}", position.unwrap_or_default()));
    match &failure.help {
        Some(help) => error.help(rename_format_flag(help)),
        None => error,
    }
}

/// The error for an input that violates its format.
fn unreadable_error(
    input: &ConversionInput,
    text: &str,
    at: usize,
    error: &ReadError,
    kind: ConversionKind,
    format: Format,
) -> HelpfulError {
    let failure = TargetFailure::new(describe_read_error(error))
        .at(position(text.as_bytes(), at))
        .help(format!(
            "it was read as a {} in the {} format; use --from for another",
            kind.name(),
            format.name()
        ));
    failure_error(input, &failure)
}

/// The text of a read error, cleaned: it may quote a key of the input.
fn describe_read_error(error: &ReadError) -> String {
    cut(&clean(&error.to_string()), 200)
}

/// Adapts the help of other commands: their flag `--format` is `--from` here.
fn rename_format_flag(help: &str) -> String {
    help.replace("--format", "--from")
}
