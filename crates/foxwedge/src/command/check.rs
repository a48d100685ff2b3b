//! `foxwedge check`: reads every target, says what is wrong, and repairs it if asked to.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, bail};

use crate::{
    ask::Ask,
    cli::CheckArgs,
    command::fix::check_named,
    deliver::deliver,
    diagnose, diff,
    disk::{self, Snapshot},
    judge::{Look, judge},
    mend::{self, Plan},
    outcome::{Failure, Judged, Outcome, Verdict},
    pool,
    report::{self, Totals, summary},
    say::{self, Trouble},
    size_limit,
    source::{Closed, Manner, Packing, open, text, unpacked},
    target::{self, Kind, Target},
    usage,
};

/// What is done with every target.
struct Job {
    ask: Ask,
    look: Look,
    mode: Mode,
}

/// What becomes of findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Read only.
    Check,
    /// Show what a repair would change.
    Diff,
    /// Repair.
    Fix,
}

/// Checks every target.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    let mode = match (args.diff, args.fix) {
        (true, _) => Mode::Diff,
        (false, true) => Mode::Fix,
        (false, false) => Mode::Check,
    };
    usage::check(&args)?;
    if mode == Mode::Fix {
        check_named(&args)?;
    }
    let look = if args.statistics { Look::default() } else { report::look(args.output_format) };
    let job = Job { ask: Ask::new(&args)?, look, mode };
    let targets = target::expand(&args)?;
    if args.show_files {
        return show_files(&targets);
    }
    usage::check_output(&args, &targets, &job.ask)?;
    let outcomes = pool::map(&targets, !args.quiet, |target| job.one(target));
    deliver(&args, &job.ask, mode, &outcomes)?;
    Ok(exit_code(&args, mode, Totals::of(&outcomes)))
}

fn show_files(targets: &[Target]) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for target in targets {
        match &target.kind {
            Kind::Closed(failure) => {
                let result = Verdict::Failed(failure.clone());
                let path = target.shown.clone();
                summary::failures(&[Outcome { path, name: None, result }]);
                code = ExitCode::from(2);
            }
            Kind::Stdin | Kind::Named(_) | Kind::Walked(_) => {
                say::out(&format!("{}\n", say::clean(&target.shown)))?;
            }
        }
    }
    Ok(code)
}

fn exit_code(args: &CheckArgs, mode: Mode, totals: Totals) -> ExitCode {
    let remain = totals.findings > 0
        || mode == Mode::Diff && totals.changed > 0
        || args.exit_non_zero_on_fix && totals.fixed > 0;
    match (totals.failed > 0, remain && !args.exit_zero) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::SUCCESS,
    }
}

impl Job {
    fn one(&self, target: &Target) -> Outcome {
        let result = match &target.kind {
            Kind::Closed(failure) => Ok(Verdict::Failed(failure.clone())),
            Kind::Stdin => self.stdin(&target.shown),
            Kind::Named(path) => self.file(target, path, false),
            Kind::Walked(path) => self.file(target, path, true),
        };
        let failed = |error| Verdict::Failed(Failure::from_error(&error));
        Outcome {
            path: target.shown.clone(),
            name: target.name.clone(),
            result: result.unwrap_or_else(failed),
        }
    }

    fn stdin(&self, shown: &str) -> anyhow::Result<Verdict> {
        let content = size_limit::read_stdin()?;
        let manner = Manner { lines: false, walked: false };
        self.content(shown, &content, manner, &self.ask, |plan| {
            let (output, mut judged) = mend::filter(plan, manner, &self.ask, self.look)?;
            judged.output = Some(output);
            Ok(judged)
        })
        .map(|verdict| match verdict {
            // A sound document passes as it came.
            Verdict::Judged(mut judged) if self.mode == Mode::Fix && judged.output.is_none() => {
                judged.output = Some(content);
                Verdict::Judged(judged)
            }
            verdict => verdict,
        })
    }

    fn file(&self, target: &Target, path: &Path, walked: bool) -> anyhow::Result<Verdict> {
        let manner = Manner::of_file(path, walked);
        let ask = &*self.ask.of_file(path);
        let metadata = fs::metadata(path).context("cannot be read")?;
        if self.mode != Mode::Fix {
            size_limit::check_kind(path, &metadata)?;
        }
        size_limit::check(metadata.len())?;
        match self.mode {
            Mode::Check | Mode::Diff => {
                let content = size_limit::read_file(path)?;
                self.content(&target.shown, &content, manner, ask, |_| {
                    bail!("nothing is repaired here")
                })
            }
            Mode::Fix if !metadata.is_file() => {
                bail!(
                    Trouble::new("this is not a file that can be replaced")
                        .help("use `foxwedge fix -` to repair a stream")
                );
            }
            Mode::Fix => {
                path.parent().into_iter().for_each(disk::sweep_folder);
                let snapshot = Snapshot::take(path).context("cannot be read")?;
                self.content(&target.shown, &snapshot.content, manner, ask, |plan| {
                    mend::file(&snapshot, plan, manner, ask, self.look)
                })
            }
        }
    }

    /// Judges content, after a repair if there is one to make.
    fn content(
        &self,
        shown: &str,
        content: &[u8],
        manner: Manner,
        ask: &Ask,
        repair: impl FnOnce(Plan<'_>) -> anyhow::Result<Judged>,
    ) -> anyhow::Result<Verdict> {
        let plain = unpacked(content)?;
        let text = match text(&plain) {
            Ok(text) => text,
            Err(failure) => return Ok(Verdict::Failed(failure)),
        };
        let source = match open(&text, manner, ask) {
            Ok(source) => source,
            Err(Closed::Skipped) => return Ok(Verdict::Skipped),
            Err(Closed::Failed(failure)) => return Ok(Verdict::Failed(failure)),
        };
        if let Some(session) = source.session() {
            diagnose::session(shown, session);
        }
        if self.mode == Mode::Fix {
            let plan = Plan::new(&plain, Packing::of(content), &source);
            if !plan.is_empty() {
                // The plan has what it needs of it.
                drop(source);
                return Ok(Verdict::Judged(Box::new(repair(plan)?)));
            }
        }
        let mut judged = judge(&source, self.look);
        if self.mode == Mode::Diff && !judged.findings.is_empty() {
            judged.diff = diff::of(shown, &source);
            let bold = self.ask.is_bold();
            judged.planned = judged.counts.fixable(bold);
            judged.findings.retain(|found| !found.is_fixable(bold));
            judged.counts.retain(|kind| !kind.is_fixable(bold));
        }
        Ok(Verdict::Judged(Box::new(judged)))
    }
}
