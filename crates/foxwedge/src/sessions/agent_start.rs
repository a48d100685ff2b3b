//! Starts an agent on a session: repairs the session first, then hands over the terminal.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::bail;

use super::question::{self, QuestionAnswer};
use crate::{
    cli::RepairArgs,
    command::check::{CheckJob, CheckMode},
    report::{ReportTotals, summary},
    target::{self, TargetKind},
};
use foxwedge_local::{
    agents::LocalSessionEntry,
    check_settings::CheckSettings,
    findings::ReportDetail,
    language::localize,
    outcome::TargetResult,
    output::{self, HelpfulError, clean, write_stderr},
    session_health::SessionHealth,
    session_overview::{SessionOverview, read_overview},
};

/// Whether an agent can be started on a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SessionReadiness {
    /// It opens the session whole, or as far as a repair goes.
    Ready,
    /// The session is still broken. The reason was printed.
    StillBroken,
}

/// Repairs a session if its agent does not open it whole. Prints what was done.
pub(crate) fn repair_first(
    entry: &LocalSessionEntry,
    overview: &SessionOverview,
    flags: &RepairArgs,
) -> SessionReadiness {
    match overview.health {
        SessionHealth::Ok => return SessionReadiness::Ready,
        SessionHealth::Unreadable => {
            let why = overview.error.as_deref().unwrap_or("it cannot be read");
            output::print_note(&format!("{}: not checked: {}", clean(&entry.id), clean(why)));
            return SessionReadiness::Ready;
        }
        SessionHealth::HistoryMissing | SessionHealth::NeedsRepair => {}
    }
    let settings =
        CheckSettings::of(None, flags.policy(false)).skipping_tolerated(flags.spares_tail());
    let job = CheckJob {
        settings,
        detail: ReportDetail::default(),
        mode: CheckMode::Fix,
        writes_elsewhere: false,
    };
    let target = target::session_target(entry, true, TargetKind::Named);
    let outcomes = [job.check_target(&target)];
    summary::print_repairs(&outcomes, false);
    summary::print_failures(&outcomes);
    write_stderr(&summary::summary_line(&outcomes, &job.settings));
    let is_broken = match &outcomes[0].result {
        TargetResult::Checked(_) => ReportTotals::of(&outcomes).findings > 0,
        TargetResult::Skipped | TargetResult::Failed(_) => true,
    };
    if is_broken { SessionReadiness::StillBroken } else { SessionReadiness::Ready }
}

/// Reads the health of a session and repairs it if needed.
pub(crate) fn check_and_repair(entry: &LocalSessionEntry, flags: &RepairArgs) -> SessionReadiness {
    repair_first(entry, &read_overview(entry), flags)
}

/// Whether to start the agent although its session is still broken: asks on a terminal, otherwise
/// `without_terminal` decides.
pub(crate) fn start_anyway(program: &str, without_terminal: bool) -> bool {
    match question::ask(&localize(format!("Start {} anyway?", clean(program)))) {
        QuestionAnswer::Yes => true,
        QuestionAnswer::No => false,
        QuestionAnswer::NoTerminal => without_terminal,
    }
}

/// The path of a program: itself if it is a path, else the first one in the folders of `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    let folders = env::var_os("PATH")?;
    let names: Vec<String> = match cfg!(windows) {
        true => ["exe", "cmd", "bat"].map(|ending| format!("{name}.{ending}")).to_vec(),
        false => vec![name.to_owned()],
    };
    env::split_paths(&folders)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)).collect::<Vec<_>>())
        .find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Hands the terminal over to a program. On Unix it replaces this process.
pub(crate) fn hand_over(mut command: Command) -> anyhow::Result<ExitCode> {
    let name = clean(&command.get_program().to_string_lossy());
    let error = match replace_process(&mut command) {
        Ok(code) => return Ok(code),
        Err(error) => error,
    };
    bail!(HelpfulError::new(format!("`{name}` cannot be started: {error}")))
}

#[cfg(unix)]
fn replace_process(command: &mut Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec())
}

#[cfg(not(unix))]
fn replace_process(command: &mut Command) -> std::io::Result<ExitCode> {
    let code = command.status()?.code().unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
