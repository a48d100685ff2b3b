//! `foxwedge store check`: looks for damage, and for runs that nobody looks after.

use std::process::ExitCode;

use foxwedge_store::{Archive, Filter, Page, RunState, Store, verify};

use crate::{
    runs::{Clock, Kept, PAGE},
    say::{self, ERROR, HELP, WARNING, clean, count, paint},
};

/// Prints everything that is wrong; exits 1 if anything is damaged.
pub(super) async fn run(flag: Option<&str>) -> anyhow::Result<ExitCode> {
    let kept = super::open(flag).await?;
    let mut found = Found::default();
    for complaint in kept.or_tell(kept.store.examine().await)? {
        found.damage("database", &complaint);
    }
    runs(&kept, &mut found).await?;
    say::out(&found.lines)?;
    say::talk(&found.told(&kept));
    Ok(if found.damaged == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Default)]
struct Found {
    lines: String,
    damaged: usize,
    runs: usize,
    events: u64,
    open: usize,
    left: usize,
}

impl Found {
    fn damage(&mut self, what: &str, why: &str) {
        self.damaged += 1;
        let word = paint(ERROR, "damaged");
        self.lines.push_str(&format!("{word}  {}: {}\n", clean(what), clean(why)));
    }

    fn told(&self, kept: &Kept) -> String {
        let events = usize::try_from(self.events).unwrap_or(usize::MAX);
        let read = format!("{}, {}", count(self.runs, "run"), count(events, "event"));
        let open = match self.open {
            0 => String::new(),
            open => format!(", {open} at work"),
        };
        let mut text = match self.damaged {
            0 => format!("{}: sound ({read}{open}).\n", kept.url),
            damaged => {
                format!("{}: damaged in {} ({read}{open}).\n", kept.url, count(damaged, "place"))
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

async fn runs(kept: &Kept, found: &mut Found) -> anyhow::Result<()> {
    let now = Clock::new().now();
    let mut page = Page { after: None, limit: PAGE };
    loop {
        let rows = kept.or_tell(kept.store.runs(Filter::default(), page.clone()).await)?;
        let Some(last) = rows.last() else { return Ok(()) };
        page.after = Some(last.id.clone());
        for row in rows {
            found.runs += 1;
            found.events += row.last;
            for flaw in kept.or_tell(verify(&*kept.store, &row.id).await)? {
                found.damage(&format!("run {}, event {}", flaw.run, flaw.place), &flaw.why);
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
