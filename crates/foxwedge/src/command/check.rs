//! `foxwedge check`: reads every target, says what is wrong, and repairs it if asked to.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, bail};

use crate::{
    check_settings::CheckSettings,
    cli::CheckArgs,
    cli_output::{self, CliError},
    command::fix::check_named,
    deliver::write_outcomes,
    diagnose, diff,
    disk::{self, FileSnapshot},
    findings::{ReportDetail, build_file_report},
    flag_conflicts,
    outcome::{FileReport, TargetFailure, TargetOutcome, TargetResult},
    pool,
    repair_plan::{self, RepairPlan},
    report::{self, ReportTotals, summary},
    size_limit,
    source::{FileCompression, InputHint, InputRejection, decode_text, decompress, parse_input},
    target::{self, CheckTarget, TargetKind},
};

/// What is done with every target.
struct CheckJob {
    ask: CheckSettings,
    look: ReportDetail,
    mode: CheckMode,
}

/// What becomes of findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CheckMode {
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
        (true, _) => CheckMode::Diff,
        (false, true) => CheckMode::Fix,
        (false, false) => CheckMode::Check,
    };
    flag_conflicts::check(&args)?;
    if mode == CheckMode::Fix {
        check_named(&args)?;
    }
    let look = if args.statistics {
        ReportDetail::default()
    } else {
        report::required_detail(args.output_format)
    };
    let job = CheckJob { ask: CheckSettings::new(&args)?, look, mode };
    let targets = target::expand_targets(&args)?;
    if args.show_files {
        return show_files(&targets);
    }
    flag_conflicts::check_output(&args, &targets, &job.ask)?;
    let outcomes = pool::map(&targets, !args.quiet, |target| job.check_target(target));
    write_outcomes(&args, &job.ask, mode, &outcomes)?;
    Ok(exit_code(&args, mode, ReportTotals::of(&outcomes)))
}

fn show_files(targets: &[CheckTarget]) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for target in targets {
        match &target.kind {
            TargetKind::Unreadable(failure) => {
                let result = TargetResult::Failed(failure.clone());
                let path = target.display_name.clone();
                summary::print_failures(&[TargetOutcome { path, name: None, result }]);
                code = ExitCode::from(2);
            }
            TargetKind::Stdin | TargetKind::Named(_) | TargetKind::FromFolder(_) => {
                cli_output::write_stdout(&format!(
                    "{}\n",
                    cli_output::clean(&target.display_name)
                ))?;
            }
        }
    }
    Ok(code)
}

fn exit_code(args: &CheckArgs, mode: CheckMode, totals: ReportTotals) -> ExitCode {
    let remain = totals.findings > 0
        || mode == CheckMode::Diff && totals.changed > 0
        || args.exit_non_zero_on_fix && totals.fixed > 0;
    match (totals.failed > 0, remain && !args.exit_zero) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::SUCCESS,
    }
}

impl CheckJob {
    fn check_target(&self, target: &CheckTarget) -> TargetOutcome {
        let result = match &target.kind {
            TargetKind::Unreadable(failure) => Ok(TargetResult::Failed(failure.clone())),
            TargetKind::Stdin => self.check_stdin(&target.display_name),
            TargetKind::Named(path) => self.check_file(target, path, false),
            TargetKind::FromFolder(path) => self.check_file(target, path, true),
        };
        let failed = |error| TargetResult::Failed(TargetFailure::from_error(&error));
        TargetOutcome {
            path: target.display_name.clone(),
            name: target.name.clone(),
            result: result.unwrap_or_else(failed),
        }
    }

    fn check_stdin(&self, shown: &str) -> anyhow::Result<TargetResult> {
        let content = size_limit::read_stdin()?;
        let manner = InputHint { is_json_lines: false, from_folder: false };
        self.check_content(shown, &content, manner, &self.ask, |plan| {
            let (output, mut judged) =
                repair_plan::repair_stream(plan, manner, &self.ask, self.look)?;
            judged.output = Some(output);
            Ok(judged)
        })
        .map(|verdict| match verdict {
            // A sound document passes as it came.
            TargetResult::Checked(mut judged)
                if self.mode == CheckMode::Fix && judged.output.is_none() =>
            {
                judged.output = Some(content);
                TargetResult::Checked(judged)
            }
            verdict => verdict,
        })
    }

    fn check_file(
        &self,
        target: &CheckTarget,
        path: &Path,
        walked: bool,
    ) -> anyhow::Result<TargetResult> {
        let manner = InputHint::of_file(path, walked);
        let ask = &*self.ask.for_file(path);
        let metadata = fs::metadata(path).context("cannot be read")?;
        if self.mode != CheckMode::Fix {
            size_limit::check_kind(path, &metadata)?;
        }
        size_limit::check(metadata.len())?;
        match self.mode {
            CheckMode::Check | CheckMode::Diff => {
                let content = size_limit::read_file(path)?;
                self.check_content(&target.display_name, &content, manner, ask, |_| {
                    bail!("nothing is repaired here")
                })
            }
            CheckMode::Fix if !metadata.is_file() => {
                bail!(
                    CliError::new("this is not a file that can be replaced")
                        .help("use `foxwedge fix -` to repair a stream")
                );
            }
            CheckMode::Fix => {
                path.parent().into_iter().for_each(disk::sweep_folder);
                let snapshot = FileSnapshot::take(path).context("cannot be read")?;
                self.check_content(&target.display_name, &snapshot.content, manner, ask, |plan| {
                    repair_plan::repair_file(&snapshot, plan, manner, ask, self.look)
                })
            }
        }
    }

    /// Judges content, after a repair if there is one to make.
    fn check_content(
        &self,
        shown: &str,
        content: &[u8],
        manner: InputHint,
        ask: &CheckSettings,
        repair: impl FnOnce(RepairPlan<'_>) -> anyhow::Result<FileReport>,
    ) -> anyhow::Result<TargetResult> {
        let plain = decompress(content)?;
        let text = match decode_text(&plain) {
            Ok(text) => text,
            Err(failure) => return Ok(TargetResult::Failed(failure)),
        };
        let source = match parse_input(&text, manner, ask) {
            Ok(source) => source,
            Err(InputRejection::Skipped) => return Ok(TargetResult::Skipped),
            Err(InputRejection::Failed(failure)) => return Ok(TargetResult::Failed(failure)),
        };
        if let Some(session) = source.session() {
            diagnose::log_session(shown, session);
        }
        if self.mode == CheckMode::Fix {
            let plan = RepairPlan::new(&plain, FileCompression::of(content), &source);
            if !plan.is_empty() {
                // The plan has what it needs of it.
                drop(source);
                return Ok(TargetResult::Checked(Box::new(repair(plan)?)));
            }
        }
        let mut judged = build_file_report(&source, self.look);
        if self.mode == CheckMode::Diff && !judged.findings.is_empty() {
            judged.diff = diff::of(shown, &source);
            let bold = self.ask.allows_unsafe_fixes();
            judged.planned = judged.counts.fixable(bold);
            judged.findings.retain(|found| !found.is_fixable(bold));
            judged.counts.retain(|kind| !kind.is_fixable(bold));
        }
        Ok(TargetResult::Checked(Box::new(judged)))
    }
}
