//! `foxwedge convert`: a request, a response or a stream in another provider's format, and a list of
//! what could not be carried.

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::Context;
use foxwedge_core::Wire;
use foxwedge_dialect::{
    convert::{Options, Tools},
    stream::{Converter, Finished, Options as StreamOptions},
};

use crate::{
    cli::{ConvertArgs, Format, Kind, ReportFormat, Telling},
    convert::{self, Broken, Ending, Input, Recognised, Told, pump, recognise},
    disk::write_private,
    outcome::Judged,
    report, say,
    say::{GOOD, Trouble, clean, paint},
};

/// Converts one thing.
pub(crate) fn run(mut args: ConvertArgs) -> anyhow::Result<ExitCode> {
    // As everywhere, this names stdout.
    args.output = args.output.filter(|output| output != Path::new("-"));
    let args = &args;
    let mut shown = None;
    work(args, &mut shown).or_else(|error| {
        tell(args, shown.as_deref(), &error);
        Ok(ExitCode::from(2))
    })
}

fn work(args: &ConvertArgs, shown: &mut Option<String>) -> anyhow::Result<ExitCode> {
    let options = options(args)?;
    let mut input = Input::open(args.target.as_deref())?;
    *shown = Some(input.shown.clone());
    if let Some(output) = &args.output {
        input.check_output(output)?;
    }
    let recognised = recognise(args, &mut input)?;
    check(args, recognised.kind())?;
    let made = match recognised {
        Recognised::Request => convert::request(args, &input, &options)?,
        Recognised::Response(from) => convert::response(args, &input, from, &options)?,
        Recognised::Stream(from) => return stream(args, &mut input, from, options),
    };
    finish(args, &input.shown, &made.told, made.text.as_bytes())
}

fn options(args: &ConvertArgs) -> anyhow::Result<Options> {
    let back = args.ids.as_deref().map(convert::replaced).transpose()?.unwrap_or_default();
    Ok(Options {
        profile: args.profile,
        policy: args.repair.policy(false),
        tools: match args.tools {
            Telling::Native => Tools::Native,
            Telling::Text => Tools::Text,
        },
        model: args.model.clone(),
        restore: back.ids,
        names: back.names,
        seed: args.seed.clone().unwrap_or_default(),
        // The same bytes give the same bytes: no clock is asked.
        created: None,
    })
}

/// Refuses flags that would do nothing.
fn check(args: &ConvertArgs, kind: Kind) -> Result<(), Trouble> {
    let request = [
        ("--tools text", args.tools == Telling::Text),
        ("--profile", args.profile.is_some()),
        ("--policy", args.repair.policy.is_some()),
        ("--orphans", args.repair.orphans.is_some()),
        ("--tail", args.repair.tail.is_some()),
    ];
    let idle: &[(&str, bool)] = match kind {
        Kind::Request => &[("--seed", args.seed.is_some())],
        Kind::Response => &request,
        Kind::Stream => {
            let others = [("--pretty", args.pretty)];
            &[&request[..], &others].concat()
        }
    };
    match idle.iter().find(|(_, set)| *set) {
        None => Ok(()),
        Some((flag, _)) => {
            let kind = kind.name();
            Err(Trouble::new(format!("{flag} does nothing to a {kind}")).help(format!(
                "leave {flag} out; or, if this is no {kind}, say what it is: --kind"
            )))
        }
    }
}

/// Converts a stream as it comes.
fn stream(
    args: &ConvertArgs,
    input: &mut Input,
    from: Wire,
    options: Options,
) -> anyhow::Result<ExitCode> {
    let profile = options.profile(args.to);
    let Options { model, seed, names, .. } = options;
    let options = StreamOptions { model, seed, names, ..StreamOptions::default() };
    let mut converter = Converter::new(from, args.to, options);
    let mut held = Vec::new();
    let done = match &args.output {
        _ if args.report_only => pump(input, &mut converter, &mut io::sink()),
        // Whether it is lossy shows at its end.
        _ if args.strict => pump(input, &mut converter, &mut held),
        None => pump(input, &mut converter, &mut io::stdout().lock()),
        Some(path) => into_file(path, input, &mut converter),
    };
    let finished = match done {
        Ok(finished) => finished,
        // Whoever listened has heard enough.
        Err(Broken::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(Broken::Write(error)) => return Err(error).with_context(|| unwritable(args)),
        Err(Broken::Read(error)) => return Err(error).with_context(|| input.unreadable()),
        Err(Broken::Stream(error)) => {
            let message = format!("{}: {}", clean(&input.shown), clean(&error.to_string()));
            return Err(Trouble::new(message)
                .help(format!(
                    "it was read as a stream of {}; --from names another format",
                    from.name()
                ))
                .into());
        }
    };
    let told = Told {
        path: convert::shown(args),
        kind: Kind::Stream,
        from: Format::Wire(from),
        wire: from,
        to: args.to,
        profile,
        messages: 1,
        losses: finished.skipped.into_iter().map(Into::into).collect(),
        renamed: finished.renamed,
        names: Vec::new(),
        before: foxwedge_core::EditLog::default(),
        behind: foxwedge_core::EditLog::default(),
        remaining: Judged::default(),
        ending: match (finished.failed, finished.complete) {
            (true, _) => Ending::Failed,
            (false, true) => Ending::Whole,
            (false, false) => Ending::Cut,
        },
    };
    if args.strict {
        return finish(args, &input.shown, &told, &held);
    }
    said(args, &told)
}

/// A stream into a file, which is there as a whole or not at all.
fn into_file(
    path: &Path,
    input: &mut Input,
    converter: &mut Converter,
) -> Result<Finished, Broken> {
    let mut done = None;
    let written = write_private(path, |out| match pump(input, converter, out) {
        Err(Broken::Write(error)) => Err(error),
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
        (_, Err(error)) => Err(Broken::Write(error)),
        (Some(Ok(finished)), Ok(())) => Ok(finished),
        (None, Ok(())) => Err(Broken::Write(io::ErrorKind::BrokenPipe.into())),
    }
}

/// Writes a result that is there as a whole, unless it may not be.
fn finish(args: &ConvertArgs, shown: &str, told: &Told, result: &[u8]) -> anyhow::Result<ExitCode> {
    if args.strict && !told.losses.is_empty() {
        report(args, told)?;
        if args.output_format == ReportFormat::Full {
            let losses = told.losses.len();
            let s = if losses == 1 { "" } else { "es" };
            let what = format!("{}: {losses} loss{s}, and --strict allows none", clean(shown));
            let help = "nothing was written; without --strict it is converted all the same";
            say::error(&Trouble::new(what).help(help).into());
        }
        return Ok(ExitCode::FAILURE);
    }
    match &args.output {
        _ if args.report_only => {}
        None => say::plain(|out| out.write_all(result))?,
        Some(path) => {
            write_private(path, |out| out.write_all(result)).with_context(|| unwritable(args))?
        }
    }
    said(args, told)
}

fn unwritable(args: &ConvertArgs) -> String {
    match &args.output {
        Some(path) => format!("`{}` cannot be written", clean(&path.to_string_lossy())),
        None => "stdout cannot be written".to_owned(),
    }
}

/// Says what was done.
fn said(args: &ConvertArgs, told: &Told) -> anyhow::Result<ExitCode> {
    report(args, told)?;
    if let (Some(path), ReportFormat::Full, false) = (&args.output, args.output_format, args.quiet)
    {
        let path = clean(&path.to_string_lossy());
        say::talk(&format!("{} {path}\n", paint(GOOD, "written")));
    }
    Ok(if told.is_fine() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(args: &ConvertArgs, told: &Told) -> anyhow::Result<()> {
    let json = args.output_format == ReportFormat::Json;
    if args.quiet && !json {
        return Ok(());
    }
    let write = |out: &mut dyn Write| match json {
        true => report::pretty(out, &convert::document(told)),
        false => out.write_all(convert::draw(told).as_bytes()),
    };
    match (args.report_only, json) {
        (true, true) => say::plain(write),
        (true, false) => say::dressed(write),
        (false, _) => {
            say::aside(write);
            Ok(())
        }
    }
}

/// Says why there is no result: to people, or to programs where the report would have been.
fn tell(args: &ConvertArgs, shown: Option<&str>, error: &anyhow::Error) {
    if args.output_format == ReportFormat::Full {
        return say::error(error);
    }
    let message: Vec<String> = error.chain().map(ToString::to_string).collect();
    let document = convert::refusal(shown, &message.join(": "), say::help_of(error));
    let write = |out: &mut dyn Write| report::pretty(out, &document);
    match args.report_only {
        true => {
            drop(say::plain(write));
            say::error(error);
        }
        false => say::aside(write),
    }
}
