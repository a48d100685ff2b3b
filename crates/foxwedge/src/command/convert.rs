//! `foxwedge convert`: a request, a response or a stream in another provider's format, and a list of
//! what could not be carried.

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::Context;
use foxwedge_core::Format;
use foxwedge_formats::{
    convert::{ConversionOptions, ToolNotation},
    stream::{StreamConverter, StreamEnding, StreamOptions},
};

use crate::{
    cli::{ConversionKind, ConvertArgs, ConvertToolMode, InputFormat, ReportFormat},
    cli_output,
    cli_output::{CliError, GOOD, clean, paint},
    convert::{
        self, ConversionEnding, ConversionInput, ConversionInputKind, ConversionReport,
        StreamConversionError, convert_stream, recognize_input,
    },
    disk::write_private,
    outcome::FileReport,
    report,
};

/// Converts one thing.
pub(crate) fn run(mut args: ConvertArgs) -> anyhow::Result<ExitCode> {
    // As everywhere, this names stdout.
    args.output = args.output.filter(|output| output != Path::new("-"));
    let args = &args;
    let mut shown = None;
    convert_target(args, &mut shown).or_else(|error| {
        report_failure(args, shown.as_deref(), &error);
        Ok(ExitCode::from(2))
    })
}

fn convert_target(args: &ConvertArgs, shown: &mut Option<String>) -> anyhow::Result<ExitCode> {
    let options = convert_options(args)?;
    let mut input = ConversionInput::open(args.target.as_deref())?;
    *shown = Some(input.display_name.clone());
    if let Some(output) = &args.output {
        input.check_output(output)?;
    }
    let recognised = recognize_input(args, &mut input)?;
    check_flags(args, recognised.kind())?;
    let made = match recognised {
        ConversionInputKind::Request => convert::request(args, &input, &options)?,
        ConversionInputKind::Response(from) => convert::response(args, &input, from, &options)?,
        ConversionInputKind::Stream(from) => {
            return convert_stream_input(args, &mut input, from, options);
        }
    };
    write_result(args, &input.display_name, &made.report, made.text.as_bytes())
}

fn convert_options(args: &ConvertArgs) -> anyhow::Result<ConversionOptions> {
    let back = args.ids.as_deref().map(convert::read_renames).transpose()?.unwrap_or_default();
    Ok(ConversionOptions {
        profile: args.profile,
        policy: args.repair.policy(false),
        tools: match args.tools {
            ConvertToolMode::Native => ToolNotation::Native,
            ConvertToolMode::Text => ToolNotation::Text,
        },
        model: args.model.clone(),
        restored_ids: back.ids,
        renamed_tools: back.names,
        seed: args.seed.clone().unwrap_or_default(),
        // The same bytes give the same bytes: no clock is asked.
        created: None,
    })
}

/// Refuses flags that would do nothing.
fn check_flags(args: &ConvertArgs, kind: ConversionKind) -> Result<(), CliError> {
    let request = [
        ("--tools text", args.tools == ConvertToolMode::Text),
        ("--profile", args.profile.is_some()),
        ("--policy", args.repair.policy.is_some()),
        ("--orphans", args.repair.orphans.is_some()),
        ("--tail", args.repair.tail.is_some()),
    ];
    let idle: &[(&str, bool)] = match kind {
        ConversionKind::Request => &[("--seed", args.seed.is_some())],
        ConversionKind::Response => &request,
        ConversionKind::Stream => {
            let others = [("--pretty", args.pretty)];
            &[&request[..], &others].concat()
        }
    };
    match idle.iter().find(|(_, set)| *set) {
        None => Ok(()),
        Some((flag, _)) => {
            let kind = kind.name();
            Err(CliError::new(format!("{flag} does nothing to a {kind}")).help(format!(
                "leave {flag} out; or, if this is no {kind}, say what it is: --kind"
            )))
        }
    }
}

/// Converts a stream as it comes.
fn convert_stream_input(
    args: &ConvertArgs,
    input: &mut ConversionInput,
    from: Format,
    options: ConversionOptions,
) -> anyhow::Result<ExitCode> {
    let profile = options.profile(args.to);
    let ConversionOptions { model, seed, renamed_tools: names, .. } = options;
    let options = StreamOptions { model, seed, renamed_tools: names, ..StreamOptions::default() };
    let mut converter = StreamConverter::new(from, args.to, options);
    let mut held = Vec::new();
    let done = match &args.output {
        _ if args.report_only => convert_stream(input, &mut converter, &mut io::sink()),
        // Whether it is lossy shows at its end.
        _ if args.strict => convert_stream(input, &mut converter, &mut held),
        None => convert_stream(input, &mut converter, &mut io::stdout().lock()),
        Some(path) => stream_to_file(path, input, &mut converter),
    };
    let finished = match done {
        Ok(finished) => finished,
        // Whoever listened has heard enough.
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
            return Err(CliError::new(message)
                .help(format!(
                    "it was read as a stream of {}; --from names another format",
                    from.name()
                ))
                .into());
        }
    };
    let told = ConversionReport {
        path: convert::output_name(args),
        kind: ConversionKind::Stream,
        from: InputFormat::Wire(from),
        wire: from,
        to: args.to,
        profile,
        messages: 1,
        losses: finished.skipped.into_iter().map(Into::into).collect(),
        renamed_ids: finished.renamed,
        renamed_tools: Vec::new(),
        repairs_before: foxwedge_core::EditLog::default(),
        repairs_after: foxwedge_core::EditLog::default(),
        remaining: FileReport::default(),
        ending: match (finished.failed, finished.complete) {
            (true, _) => ConversionEnding::Failed,
            (false, true) => ConversionEnding::Complete,
            (false, false) => ConversionEnding::Truncated,
        },
    };
    if args.strict {
        return write_result(args, &input.display_name, &told, &held);
    }
    report_result(args, &told)
}

/// A stream into a file, which is there as a whole or not at all.
fn stream_to_file(
    path: &Path,
    input: &mut ConversionInput,
    converter: &mut StreamConverter,
) -> Result<StreamEnding, StreamConversionError> {
    let mut done = None;
    let written = write_private(path, |out| match convert_stream(input, converter, out) {
        Err(StreamConversionError::Write(error)) => Err(error),
        Err(broken) => {
            done = Some(Err(broken));
            Err(io::Error::other("there is nothing to write"))
        }
        Ok(finished) => {
            done = Some(Ok(finished));
            Ok(())
        }
    });
    match (done, written) {
        (Some(Err(broken)), _) => Err(broken),
        (_, Err(error)) => Err(StreamConversionError::Write(error)),
        (Some(Ok(finished)), Ok(())) => Ok(finished),
        (None, Ok(())) => Err(StreamConversionError::Write(io::ErrorKind::BrokenPipe.into())),
    }
}

/// Writes a result that is there as a whole, unless it may not be.
fn write_result(
    args: &ConvertArgs,
    shown: &str,
    told: &ConversionReport,
    result: &[u8],
) -> anyhow::Result<ExitCode> {
    if args.strict && !told.losses.is_empty() {
        write_report(args, told)?;
        if args.output_format == ReportFormat::Full {
            let losses = told.losses.len();
            let s = if losses == 1 { "" } else { "es" };
            let what = format!("{}: {losses} loss{s}, and --strict allows none", clean(shown));
            let help = "nothing was written; without --strict it is converted all the same";
            cli_output::print_error(&CliError::new(what).help(help).into());
        }
        return Ok(ExitCode::FAILURE);
    }
    match &args.output {
        _ if args.report_only => {}
        None => cli_output::write_stdout_raw(|out| out.write_all(result))?,
        Some(path) => write_private(path, |out| out.write_all(result))
            .with_context(|| unwritable_message(args))?,
    }
    report_result(args, told)
}

fn unwritable_message(args: &ConvertArgs) -> String {
    match &args.output {
        Some(path) => format!("`{}` cannot be written", clean(&path.to_string_lossy())),
        None => "stdout cannot be written".to_owned(),
    }
}

/// Says what was done.
fn report_result(args: &ConvertArgs, told: &ConversionReport) -> anyhow::Result<ExitCode> {
    write_report(args, told)?;
    if let (Some(path), ReportFormat::Full, false) = (&args.output, args.output_format, args.quiet)
    {
        let path = clean(&path.to_string_lossy());
        cli_output::write_stderr(&format!("{} {path}\n", paint(GOOD, "written")));
    }
    Ok(if told.is_successful() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write_report(args: &ConvertArgs, told: &ConversionReport) -> anyhow::Result<()> {
    let json = args.output_format == ReportFormat::Json;
    if args.quiet && !json {
        return Ok(());
    }
    let write = |out: &mut dyn Write| match json {
        true => report::write_pretty(out, &convert::document(told)),
        false => out.write_all(convert::render_report(told).as_bytes()),
    };
    match (args.report_only, json) {
        (true, true) => cli_output::write_stdout_raw(write),
        (true, false) => cli_output::write_stdout_styled(write),
        (false, _) => {
            cli_output::write_stderr_with(write);
            Ok(())
        }
    }
}

/// Says why there is no result: to people, or to programs where the report would have been.
fn report_failure(args: &ConvertArgs, shown: Option<&str>, error: &anyhow::Error) {
    if args.output_format == ReportFormat::Full {
        return cli_output::print_error(error);
    }
    let message: Vec<String> = error.chain().map(ToString::to_string).collect();
    let document = convert::error_document(shown, &message.join(": "), cli_output::help_of(error));
    let write = |out: &mut dyn Write| report::write_pretty(out, &document);
    match args.report_only {
        true => {
            drop(cli_output::write_stdout_raw(write));
            cli_output::print_error(error);
        }
        false => cli_output::write_stderr_with(write),
    }
}
