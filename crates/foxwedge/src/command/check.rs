//! `foxwedge check`: reads every target, reports findings, and repairs them with `--fix`.

use crate::check_flags;
use std::{borrow::Cow, path::Path, process::ExitCode};

use anyhow::{Context, bail};

use crate::{
    cli::CheckArgs,
    command::fix::check_named,
    deliver::write_outcomes,
    diff, flag_conflicts,
    report::{self, ReportTotals, summary},
    target::{self, CheckTarget, TargetKind},
};
use crate::{diagnose, pool};
use foxwedge_local::{
    check_settings::CheckSettings,
    database::{self, SessionPath},
    disk::{self, FileSnapshot},
    findings::{ReportDetail, build_file_report},
    outcome::{FileReport, TargetFailure, TargetOutcome, TargetResult},
    output::{self, HelpfulError},
    repair_plan::{self, RepairPlan},
    size_limit,
    source::{FileCompression, InputHint, InputRejection, decode_text, decompress, parse_input},
    trace,
    user_folders::UserFolders,
};

mod watch;

/// The settings that apply to every target of one `check` run.
pub(crate) struct CheckJob {
    pub(crate) settings: CheckSettings,
    pub(crate) detail: ReportDetail,
    pub(crate) mode: CheckMode,
    /// Whether a repaired document is written elsewhere, and the target stays as it is.
    pub(crate) writes_elsewhere: bool,
}

/// What to do with findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CheckMode {
    /// Report only.
    Check,
    /// Show what a repair would change, as a diff, without writing it.
    Diff,
    /// List what a repair would do, without writing it.
    DryRun,
    /// Repair the file.
    Fix,
}

impl CheckMode {
    /// Whether a repair is made but not written.
    pub(crate) fn is_preview(self) -> bool {
        matches!(self, CheckMode::Diff | CheckMode::DryRun)
    }

    /// Whether the edits of a repair are listed.
    pub(crate) fn lists_edits(self) -> bool {
        matches!(self, CheckMode::Fix | CheckMode::DryRun)
    }
}

/// Checks every target.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    let mode = match (args.diff, args.dry_run, args.fix) {
        (true, ..) => CheckMode::Diff,
        (false, true, _) => CheckMode::DryRun,
        (false, false, true) => CheckMode::Fix,
        (false, false, false) => CheckMode::Check,
    };
    flag_conflicts::check(&args)?;
    if mode == CheckMode::Fix {
        check_named(&args)?;
    }
    let detail = if args.statistics {
        ReportDetail::default()
    } else {
        report::required_detail(args.output_format)
    };
    let settings = check_flags::check_settings(&args)?;
    let job = CheckJob { settings, detail, mode, writes_elsewhere: args.output.is_some() };
    if args.watch {
        return watch::watch(&args, &job);
    }
    let targets = target::expand_targets(&args)?;
    if args.show_files {
        return show_files(&targets);
    }
    flag_conflicts::check_output(&args, &targets, &job.settings)?;
    let outcomes = pool::map(&targets, !args.quiet, |target| job.check_target(target));
    write_outcomes(&args, &job.settings, mode, &outcomes)?;
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
                output::write_stdout(&format!("{}\n", output::clean(&target.display_name)))?;
            }
        }
    }
    Ok(code)
}

pub(crate) fn exit_code(args: &CheckArgs, mode: CheckMode, totals: ReportTotals) -> ExitCode {
    let has_findings = totals.findings > 0
        || mode.is_preview() && totals.changed > 0
        || args.exit_non_zero_on_fix && totals.fixed > 0;
    match (totals.failed > 0, has_findings && !args.exit_zero) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::SUCCESS,
    }
}

impl CheckJob {
    pub(crate) fn check_target(&self, target: &CheckTarget) -> TargetOutcome {
        let result = match &target.kind {
            TargetKind::Unreadable(failure) => Ok(TargetResult::Failed(failure.clone())),
            TargetKind::Stdin => self.check_stdin(&target.display_name),
            TargetKind::Named(path) => self.check_file(target, path, false),
            TargetKind::FromFolder(path) => self.check_file(target, path, true),
        };
        let result = result.map(|result| match (result, target.path()) {
            (TargetResult::Checked(mut report), Some(path)) => {
                report.session = report.session.map(|session| session.at(path));
                TargetResult::Checked(report)
            }
            (result, _) => result,
        });
        let failed = |error| TargetResult::Failed(TargetFailure::from_error(&error));
        TargetOutcome {
            path: target.display_name.clone(),
            name: target.name.clone(),
            result: result.unwrap_or_else(failed),
        }
    }

    fn check_stdin(&self, display_name: &str) -> anyhow::Result<TargetResult> {
        let hint = InputHint { is_json_lines: false, from_folder: false };
        self.check_stream(display_name, size_limit::read_stdin()?, hint, &self.settings)
    }

    /// Checks content whose repair is not written into its file.
    fn check_stream(
        &self,
        display_name: &str,
        content: Vec<u8>,
        hint: InputHint,
        settings: &CheckSettings,
    ) -> anyhow::Result<TargetResult> {
        self.check_content(display_name, &content, hint, settings, |plan| {
            let (output, mut report) =
                repair_plan::repair_stream(plan, hint, settings, self.detail)?;
            report.output = Some(output).filter(|_| self.mode == CheckMode::Fix);
            Ok(report)
        })
        .map(|result| match result {
            // A valid document passes unchanged.
            TargetResult::Checked(mut report)
                if self.mode == CheckMode::Fix && report.output.is_none() =>
            {
                report.output = Some(content);
                TargetResult::Checked(report)
            }
            result => result,
        })
    }

    fn check_file(
        &self,
        target: &CheckTarget,
        path: &Path,
        from_folder: bool,
    ) -> anyhow::Result<TargetResult> {
        let hint = InputHint::of_file(path, from_folder);
        let settings = match target.agent {
            Some(agent) => Cow::Owned(self.settings.clone().with_folder_agent(agent)),
            None => Cow::Borrowed(&self.settings),
        };
        let settings = &*settings.for_file(path);
        let metadata = database::metadata(path).context("cannot be read")?;
        if SessionPath::parse(path).is_none() {
            if self.mode != CheckMode::Fix {
                size_limit::check_kind(path, &metadata)?;
            }
            size_limit::check(metadata.len())?;
        }
        match self.mode {
            CheckMode::Fix if self.writes_elsewhere => {
                if SessionPath::parse(path).is_some() {
                    let error = "a session in a database can only be repaired in place";
                    bail!(HelpfulError::new(error).help("`foxwedge fork` makes a repaired copy"));
                }
                let content = size_limit::read_file(path)?;
                self.check_stream(&target.display_name, content, hint, settings)
            }
            CheckMode::Check | CheckMode::Diff | CheckMode::DryRun => {
                let content = size_limit::read_file(path)?;
                self.check_content(&target.display_name, &content, hint, settings, |plan| {
                    let repaired = repair_plan::repair_stream(plan, hint, settings, self.detail)?;
                    Ok(repaired.1)
                })
            }
            CheckMode::Fix if !metadata.is_file() => {
                bail!(
                    HelpfulError::new("only regular files can be repaired in place")
                        .help("use `foxwedge fix -` to repair a stream")
                );
            }
            CheckMode::Fix => {
                path.parent().into_iter().for_each(disk::sweep_folder);
                let snapshot = FileSnapshot::take(path).context("cannot be read")?;
                self.check_content(
                    &target.display_name,
                    &snapshot.content,
                    hint,
                    settings,
                    |plan| {
                        let folders = &UserFolders::Environment;
                        let detail = self.detail;
                        repair_plan::repair_file(folders, &snapshot, plan, hint, settings, detail)
                    },
                )
            }
        }
    }

    /// Checks an exported trace; `None` if the content is none.
    fn check_trace(
        &self,
        bytes: &[u8],
        hint: InputHint,
        settings: &CheckSettings,
    ) -> Option<TargetResult> {
        let text = foxwedge_formats::text(bytes).ok()?;
        if settings.format().is_some() || !trace::is_trace(text, hint) {
            return None;
        }
        Some(match self.mode {
            _ if self.mode != CheckMode::Check && hint.from_folder => TargetResult::Skipped,
            CheckMode::Fix | CheckMode::Diff | CheckMode::DryRun => TargetResult::Failed(
                TargetFailure::new("traces are read-only: this one records what was sent").help(
                    "`foxwedge check` names the broken requests; repair the history that the \
                     application sends, or put `foxwedge serve` in front of the provider",
                ),
            ),
            CheckMode::Check => match trace::check_trace(text, hint, settings, self.detail) {
                Ok(report) => TargetResult::Checked(Box::new(report)),
                Err(InputRejection::Skipped) => TargetResult::Skipped,
                Err(InputRejection::Failed(failure)) => TargetResult::Failed(failure),
            },
        })
    }

    /// Checks content. To fix it or to list its edits, repairs it first if the plan has any edits.
    fn check_content(
        &self,
        display_name: &str,
        content: &[u8],
        hint: InputHint,
        settings: &CheckSettings,
        repair: impl FnOnce(RepairPlan<'_>) -> anyhow::Result<FileReport>,
    ) -> anyhow::Result<TargetResult> {
        let plain = decompress(content)?;
        let text = match decode_text(&plain) {
            Ok(text) => text,
            Err(failure) => return Ok(TargetResult::Failed(failure)),
        };
        if let Some(result) = self.check_trace(text.bytes(), hint, settings) {
            return Ok(result);
        }
        let source = match parse_input(&text, hint, settings) {
            Ok(source) => source,
            Err(InputRejection::Skipped) => return Ok(TargetResult::Skipped),
            Err(InputRejection::Failed(failure)) => return Ok(TargetResult::Failed(failure)),
        };
        if let Some(session) = source.session() {
            diagnose::log_session(display_name, session);
        }
        let is_written = self.mode != CheckMode::Check;
        if let Some(session) = source.session().filter(|_| is_written) {
            match repair_plan::check_writable(session.agent) {
                Err(_) if hint.from_folder => return Ok(TargetResult::Skipped),
                checked => checked?,
            }
        }
        if self.mode.lists_edits() {
            let plan = RepairPlan::new(&plain, FileCompression::of(content), &source);
            if !plan.is_empty() {
                // The plan owns what it needs; this frees the memory before the repair.
                drop(source);
                let mut report = repair(plan)?;
                if self.mode.is_preview() {
                    report.planned = std::mem::take(&mut report.fixed);
                }
                return Ok(TargetResult::Checked(Box::new(report)));
            }
        }
        let mut report = build_file_report(&source, self.detail);
        if self.mode == CheckMode::Diff && !report.findings.is_empty() {
            report.diff = diff::of(display_name, &source);
            let allow_unsafe = self.settings.allows_unsafe_fixes();
            report.planned = report.counts.fixable(allow_unsafe);
            report.findings.retain(|finding| !finding.is_fixable(allow_unsafe));
            report.counts.retain(|kind| !kind.is_fixable(allow_unsafe));
        }
        Ok(TargetResult::Checked(Box::new(report)))
    }
}
