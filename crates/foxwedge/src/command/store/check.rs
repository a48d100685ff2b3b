//! `foxwedge store check`: looks for damage, and for runs that nobody looks after.

use std::process::ExitCode;

use foxwedge_store::{ArchiveStore, ListFilter, ListPage, RunState, Store, verify_log};

use crate::{
    cli_output::{self, ERROR, HELP, WARNING, clean, paint, pluralize},
    runs::{OpenStore, PAGE, SteadyClock},
};

/// Prints everything that is wrong; exits 1 if anything is damaged.
pub(super) async fn run(flag: Option<&str>) -> anyhow::Result<ExitCode> {
    let kept = super::open(flag).await?;
    let mut found = StoreCheckReport::default();
    for complaint in kept.with_store_error(kept.store.examine().await)? {
        found.add_damage("database", &complaint);
    }
    check_runs(&kept, &mut found).await?;
    cli_output::write_stdout(&found.lines)?;
    cli_output::write_stderr(&found.summary_text(&kept));
    Ok(if found.damaged == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Default)]
struct StoreCheckReport {
    lines: String,
    damaged: usize,
    runs: usize,
    events: u64,
    open: usize,
    left: usize,
}

impl StoreCheckReport {
    fn add_damage(&mut self, what: &str, why: &str) {
        self.damaged += 1;
        let word = paint(ERROR, "damaged");
        self.lines.push_str(&format!("{word}  {}: {}\n", clean(what), clean(why)));
    }

    fn summary_text(&self, kept: &OpenStore) -> String {
        let events = usize::try_from(self.events).unwrap_or(usize::MAX);
        let read = format!("{}, {}", pluralize(self.runs, "run"), pluralize(events, "event"));
        let open = match self.open {
            0 => String::new(),
            open => format!(", {open} at work"),
        };
        let mut text = match self.damaged {
            0 => format!("{}: sound ({read}{open}).\n", kept.url),
            damaged => {
                format!(
                    "{}: damaged in {} ({read}{open}).\n",
                    kept.url,
                    pluralize(damaged, "place")
                )
            }
        };
        if self.left > 0 {
            let help = paint(HELP, "help");
            text.push_str(&format!(
                "  {help}: `foxwedge store sweep` closes what was left behind\n"
            ));
        }
        text
    }
}

async fn check_runs(kept: &OpenStore, found: &mut StoreCheckReport) -> anyhow::Result<()> {
    let now = SteadyClock::new().now();
    let mut page = ListPage { after: None, limit: PAGE };
    loop {
        let rows =
            kept.with_store_error(kept.store.runs(ListFilter::default(), page.clone()).await)?;
        let Some(last) = rows.last() else { return Ok(()) };
        page.after = Some(last.id.clone());
        for row in rows {
            found.runs += 1;
            found.events += row.last;
            for flaw in kept.with_store_error(verify_log(&*kept.store, &row.id).await)? {
                found.add_damage(&format!("run {}, event {}", flaw.run, flaw.place), &flaw.why);
            }
            if row.state == RunState::Open {
                found.open += 1;
                if row.lease_until.is_none_or(|until| until <= now) {
                    found.left += 1;
                    let word = paint(WARNING, "left");
                    found
                        .lines
                        .push_str(&format!("{word}     run {}: nobody looks after it\n", row.id));
                }
            }
        }
    }
}
