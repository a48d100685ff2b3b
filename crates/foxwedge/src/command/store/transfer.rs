//! `foxwedge store export` and `import`: sessions with their runs as JSON lines.

use std::{
    error::Error,
    fs::File,
    io::{self, BufReader, BufWriter, Read},
    path::Path,
    process::ExitCode,
    sync::mpsc,
    thread,
};

use anyhow::{Context, anyhow};
use foxwedge_store::{
    ExportReport, ImportReport, StoreError, export as write_all, import as read_all,
};

use crate::cli::{ImportArgs, StoreExportArgs};
use foxwedge_local::{
    disk::write_private,
    language::localize,
    outcome::STDIN,
    output::{self, GOOD, HelpfulError, clean, paint, pluralize},
    runs::{self, OpenStore},
};

/// Maximum number of conflicting ids listed.
const MAX_NAMED_CONFLICTS: usize = 10;

/// Writes sessions to a file or stdout.
pub(super) async fn export(flag: Option<&str>, args: &StoreExportArgs) -> anyhow::Result<ExitCode> {
    let open_store = super::open(flag).await?;
    open_store.sweep().await?;
    let file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let exported = match file {
        Some(path) => export_to_file(&open_store, &args.sessions, path).await?,
        None => {
            let out = BufWriter::with_capacity(1 << 16, io::stdout());
            match write_all(&*open_store.store, &args.sessions, out).await {
                // The reader closed the pipe.
                Err(error) if is_broken_pipe(&error) => return Ok(ExitCode::SUCCESS),
                exported => open_store.with_store_error(exported)?,
            }
        }
    };
    for damage in &exported.damage {
        let help = "everything before the damage was written";
        output::print_error(&HelpfulError::new(damage).help(help).into());
    }
    let ExportReport { sessions, runs, events, records, .. } = exported;
    let to =
        file.map_or_else(String::new, |path| format!(" to {}", clean(&path.to_string_lossy())));
    let counts = describe_counts(sessions, runs, events, records);
    output::write_stderr(&localize(format!("{} {counts}{to}\n", paint(GOOD, "written"))));
    Ok(if exported.damage.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes a complete file or none. A separate thread writes it, and keeps it only after the export
/// has signaled success.
async fn export_to_file(
    open_store: &OpenStore,
    sessions: &[String],
    path: &Path,
) -> anyhow::Result<ExportReport> {
    let unwritable = || format!("`{}` cannot be written", clean(&path.to_string_lossy()));
    let (mut reader, writer) = io::pipe().with_context(unwritable)?;
    let (success, success_receiver) = mpsc::channel();
    let target = path.to_owned();
    let thread = thread::spawn(move || {
        write_private(&target, |out| {
            io::copy(&mut reader, out)?;
            success_receiver.recv().map_err(|_| io::Error::other("the export failed"))
        })
    });
    let out = BufWriter::with_capacity(1 << 16, writer);
    let exported = write_all(&*open_store.store, sessions, out).await;
    if exported.is_ok() {
        let _ = success.send(());
    }
    drop(success);
    let written = thread.join().map_err(|_| anyhow!("the file was not written"))?;
    match exported {
        // A write error, such as a full disk, also closes the pipe: the thread has the cause.
        Err(error) if is_broken_pipe(&error) => {
            written.with_context(unwritable)?;
            open_store.with_store_error(Err(error))
        }
        Err(error) => open_store.with_store_error(Err(error)),
        Ok(exported) => written.with_context(unwritable).map(|()| exported),
    }
}

/// Reads the output of `export`.
pub(super) async fn import(flag: Option<&str>, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let (display_name, reader): (String, Box<dyn Read + Send>) = match &args.file {
        path if path.as_os_str() == "-" => (STDIN.to_owned(), Box::new(io::stdin())),
        path => {
            let display_name = clean(&path.to_string_lossy());
            let file =
                File::open(path).with_context(|| format!("{display_name}: cannot be read"))?;
            (display_name, Box::new(file))
        }
    };
    let open_store = runs::connect(runs::locate(flag)?).await?;
    let imported =
        open_store.with_store_error(read_all(&*open_store.store, BufReader::new(reader)).await)?;
    let open_store = open_store.sweep_and_report().await?;
    Ok(report_import(&display_name, &imported, &open_store))
}

fn report_import(display_name: &str, imported: &ImportReport, open_store: &OpenStore) -> ExitCode {
    let ImportReport { sessions, records, runs, events, conflicts, conflicting, damage } = imported;
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let counts = match sessions + records + runs + events {
        0 => "nothing new".to_owned(),
        _ => describe_counts(*sessions, *runs, *events, *records),
    };
    output::write_stderr(&localize(format!(
        "{} {counts} into {}\n",
        paint(GOOD, "read"),
        clean(&open_store.url.to_string())
    )));
    if *conflicting > 0 {
        let ids: Vec<String> =
            conflicts.iter().take(MAX_NAMED_CONFLICTS).map(|id| format!("`{id}`")).collect();
        let more = number(*conflicting).saturating_sub(ids.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!(
            "{display_name}: {}{more}: already in the store with other content",
            ids.join(", ")
        );
        let help = "the stored content was kept; import into another store, or delete it first";
        output::print_error(&HelpfulError::new(text).help(help).into());
    }
    if let Some(damage) = damage {
        let text = format!("{display_name}:{}: {}", damage.line, damage.what);
        let help = "everything before that line was imported, nothing from there on";
        output::print_error(&HelpfulError::new(text).help(help).into());
    }
    let success = *conflicting == 0 && damage.is_none();
    if success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn describe_counts(sessions: u64, runs: u64, events: u64, records: u64) -> String {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    [
        pluralize(number(sessions), "session"),
        pluralize(number(runs), "run"),
        pluralize(number(events), "event"),
        pluralize(number(records), "record"),
    ]
    .join(", ")
}

fn is_broken_pipe(error: &StoreError) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::BrokenPipe) {
            return true;
        }
        cause = error.source();
    }
    false
}
