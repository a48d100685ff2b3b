//! `foxwedge store path`: the location of the store, and its totals.

use std::process::ExitCode;

use foxwedge_store::{ArchiveStore, StoreTotals};
use serde_json::json;

use crate::cli::StorePathArgs;
use foxwedge_local::{
    language::localize,
    output::{self, DIM, clean, paint},
    runs::{self, StoreLookup},
    screen::{format_size, pad},
};

/// Prints the URL without its password, and the totals of the store.
pub(super) async fn run(flag: Option<&str>, args: &StorePathArgs) -> anyhow::Result<ExitCode> {
    let (url, totals) = match runs::open(flag).await? {
        StoreLookup::Absent(url) => (url, None),
        StoreLookup::Found(open_store) => {
            let totals = open_store.with_store_error(open_store.store.totals().await)?;
            (open_store.url, Some(totals))
        }
    };
    let url = clean(&url.to_string());
    if args.json {
        let totals = totals.as_ref().map(document);
        let document = json!({ "version": 1, "store": url, "about": totals });
        output::write_stdout_raw(|out| {
            serde_json::to_writer_pretty(&mut *out, &document)?;
            out.write_all(b"\n")
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    output::write_stdout(&format!("{url}\n"))?;
    match totals {
        None => output::write_stderr(&localize("There is no store there yet.\n")),
        Some(totals) => output::write_stdout(&lines(&totals))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(totals: &StoreTotals) -> String {
    let open = match totals.open {
        0 => String::new(),
        open => localize(format!(", {open} running")).into_owned(),
    };
    let rows = [
        ("schema", totals.schema.to_string()),
        ("sessions", totals.sessions.to_string()),
        ("runs", format!("{}{open}", totals.runs)),
        ("events", totals.events.to_string()),
        ("records", totals.records.to_string()),
        ("size", totals.bytes.map_or_else(|| "?".to_owned(), format_size)),
    ];
    let line = |(label, value): &(&str, String)| {
        format!("  {} {value}\n", paint(DIM, pad(&localize(*label), 8)))
    };
    rows.iter().map(line).collect()
}

fn document(totals: &StoreTotals) -> serde_json::Value {
    json!({
        "schema": totals.schema,
        "sessions": totals.sessions,
        "runs": totals.runs,
        "open": totals.open,
        "events": totals.events,
        "records": totals.records,
        "snapshots": totals.snapshots,
        "bytes": totals.bytes,
    })
}
