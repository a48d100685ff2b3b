//! `foxwedge store prune`: deletes sessions that nobody touched for a while.

use std::{
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::bail;
use foxwedge_store::{Filter, Page, Pruned, SessionRow, Store};

use super::confirm::confirmed;
use crate::{
    cli::PruneArgs,
    runs::{Clock, Kept, PAGE},
    say::{self, DIM, GOOD, Trouble, clean, count, paint},
    screen::age,
};

/// Sessions that are named before they go.
const NAMED: usize = 20;
/// Sessions that are deleted in one transaction.
const AT_ONCE: usize = 100;

/// Deletes what is old enough, and has no run at work.
pub(super) async fn run(flag: Option<&str>, args: &PruneArgs) -> anyhow::Result<ExitCode> {
    let Some(older) = milliseconds(&args.older_than) else {
        bail!(
            Trouble::new(format!("--older-than: `{}` is no age", clean(&args.older_than)))
                .help("an age is a number and a unit: 30d, 12h, 90m, 45s, 8w")
        );
    };
    let kept = super::open(flag).await?;
    kept.sweep().await?;
    let before = Clock::new().now().saturating_sub(older);
    let old = old(&kept, before).await?;
    if old.is_empty() {
        say::talk(&format!("No session is older than {}.\n", clean(&args.older_than)));
        // Snapshots of live agents expire by themselves; those that did can go.
        if !args.dry_run {
            kept.or_tell(kept.store.prune(before, AT_ONCE).await)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    say::out(&lines(&old))?;
    let sessions = count(old.len(), "session");
    if args.dry_run {
        say::talk(&format!("{sessions} would be deleted; nothing was.\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let whose = if old.len() == 1 { "its" } else { "their" };
    if !confirmed(args.yes, &format!("Delete {sessions} with all {whose} runs?"))? {
        return Ok(ExitCode::FAILURE);
    }
    let gone = prune(&kept, before).await?;
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    say::talk(&format!(
        "{} {}, {}\n",
        paint(GOOD, "deleted"),
        count(number(gone.sessions), "session"),
        count(number(gone.runs), "run"),
    ));
    Ok(ExitCode::SUCCESS)
}

/// Sessions that nobody touched since, without those that are at work.
async fn old(kept: &Kept, before: u64) -> anyhow::Result<Vec<SessionRow>> {
    let idle = Filter { open: Some(false), ..Filter::default() };
    let mut page = Page { after: None, limit: PAGE };
    let mut old = Vec::new();
    loop {
        let rows = kept.or_tell(kept.store.sessions(idle.clone(), page.clone()).await)?;
        let Some(last) = rows.last() else { return Ok(old) };
        page.after = Some(last.id.clone());
        old.extend(rows.into_iter().filter(|row| row.touched < before));
    }
}

async fn prune(kept: &Kept, before: u64) -> anyhow::Result<Pruned> {
    let mut all = Pruned::default();
    loop {
        let gone = kept.or_tell(kept.store.prune(before, AT_ONCE).await)?;
        all.sessions += gone.sessions;
        all.runs += gone.runs;
        all.snapshots += gone.snapshots;
        if gone.sessions == 0 {
            return Ok(all);
        }
    }
}

fn lines(old: &[SessionRow]) -> String {
    let now = SystemTime::now();
    let line = |row: &SessionRow| {
        let touched = UNIX_EPOCH + Duration::from_millis(row.touched);
        format!("{}  {}\n", row.id, paint(DIM, age(touched, now)))
    };
    let mut lines: String = old.iter().take(NAMED).map(line).collect();
    if old.len() > NAMED {
        lines.push_str(&format!("and {} more\n", old.len() - NAMED));
    }
    lines
}

/// An age, as people write it.
pub(in crate::command) fn milliseconds(text: &str) -> Option<u64> {
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
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
