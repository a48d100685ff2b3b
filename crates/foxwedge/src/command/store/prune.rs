//! `foxwedge store prune`: deletes sessions without recent activity.

use std::{
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::bail;
use foxwedge_store::{ListFilter, ListPage, PruneReport, SessionRow, Store};

use super::confirm::confirm;
use crate::cli::PruneArgs;
use foxwedge_local::{
    language::localize,
    output::{self, DIM, GOOD, HelpfulError, clean, paint, pluralize},
    runs::{OpenStore, PAGE, SteadyClock},
    screen::format_age,
};

/// Maximum number of sessions listed before the deletion.
const MAX_NAMED_SESSIONS: usize = 20;
/// Number of sessions deleted in one transaction.
const PRUNE_BATCH: usize = 100;

/// Deletes sessions that are older than the limit and have no open run.
pub(super) async fn run(flag: Option<&str>, args: &PruneArgs) -> anyhow::Result<ExitCode> {
    let Some(max_age) = parse_age(&args.older_than) else {
        bail!(
            HelpfulError::new(format!(
                "--older-than: `{}` is not a valid age",
                clean(&args.older_than)
            ))
            .help("an age is a number and a unit: 30d, 12h, 90m, 45s, 8w")
        );
    };
    let open_store = super::open(flag).await?;
    open_store.sweep().await?;
    let before = SteadyClock::start().now().saturating_sub(max_age);
    let old = old_sessions(&open_store, before).await?;
    if old.is_empty() {
        output::write_stderr(&localize(format!(
            "No session is older than {}.\n",
            clean(&args.older_than)
        )));
        // Expired snapshots of live agents are deleted even without old sessions.
        if !args.dry_run {
            open_store.with_store_error(open_store.store.prune(before, PRUNE_BATCH).await)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    output::write_stdout(&session_lines(&old))?;
    let sessions = pluralize(old.len(), "session");
    if args.dry_run {
        output::write_stderr(&localize(format!(
            "{sessions} would be deleted; nothing was deleted.\n"
        )));
        return Ok(ExitCode::SUCCESS);
    }
    let whose = if old.len() == 1 { "its" } else { "their" };
    if !confirm(args.yes, &format!("Delete {sessions} with all {whose} runs?"))? {
        return Ok(ExitCode::FAILURE);
    }
    let deleted = prune_sessions(&open_store, before).await?;
    for row in &old {
        // One that was used meanwhile is still there.
        if open_store.with_store_error(open_store.store.session(&row.id).await)?.is_none() {
            super::remove_file_copies(&row.id);
        }
    }
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    output::write_stderr(&localize(format!(
        "{} {}, {}\n",
        paint(GOOD, "deleted"),
        pluralize(count(deleted.sessions), "session"),
        pluralize(count(deleted.runs), "run"),
    )));
    Ok(ExitCode::SUCCESS)
}

/// Sessions without activity since `before`, except those with an open run.
async fn old_sessions(open_store: &OpenStore, before: u64) -> anyhow::Result<Vec<SessionRow>> {
    let idle = ListFilter { open: Some(false), ..ListFilter::default() };
    let mut page = ListPage { after: None, limit: PAGE };
    let mut old = Vec::new();
    loop {
        let rows = open_store
            .with_store_error(open_store.store.sessions(idle.clone(), page.clone()).await)?;
        let Some(last) = rows.last() else { return Ok(old) };
        page.after = Some(last.id.clone());
        old.extend(rows.into_iter().filter(|row| row.touched < before));
    }
}

async fn prune_sessions(open_store: &OpenStore, before: u64) -> anyhow::Result<PruneReport> {
    let mut total = PruneReport::default();
    loop {
        let batch =
            open_store.with_store_error(open_store.store.prune(before, PRUNE_BATCH).await)?;
        total.sessions += batch.sessions;
        total.runs += batch.runs;
        total.snapshots += batch.snapshots;
        if batch.sessions == 0 {
            return Ok(total);
        }
    }
}

fn session_lines(old: &[SessionRow]) -> String {
    let now = SystemTime::now();
    let line = |row: &SessionRow| {
        let touched = UNIX_EPOCH + Duration::from_millis(row.touched);
        format!("{}  {}\n", row.id, paint(DIM, localize(format_age(touched, now))))
    };
    let mut lines: String = old.iter().take(MAX_NAMED_SESSIONS).map(line).collect();
    if old.len() > MAX_NAMED_SESSIONS {
        lines.push_str(&localize(format!("and {} more\n", old.len() - MAX_NAMED_SESSIONS)));
    }
    lines
}

/// Parses an age such as `30d`. Returns milliseconds.
pub(in crate::command) fn parse_age(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let seconds: u64 = match unit.trim() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(seconds)?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_number_and_a_unit() {
        let table = [
            ("30d", Some(2_592_000_000)),
            ("12h", Some(43_200_000)),
            ("90 min", Some(5_400_000)),
            ("0s", Some(0)),
            ("2w", Some(1_209_600_000)),
            ("30", None),
            ("d", None),
            ("-3d", None),
            ("1.5d", None),
            ("99999999999999999d", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_age(text), expected, "{text}");
        }
    }
}
