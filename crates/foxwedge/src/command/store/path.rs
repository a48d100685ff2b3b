//! `foxwedge store path`: where the store is, and what is in it.

use std::process::ExitCode;

use foxwedge_store::{ArchiveStore, StoreTotals};
use serde_json::json;

use crate::{
    cli::StorePathArgs,
    cli_output::{self, DIM, clean, paint},
    runs::{self, StoreLookup},
    screen::{format_size, pad},
};

/// Prints the address without its password, and what lies there.
pub(super) async fn run(flag: Option<&str>, args: &StorePathArgs) -> anyhow::Result<ExitCode> {
    let (url, about) = match runs::open(flag).await? {
        StoreLookup::Absent(url) => (url, None),
        StoreLookup::Found(kept) => {
            let about = kept.with_store_error(kept.store.totals().await)?;
            (kept.url, Some(about))
        }
    };
    let url = clean(&url.to_string());
    if args.json {
        let about = about.as_ref().map(document);
        let document = json!({ "version": 1, "store": url, "about": about });
        cli_output::write_stdout_raw(|out| {
            serde_json::to_writer_pretty(&mut *out, &document)?;
            out.write_all(b"\n")
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    cli_output::write_stdout(&format!("{url}\n"))?;
    match about {
        None => cli_output::write_stderr("Nothing was kept there yet.\n"),
        Some(about) => cli_output::write_stdout(&lines(&about))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(about: &StoreTotals) -> String {
    let open = match about.open {
        0 => String::new(),
        open => format!(", {open} at work"),
    };
    let facts = [
        ("schema", about.schema.to_string()),
        ("sessions", about.sessions.to_string()),
        ("runs", format!("{}{open}", about.runs)),
        ("events", about.events.to_string()),
        ("records", about.records.to_string()),
        ("size", about.bytes.map_or_else(|| "?".to_owned(), format_size)),
    ];
    let line =
        |(label, value): &(&str, String)| format!("  {} {value}\n", paint(DIM, pad(label, 8)));
    facts.iter().map(line).collect()
}

fn document(about: &StoreTotals) -> serde_json::Value {
    json!({
        "schema": about.schema,
        "sessions": about.sessions,
        "runs": about.runs,
        "open": about.open,
        "events": about.events,
        "records": about.records,
        "snapshots": about.snapshots,
        "bytes": about.bytes,
    })
}
