//! `foxwedge store export` and `import`: sessions with their runs, as JSON lines.

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

use crate::{
    cli::{ImportArgs, StoreExportArgs},
    cli_output::{self, CliError, GOOD, clean, paint, pluralize},
    disk::write_private,
    runs::{self, OpenStore},
    target::STDIN,
};

/// Conflicts that are named.
const MAX_NAMED_CONFLICTS: usize = 10;

/// Writes sessions.
pub(super) async fn export(flag: Option<&str>, args: &StoreExportArgs) -> anyhow::Result<ExitCode> {
    let kept = super::open(flag).await?;
    kept.sweep().await?;
    let file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let exported = match file {
        Some(path) => export_to_file(&kept, &args.sessions, path).await?,
        None => {
            let out = BufWriter::with_capacity(1 << 16, io::stdout());
            match write_all(&*kept.store, &args.sessions, out).await {
                // Whoever listened has heard enough.
                Err(error) if is_broken_pipe(&error) => return Ok(ExitCode::SUCCESS),
                exported => kept.with_store_error(exported)?,
            }
        }
    };
    for damage in &exported.damage {
        let help = "everything that stands before that place was written";
        cli_output::print_error(&CliError::new(damage).help(help).into());
    }
    let ExportReport { sessions, runs, events, records, .. } = exported;
    let to =
        file.map_or_else(String::new, |path| format!(" to {}", clean(&path.to_string_lossy())));
    let what = describe_counts(sessions, runs, events, records);
    cli_output::write_stderr(&format!("{} {what}{to}\n", paint(GOOD, "written")));
    Ok(if exported.damage.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A file that is there as a whole or not at all. It is written by a thread of its own, which
/// hears at the end whether everything went well.
async fn export_to_file(
    kept: &OpenStore,
    sessions: &[String],
    path: &Path,
) -> anyhow::Result<ExportReport> {
    let unwritable = || format!("`{}` cannot be written", clean(&path.to_string_lossy()));
    let (mut reader, writer) = io::pipe().with_context(unwritable)?;
    let (well, heard) = mpsc::channel();
    let place = path.to_owned();
    let thread = thread::spawn(move || {
        write_private(&place, |out| {
            io::copy(&mut reader, out)?;
            heard.recv().map_err(|_| io::Error::other("there is nothing to write"))
        })
    });
    let out = BufWriter::with_capacity(1 << 16, writer);
    let exported = write_all(&*kept.store, sessions, out).await;
    if exported.is_ok() {
        let _ = well.send(());
    }
    drop(well);
    let written = thread.join().map_err(|_| anyhow!("the file was not written"))?;
    match exported {
        // A disk that is full closes the pipe, too: why is known on the other side.
        Err(error) if is_broken_pipe(&error) => {
            written.with_context(unwritable)?;
            kept.with_store_error(Err(error))
        }
        Err(error) => kept.with_store_error(Err(error)),
        Ok(exported) => written.with_context(unwritable).map(|()| exported),
    }
}

/// Reads what `export` wrote.
pub(super) async fn import(flag: Option<&str>, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let (shown, reader): (String, Box<dyn Read + Send>) = match &args.file {
        path if path.as_os_str() == "-" => (STDIN.to_owned(), Box::new(io::stdin())),
        path => {
            let shown = clean(&path.to_string_lossy());
            let file = File::open(path).with_context(|| format!("{shown}: cannot be read"))?;
            (shown, Box::new(file))
        }
    };
    let kept = runs::connect(runs::locate(flag)?).await?;
    let imported = kept.with_store_error(read_all(&*kept.store, BufReader::new(reader)).await)?;
    let kept = kept.sweep_and_report().await?;
    Ok(report_import(&shown, &imported, &kept))
}

fn report_import(shown: &str, imported: &ImportReport, kept: &OpenStore) -> ExitCode {
    let ImportReport { sessions, records, runs, events, conflicts, conflicting, damage } = imported;
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let what = match sessions + records + runs + events {
        0 => "nothing that was not there".to_owned(),
        _ => describe_counts(*sessions, *runs, *events, *records),
    };
    cli_output::write_stderr(&format!(
        "{} {what} into {}\n",
        paint(GOOD, "read"),
        clean(&kept.url.to_string())
    ));
    if *conflicting > 0 {
        let ids: Vec<String> =
            conflicts.iter().take(MAX_NAMED_CONFLICTS).map(|id| format!("`{id}`")).collect();
        let more = number(*conflicting).saturating_sub(ids.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{shown}: {}{more}: something else is there", ids.join(", "));
        let help = "what is there stayed; import into another store, or delete it first";
        cli_output::print_error(&CliError::new(text).help(help).into());
    }
    if let Some(damage) = damage {
        let text = format!("{shown}:{}: {}", damage.line, damage.what);
        let help = "everything before that line was read; nothing from there on";
        cli_output::print_error(&CliError::new(text).help(help).into());
    }
    let well = *conflicting == 0 && damage.is_none();
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
