//! `foxwedge suite`: asks engines the questions of the integrity suite, and answers them.

mod engine_process;
pub(super) mod embedded;
mod words;

use std::{
    fs,
    io::{self, BufRead, Write},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use foxwedge_local::{
    language::localize,
    output::{HelpfulError, print_note, write_stderr, write_stdout},
};
use foxwedge_suite::{
    ExpectedFailures, QuestionFilter, SuiteResults, answer_line, badge_svg, json_report,
    junit_report, run_suite, text_table,
};

use crate::cli::{SuiteAction, SuiteArgs, SuiteOutput, SuiteRunArgs};
use engine_process::EngineProcess;

/// Runs the suite, or is an engine.
pub(crate) fn run(args: SuiteArgs) -> anyhow::Result<ExitCode> {
    match args.action {
        SuiteAction::Run(args) => run_engine(*args),
        SuiteAction::Engine => answer_questions(io::stdin().lock(), io::stdout().lock()),
        SuiteAction::Show { ids } => show_vectors(&ids),
    }
}

fn show_vectors(ids: &[String]) -> anyhow::Result<ExitCode> {
    let vectors = embedded::vectors(None)?;
    for id in ids {
        let found = vectors.iter().find(|vector| vector.id.eq_ignore_ascii_case(id));
        let vector = found.ok_or_else(|| {
            HelpfulError::new(format!("there is no vector `{id}`"))
                .help("numbers are like V0547; `foxwedge suite run` names them")
        })?;
        write_stdout(&format!("{}\n", serde_json::to_string_pretty(vector)?))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_engine(args: SuiteRunArgs) -> anyhow::Result<ExitCode> {
    let vectors = embedded::vectors(args.vectors.as_deref())?;
    let expected = match &args.expect {
        Some(file) => {
            let text = fs::read_to_string(file)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            ExpectedFailures::read(&text, &vectors)
                .map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?
        }
        None => ExpectedFailures::default(),
    };
    let mut engine = EngineProcess::start(&args.engine, Duration::from_secs(args.timeout))?;
    let filter = QuestionFilter {
        ids: args.only,
        tracks: args.track,
        levels: args.level,
        formats: args.format,
        profiles: args.profile,
    };
    let results = run_suite(&vectors, &mut engine, &filter, |_| ());
    engine.end();
    if results.questions.is_empty() {
        anyhow::bail!("no vector of the suite is selected");
    }
    if let Some(file) = &args.badge {
        fs::write(file, badge_svg(&results))
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    write_stdout(&match args.output_format {
        SuiteOutput::Table => text_table(&results),
        SuiteOutput::Json => json_report(&results, &expected),
        SuiteOutput::Junit => junit_report(&results, &expected),
        SuiteOutput::Expect => ExpectedFailures::of(&results),
    })?;
    Ok(exit_code(&results, &expected, args.expect.is_some()))
}

/// Success if everything is as expected: no failures, or exactly those in the file.
fn exit_code(results: &SuiteResults, expected: &ExpectedFailures, compare: bool) -> ExitCode {
    let difference = expected.difference(results);
    if compare {
        let lists = [
            ("new failures", &difference.new_failures),
            ("expected to fail, but passed", &difference.unexpected_passes),
        ];
        for (title, keys) in lists.into_iter().filter(|(_, keys)| !keys.is_empty()) {
            write_stderr(&format!("{}:\n  {}\n", localize(title), keys.join("\n  ")));
        }
    }
    if results.questions.len() == results.skipped() {
        print_note("the engine skipped every question");
    }
    if difference.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn answer_questions(input: impl BufRead, mut out: impl Write) -> anyhow::Result<ExitCode> {
    for line in input.lines() {
        let line = line.context("stdin cannot be read")?;
        if line.trim().is_empty() {
            continue;
        }
        let reply = answer_line(&line);
        let written = writeln!(out, "{reply}").and_then(|()| out.flush());
        match written {
            // The reader is gone: there is nobody left to answer.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            written => written.context("stdout cannot be written")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}
