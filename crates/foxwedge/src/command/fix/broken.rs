//! `foxwedge fix --broken`: repairs every session that needs it, after a plan and a question.

use std::{
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::bail;

use crate::{
    check_flags,
    cli::{CheckArgs, FixArgs},
    command::check::{CheckJob, CheckMode, exit_code},
    deliver::write_outcomes,
    flag_conflicts, pool,
    report::{self, ReportTotals, summary},
    sessions::question::{self, QuestionAnswer},
    target::{self, CheckTarget, TargetKind},
};
use foxwedge_local::{
    agents::{LocalSessionEntry, session_lookup},
    calendar::format_timestamp,
    console::busy_process,
    language::localize,
    outcome::{FileReport, SessionRef, TargetFailure, TargetOutcome, TargetResult},
    output::{self, BOLD, HELP, HelpfulError, paint, pluralize, write_stderr},
    session_health::SessionHealth,
    session_overview::{SessionOverview, read_overview},
    user_folders::UserFolders,
};

mod plan;

/// A session that its agent does not open whole, and what a repair would do about it.
struct PlannedSession {
    entry: LocalSessionEntry,
    /// The beginning of its id that no other session shares.
    short_id: String,
    overview: SessionOverview,
    target: CheckTarget,
    preview: TargetOutcome,
    verdict: PlanVerdict,
}

/// Whether a session is repaired.
#[derive(Clone, PartialEq, Eq, Debug)]
enum PlanVerdict {
    Repair,
    /// Why not.
    Skip(String),
}

/// Shows the plan, asks, and repairs.
pub(super) fn run(args: &FixArgs) -> anyhow::Result<ExitCode> {
    let check = CheckArgs { fix: true, ..args.check.clone() };
    flag_conflicts::check(&check)?;
    let settings = check_flags::check_settings(&check)?;
    let detail = report::required_detail(check.output_format);
    let preview = CheckJob {
        settings: settings.clone(),
        detail,
        mode: CheckMode::DryRun,
        writes_elsewhere: false,
    };
    let (sessions, unreadable) = target::find_with_failures(&check.agent);
    let unreadable: Vec<TargetOutcome> =
        unreadable.iter().map(|target| preview.check_target(target)).collect();
    let (total, planned) = plan_repairs(&preview, &sessions, !check.quiet);
    let for_people = check.output_format.is_for_people();
    if check.dry_run {
        let mut outcomes: Vec<TargetOutcome> =
            planned.iter().map(PlannedSession::preview_outcome).collect();
        outcomes.extend(unreadable.iter().cloned());
        if for_people {
            output::write_stdout(&plan::format(&planned, total, usize::MAX))?;
            summary::print_failures(&unreadable);
            if !planned.is_empty() {
                write_stderr(&summary::summary_line(&outcomes, &settings));
            }
        } else {
            write_outcomes(&check, &settings, CheckMode::DryRun, &outcomes)?;
        }
        return Ok(exit_code(&check, CheckMode::DryRun, ReportTotals::of(&outcomes)));
    }
    let repairs = planned.iter().filter(|one| one.verdict == PlanVerdict::Repair).count();
    if !check.quiet && for_people {
        write_stderr(&plan::format(&planned, total, plan::MAX_LINES));
    }
    if planned.is_empty() && for_people {
        summary::print_failures(&unreadable);
        return Ok(exit_code(&check, CheckMode::Fix, ReportTotals::of(&unreadable)));
    }
    if repairs > 0 && !args.yes && !confirm(repairs)? {
        write_stderr(&localize("Nothing was changed.\n"));
        return Ok(ExitCode::FAILURE);
    }
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let fix = CheckJob { mode: CheckMode::Fix, ..preview };
    // One after the other: sessions may share a database, and each repair locks it.
    let mut outcomes = pool::map_in_order(&planned, !check.quiet, |one| match &one.verdict {
        PlanVerdict::Repair => fix.check_target(&one.target),
        PlanVerdict::Skip(_) => one.preview_outcome(),
    });
    let sessions = outcomes.len();
    outcomes.extend(unreadable);
    deliver(&check, &fix, &outcomes, sessions, began)?;
    Ok(exit_code(&check, CheckMode::Fix, ReportTotals::of(&outcomes)))
}

/// Finds the sessions that need a repair. Returns the number of all sessions, too.
fn plan_repairs(
    preview: &CheckJob,
    sessions: &[LocalSessionEntry],
    bar: bool,
) -> (usize, Vec<PlannedSession>) {
    let is_writable = |entry: &LocalSessionEntry| entry.agent.read_only_reason().is_none();
    let short_ids = session_lookup::shorten_ids(sessions.iter().map(|entry| entry.id.as_str()));
    let own = sessions.iter().zip(short_ids).filter(|(entry, _)| !entry.is_sub_agent());
    let entries: Vec<(&LocalSessionEntry, &str)> =
        own.filter(|(entry, _)| is_writable(entry)).collect();
    let planned = pool::map(&entries, bar, |(entry, short_id)| {
        let overview = read_overview(entry);
        if overview.health == SessionHealth::Ok {
            return None;
        }
        let target = target::session_target(
            entry,
            target::has_unique_id(entry, sessions),
            TargetKind::Named,
        );
        let preview = preview.check_target(&target);
        let verdict = judge(entry, &overview, &preview);
        let (entry, short_id) = ((*entry).clone(), (*short_id).to_owned());
        Some(PlannedSession { entry, short_id, overview, target, preview, verdict })
    });
    (entries.len(), planned.into_iter().flatten().collect())
}

/// Decides whether a session is repaired.
fn judge(
    entry: &LocalSessionEntry,
    overview: &SessionOverview,
    preview: &TargetOutcome,
) -> PlanVerdict {
    let report = match &preview.result {
        TargetResult::Checked(report) => report,
        TargetResult::Skipped => return PlanVerdict::Skip("it is no conversation".to_owned()),
        TargetResult::Failed(failure) => return PlanVerdict::Skip(failure.message.clone()),
    };
    if report.applied.is_empty() {
        let needs_flag = ReportTotals::of(std::slice::from_ref(preview)).unsafe_fixable > 0;
        let why = if needs_flag { "it needs --unsafe-fixes" } else { "it has no fix" };
        return PlanVerdict::Skip(why.to_owned());
    }
    let session = SessionRef::of_entry(entry, overview.id.clone(), None);
    match busy_process(&UserFolders::Environment, &entry.path, Some(&session)) {
        Some(reason) => PlanVerdict::Skip(reason),
        None => PlanVerdict::Repair,
    }
}

impl PlannedSession {
    /// The outcome if it is not repaired.
    fn preview_outcome(&self) -> TargetOutcome {
        let mut outcome = self.preview.clone();
        let PlanVerdict::Skip(why) = &self.verdict else { return outcome };
        if let TargetResult::Checked(report) = &outcome.result
            && !report.applied.is_empty()
        {
            // It could be repaired, but not now.
            outcome.result = TargetResult::Failed(TargetFailure::new(why.clone()));
        }
        outcome
    }

    /// The report on a repair of it.
    fn report(&self) -> Option<&FileReport> {
        match &self.preview.result {
            TargetResult::Checked(report) => Some(report),
            TargetResult::Skipped | TargetResult::Failed(_) => None,
        }
    }
}

/// Asks whether to repair. Fails without a terminal.
fn confirm(repairs: usize) -> anyhow::Result<bool> {
    let sessions = pluralize(repairs, "session");
    match question::ask(&localize(format!("Repair {sessions}?"))) {
        QuestionAnswer::Yes => Ok(true),
        QuestionAnswer::No => Ok(false),
        QuestionAnswer::NoTerminal => bail!(
            HelpfulError::new("`fix --broken` asks before it repairs, and there is no terminal")
                .help(
                    "nothing was changed; `foxwedge fix --broken --yes` repairs without asking, \
                     `foxwedge fix --broken --dry-run` prints the plan"
                )
        ),
    }
}

/// Writes what was done: for people one summary, for programs every step. The first outcomes are
/// those of sessions.
fn deliver(
    check: &CheckArgs,
    fix: &CheckJob,
    outcomes: &[TargetOutcome],
    sessions: usize,
    began: u64,
) -> anyhow::Result<()> {
    if !check.output_format.is_for_people() {
        return write_outcomes(check, &fix.settings, CheckMode::Fix, outcomes);
    }
    let is_failed = |outcome: &&TargetOutcome| matches!(outcome.result, TargetResult::Failed(_));
    let failed: Vec<TargetOutcome> = outcomes.iter().filter(is_failed).cloned().collect();
    summary::print_failures(&failed);
    if check.quiet {
        return Ok(());
    }
    let repaired = ReportTotals::of(outcomes).changed;
    let left = sessions - repaired;
    let sessions = pluralize(repaired, "session");
    let done = paint(BOLD, format!("Repaired {sessions}"));
    write_stderr(&localize(match left {
        0 => format!("{done}.\n"),
        left => format!("{done}, skipped {left}.\n"),
    }));
    write_stderr(&summary::summary_line(outcomes, &fix.settings));
    if repaired > 0 {
        let since = format_timestamp(began);
        let undo = localize(format!("`foxwedge undo --since {since}` restores all of them"));
        write_stderr(&format!("  {}: {undo}\n", paint(HELP, localize("help"))));
    }
    Ok(())
}
