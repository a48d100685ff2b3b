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
use foxwedge_store::{Exported, Imported, StoreError, export as write_all, import as read_all};

use crate::{
    cli::{ImportArgs, StoreExportArgs},
    disk::write_private,
    runs::{self, Kept},
    say::{self, GOOD, Trouble, clean, count, paint},
    target::STDIN,
};

/// Conflicts that are named.
const NAMED: usize = 10;

/// Writes sessions.
pub(super) async fn export(flag: Option<&str>, args: &StoreExportArgs) -> anyhow::Result<ExitCode> {
    let kept = super::open(flag).await?;
    kept.sweep().await?;
    let file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let exported = match file {
        Some(path) => into_file(&kept, &args.sessions, path).await?,
        None => {
            let out = BufWriter::with_capacity(1 << 16, io::stdout());
            match write_all(&*kept.store, &args.sessions, out).await {
                // Whoever listened has heard enough.
                Err(error) if is_broken_pipe(&error) => return Ok(ExitCode::SUCCESS),
                exported => kept.or_tell(exported)?,
            }
        }
    };
    for damage in &exported.damage {
        let help = "everything that stands before that place was written";
        say::error(&Trouble::new(damage).help(help).into());
    }
    let Exported { sessions, runs, events, records, .. } = exported;
    let to =
        file.map_or_else(String::new, |path| format!(" to {}", clean(&path.to_string_lossy())));
    let what = counted(sessions, runs, events, records);
    say::talk(&format!("{} {what}{to}\n", paint(GOOD, "written")));
    Ok(if exported.damage.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A file that is there as a whole or not at all. It is written by a thread of its own, which
/// hears at the end whether everything went well.
async fn into_file(kept: &Kept, sessions: &[String], path: &Path) -> anyhow::Result<Exported> {
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
            kept.or_tell(Err(error))
        }
        Err(error) => kept.or_tell(Err(error)),
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
    let imported = kept.or_tell(read_all(&*kept.store, BufReader::new(reader)).await)?;
    let kept = kept.swept().await?;
    Ok(told(&shown, &imported, &kept))
}

fn told(shown: &str, imported: &Imported, kept: &Kept) -> ExitCode {
    let Imported { sessions, records, runs, events, conflicts, conflicting, damage } = imported;
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let what = match sessions + records + runs + events {
        0 => "nothing that was not there".to_owned(),
        _ => counted(*sessions, *runs, *events, *records),
    };
    say::talk(&format!("{} {what} into {}\n", paint(GOOD, "read"), clean(&kept.url.to_string())));
    if *conflicting > 0 {
        let ids: Vec<String> = conflicts.iter().take(NAMED).map(|id| format!("`{id}`")).collect();
        let more = number(*conflicting).saturating_sub(ids.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{shown}: {}{more}: something else is there", ids.join(", "));
        let help = "what is there stayed; import into another store, or delete it first";
        say::error(&Trouble::new(text).help(help).into());
    }
    if let Some(damage) = damage {
        let text = format!("{shown}:{}: {}", damage.line, damage.what);
        let help = "everything before that line was read; nothing from there on";
        say::error(&Trouble::new(text).help(help).into());
    }
    let well = *conflicting == 0 && damage.is_none();
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn counted(sessions: u64, runs: u64, events: u64, records: u64) -> String {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    [
        count(number(sessions), "session"),
        count(number(runs), "run"),
        count(number(events), "event"),
        count(number(records), "record"),
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
