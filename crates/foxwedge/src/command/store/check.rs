//! `foxwedge store check`: looks for damage, and for open runs without a valid lease.

use std::process::ExitCode;

use foxwedge_store::{ArchiveStore, ListFilter, ListPage, RunState, Store, verify_log};

use foxwedge_local::{
    language::localize,
    output::{self, ERROR, HELP, WARNING, clean, paint, pluralize},
    runs::{OpenStore, PAGE, SteadyClock},
};

/// Prints all problems. The exit code is 1 if anything is damaged.
pub(super) async fn run(flag: Option<&str>) -> anyhow::Result<ExitCode> {
    let open_store = super::open(flag).await?;
    let mut report = StoreCheckReport::default();
    for damage in open_store.with_store_error(open_store.store.examine().await)? {
        report.add_damage("database", &damage);
    }
    check_runs(&open_store, &mut report).await?;
    output::write_stdout(&report.lines)?;
    output::write_stderr(&report.summary_text(&open_store));
    Ok(if report.damaged == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Default)]
struct StoreCheckReport {
    lines: String,
    damaged: usize,
    runs: usize,
    events: u64,
    open: usize,
    expired: usize,
}

impl StoreCheckReport {
    fn add_damage(&mut self, place: &str, message: &str) {
        self.damaged += 1;
        let label = paint(ERROR, localize("damaged"));
        let (place, message) = (localize(place), localize(message));
        self.lines.push_str(&format!("{label}  {}: {}\n", clean(&place), clean(&message)));
    }

    fn summary_text(&self, open_store: &OpenStore) -> String {
        let events = usize::try_from(self.events).unwrap_or(usize::MAX);
        let counts = format!("{}, {}", pluralize(self.runs, "run"), pluralize(events, "event"));
        let open = match self.open {
            0 => String::new(),
            open => format!(", {open} running"),
        };
        let summary = match self.damaged {
            0 => format!("no damage ({counts}{open}).\n"),
            damaged => format!("damaged in {} ({counts}{open}).\n", pluralize(damaged, "place")),
        };
        let mut text = format!("{}: {}", open_store.url, localize(summary));
        if self.expired > 0 {
            let help = paint(HELP, localize("help"));
            let sweep = localize("`foxwedge store sweep` closes abandoned runs");
            text.push_str(&format!("  {help}: {sweep}\n"));
        }
        text
    }
}

async fn check_runs(open_store: &OpenStore, report: &mut StoreCheckReport) -> anyhow::Result<()> {
    let now = SteadyClock::start().now();
    let mut page = ListPage { after: None, limit: PAGE };
    loop {
        let rows = open_store
            .with_store_error(open_store.store.runs(ListFilter::default(), page.clone()).await)?;
        let Some(last) = rows.last() else { return Ok(()) };
        page.after = Some(last.id.clone());
        for row in rows {
            report.runs += 1;
            report.events += row.last;
            for damage in
                open_store.with_store_error(verify_log(&*open_store.store, &row.id).await)?
            {
                report.add_damage(
                    &format!("run {}, event {}", damage.run, damage.place),
                    &damage.why,
                );
            }
            if row.state == RunState::Open {
                report.open += 1;
                if row.lease_until.is_none_or(|until| until <= now) {
                    report.expired += 1;
                    let label = paint(WARNING, localize("expired"));
                    let run = localize(format!("run {}: no process holds its lease", row.id));
                    report.lines.push_str(&format!("{label}  {run}\n"));
                }
            }
        }
    }
}
