//! `foxwedge convert`: converts a request, a response or a stream to another provider's format and
//! lists what was lost.

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::Context;
use foxwedge_core::Format;
use foxwedge_formats::{
    convert::{ChatServer, ConversionOptions, ToolNotation},
    stream::{StreamConverter, StreamEnding, StreamOptions},
};

use crate::{
    cli::{ConversionKind, ConversionTarget, ConvertArgs, ConvertToolMode, ReportFormat},
    convert::{
        self, ConversionEnding, ConversionInput, ConversionInputKind, ConversionReport,
        StreamConversionError, convert_stream, recognize_input,
    },
    report,
};
use foxwedge_local::{
    disk::write_private,
    input_format::InputFormat,
    language::localize,
    outcome::FileReport,
    output::{self, GOOD, HelpfulError, clean, paint},
};

/// Converts one target.
pub(crate) fn run(mut args: ConvertArgs) -> anyhow::Result<ExitCode> {
    // `-o -` means stdout, as in the other commands.
    args.output = args.output.filter(|output| output != Path::new("-"));
    let args = &args;
    let mut display_name = None;
    convert_target(args, &mut display_name).or_else(|error| {
        report_failure(args, display_name.as_deref(), &error);
        Ok(ExitCode::from(2))
    })
}

fn convert_target(
    args: &ConvertArgs,
    display_name: &mut Option<String>,
) -> anyhow::Result<ExitCode> {
    let options = convert_options(args)?;
    let mut input = ConversionInput::open(args.target.as_deref())?;
    *display_name = Some(input.display_name.clone());
    if let Some(output) = &args.output {
        input.check_output(output)?;
    }
    let input_kind = recognize_input(args, &mut input)?;
    check_flags(args, input_kind.kind())?;
    let converted = match input_kind {
        ConversionInputKind::Request => convert::request(args, &input, &options)?,
        ConversionInputKind::Response(from) => {
            let to = provider_format(args, ConversionKind::Response)?;
            convert::response(args, &input, (from, to), &options)?
        }
        ConversionInputKind::Stream(from) => {
            let to = provider_format(args, ConversionKind::Stream)?;
            return convert_stream_input(args, &mut input, (from, to), options);
        }
    };
    write_result(args, &input.display_name, &converted.report, converted.text.as_bytes())
}

fn convert_options(args: &ConvertArgs) -> anyhow::Result<ConversionOptions> {
    let renames = args.ids.as_deref().map(convert::read_renames).transpose()?.unwrap_or_default();
    Ok(ConversionOptions {
        profile: args.profile,
        // The server is not known here.
        chat_server: ChatServer::default(),
        policy: args.repair.policy(false),
        tools: match args.tools {
            ConvertToolMode::Native => ToolNotation::Native,
            ConvertToolMode::Text => ToolNotation::Text,
        },
        model: args.model.clone(),
        stream: None,
        reply_id: None,
        restored_ids: renames.ids,
        renamed_tools: renames.names,
        free_text_tools: Vec::new(),
        seed: args.seed.clone().unwrap_or_default(),
        // No clock: the same input always gives the same output.
        created: None,
    })
}

/// The provider's format that a response or stream is converted to.
fn provider_format(args: &ConvertArgs, kind: ConversionKind) -> Result<Format, HelpfulError> {
    match args.to {
        ConversionTarget::Wire(format) => Ok(format),
        ConversionTarget::List(list) => {
            let (kind, list) = (kind.name(), list.name());
            Err(HelpfulError::new(format!(
                "a {kind} cannot be converted to {list}, which is a list"
            ))
            .help("convert the request or the session that it belongs to"))
        }
    }
}

/// Refuses flags that have no effect on this kind of input.
fn check_flags(args: &ConvertArgs, kind: ConversionKind) -> Result<(), HelpfulError> {
    let request = [
        ("--tools text", args.tools == ConvertToolMode::Text),
        ("--profile", args.profile.is_some()),
        ("--policy", args.repair.policy.is_some()),
        ("--orphans", args.repair.orphans.is_some()),
        ("--tail", args.repair.tail.is_some()),
    ];
    if let ConversionTarget::List(list) = args.to {
        let flags = [("--model", args.model.is_some()), ("--profile", args.profile.is_some())];
        if let Some((flag, _)) = flags.iter().find(|(_, set)| *set) {
            let list = list.name();
            let message = format!("{flag} has no effect on {list}, which has no settings");
            return Err(HelpfulError::new(message).help(format!("omit {flag}")));
        }
    }
    let no_effect: &[(&str, bool)] = match kind {
        ConversionKind::Request => &[("--seed", args.seed.is_some())],
        ConversionKind::Response => &request,
        ConversionKind::Stream => {
            let others = [("--pretty", args.pretty)];
            &[&request[..], &others].concat()
        }
    };
    match no_effect.iter().find(|(_, set)| *set) {
        None => Ok(()),
        Some((flag, _)) => {
            let kind = kind.name();
            Err(HelpfulError::new(format!("{flag} has no effect on a {kind}"))
                .help(format!("omit {flag}, or set --kind if this is not a {kind}")))
        }
    }
}

/// Converts a stream while it is read.
fn convert_stream_input(
    args: &ConvertArgs,
    input: &mut ConversionInput,
    (from, to): (Format, Format),
    options: ConversionOptions,
) -> anyhow::Result<ExitCode> {
    let profile = Some(options.profile(to));
    let ConversionOptions { model, seed, renamed_tools: names, .. } = options;
    let options = StreamOptions { model, seed, renamed_tools: names, ..StreamOptions::default() };
    let mut converter = StreamConverter::new(from, to, options);
    let mut buffer = Vec::new();
    let result = match &args.output {
        _ if args.report_only => convert_stream(input, &mut converter, &mut io::sink()),
        // Losses are known only at the end of the stream, so nothing is written before.
        _ if args.strict => convert_stream(input, &mut converter, &mut buffer),
        None => convert_stream(input, &mut converter, &mut io::stdout().lock()),
        Some(path) => stream_to_file(path, input, &mut converter),
    };
    let ending = match result {
        Ok(ending) => ending,
        // The reader closed the pipe.
        Err(StreamConversionError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(StreamConversionError::Write(error)) => {
            return Err(error).with_context(|| unwritable_message(args));
        }
        Err(StreamConversionError::Read(error)) => {
            return Err(error).with_context(|| input.unreadable_message());
        }
        Err(StreamConversionError::Stream(error)) => {
            let message = format!("{}: {}", clean(&input.display_name), clean(&error.to_string()));
            return Err(HelpfulError::new(message)
                .help(format!(
                    "it was read as a stream in the {} format; use --from for another",
                    from.name()
                ))
                .into());
        }
    };
    let report = ConversionReport {
        path: convert::output_name(args),
        kind: ConversionKind::Stream,
        from: InputFormat::Wire(from),
        wire: from,
        to: args.to,
        profile,
        messages: 1,
        losses: ending.skipped.into_iter().map(Into::into).collect(),
        renamed_ids: ending.renamed,
        renamed_tools: Vec::new(),
        repairs_before: foxwedge_core::EditLog::default(),
        repairs_after: foxwedge_core::EditLog::default(),
        remaining: FileReport::default(),
        ending: match (ending.failed, ending.complete) {
            (true, _) => ConversionEnding::Failed,
            (false, true) => ConversionEnding::Complete,
            (false, false) => ConversionEnding::Truncated,
        },
    };
    if args.strict {
        return write_result(args, &input.display_name, &report, &buffer);
    }
    report_result(args, &report)
}

/// Converts a stream into a file. The file is written completely or not at all.
fn stream_to_file(
    path: &Path,
    input: &mut ConversionInput,
    converter: &mut StreamConverter,
) -> Result<StreamEnding, StreamConversionError> {
    let mut result = None;
    let written = write_private(path, |out| match convert_stream(input, converter, out) {
        Err(StreamConversionError::Write(error)) => Err(error),
        Err(error) => {
            result = Some(Err(error));
            Err(io::Error::other("the conversion failed"))
        }
        Ok(ending) => {
            result = Some(Ok(ending));
            Ok(())
        }
    });
    match (result, written) {
        (Some(Err(error)), _) => Err(error),
        (_, Err(error)) => Err(StreamConversionError::Write(error)),
        (Some(Ok(ending)), Ok(())) => Ok(ending),
        (None, Ok(())) => Err(StreamConversionError::Write(io::ErrorKind::BrokenPipe.into())),
    }
}

/// Writes a complete result, unless `--strict` forbids its losses.
fn write_result(
    args: &ConvertArgs,
    display_name: &str,
    report: &ConversionReport,
    result: &[u8],
) -> anyhow::Result<ExitCode> {
    if args.strict && !report.losses.is_empty() {
        write_report(args, report)?;
        if args.output_format == ReportFormat::Full {
            let losses = report.losses.len();
            let s = if losses == 1 { "" } else { "es" };
            let message =
                format!("{}: {losses} loss{s}, and --strict allows none", clean(display_name));
            let help = "nothing was written; omit --strict to convert anyway";
            output::print_error(&HelpfulError::new(message).help(help).into());
        }
        return Ok(ExitCode::FAILURE);
    }
    match &args.output {
        _ if args.report_only => {}
        None => output::write_stdout_raw(|out| out.write_all(result))?,
        Some(path) => write_private(path, |out| out.write_all(result))
            .with_context(|| unwritable_message(args))?,
    }
    report_result(args, report)
}

fn unwritable_message(args: &ConvertArgs) -> String {
    match &args.output {
        Some(path) => format!("`{}` cannot be written", clean(&path.to_string_lossy())),
        None => "stdout cannot be written".to_owned(),
    }
}

/// Writes the report and returns the exit code.
fn report_result(args: &ConvertArgs, report: &ConversionReport) -> anyhow::Result<ExitCode> {
    write_report(args, report)?;
    if let (Some(path), ReportFormat::Full, false) = (&args.output, args.output_format, args.quiet)
    {
        let path = clean(&path.to_string_lossy());
        output::write_stderr(&localize(format!("{} {path}\n", paint(GOOD, "written"))));
    }
    Ok(if report.is_successful() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write_report(args: &ConvertArgs, report: &ConversionReport) -> anyhow::Result<()> {
    let json = args.output_format == ReportFormat::Json;
    if args.quiet && !json {
        return Ok(());
    }
    let write = |out: &mut dyn Write| match json {
        true => report::write_pretty(out, &convert::document(report)),
        false => out.write_all(convert::render_report(report).as_bytes()),
    };
    match (args.report_only, json) {
        (true, true) => output::write_stdout_raw(write),
        (true, false) => output::write_stdout_styled(write),
        (false, _) => {
            output::write_stderr_with(write);
            Ok(())
        }
    }
}

/// Reports why there is no result: as text, or as JSON in place of the report.
fn report_failure(args: &ConvertArgs, display_name: Option<&str>, error: &anyhow::Error) {
    if args.output_format == ReportFormat::Full {
        return output::print_error(error);
    }
    let message: Vec<String> = error.chain().map(ToString::to_string).collect();
    let document =
        convert::error_document(display_name, &message.join(": "), output::help_of(error));
    let write = |out: &mut dyn Write| report::write_pretty(out, &document);
    match args.report_only {
        true => {
            drop(output::write_stdout_raw(write));
            output::print_error(error);
        }
        false => output::write_stderr_with(write),
    }
}
