//! `foxwedge runs show`: one run with its tool calls, tasks and outcome.

mod tree;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use foxwedge_run::{Run, RunEffect, RunEnd, RunPhase, SessionMachine};
use foxwedge_store::{RunRow, RunState};
use serde::Serialize;
use serde_json::Value;

use super::document;
use crate::cli::ShowRunArgs;
use foxwedge_local::{
    calendar::format_date,
    language::localize,
    output::{self, BOLD, DIM, HELP, clean, cut, paint},
    runs::{
        self, OpenStore, RunTimes,
        draw::{self, SignSet},
    },
    screen::{self, StyledLine, pad},
};

/// Prints one run.
pub(super) async fn run(flag: Option<&str>, args: &ShowRunArgs) -> anyhow::Result<ExitCode> {
    let open_store = super::open(flag).await?;
    let row = match args.run.as_deref() {
        Some(id) => runs::find_run(&open_store, id).await?,
        None => runs::newest_run(&open_store).await?,
    };
    let mut times = RunTimes::default();
    let session =
        runs::replay(&open_store, &row.id, |effect: &RunEffect| times.record(effect)).await?;
    if args.json {
        output::write_stdout_raw(|out| {
            document::write_pretty(out, &ShownRunJson::of(&row, &session))
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    output::write_stdout_styled(|out| write(out, &open_store, &row, &session, &times))?;
    if row.state == RunState::Open {
        let help = paint(HELP, localize("help"));
        let (id, store_flag) = (&row.id, runs::repeat_store_flag(flag));
        output::write_stderr(&localize(format!(
            "  {help}: `foxwedge runs events {id} --follow{store_flag}` follows it\n"
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// The row of the run, and the state that its events give.
#[derive(Serialize)]
struct ShownRunJson<'a> {
    version: u32,
    run: document::ListedRunJson<'a>,
    truth: Option<Value>,
    tasks: Option<Value>,
}

impl<'a> ShownRunJson<'a> {
    fn of(row: &'a RunRow, session: &SessionMachine) -> ShownRunJson<'a> {
        let tasks = session.canonical_state().get("tasks").cloned();
        let truth = session.run(&row.id).map(Run::canonical_state);
        ShownRunJson { version: 1, run: document::ListedRunJson::of(row), truth, tasks }
    }
}

fn write(
    out: &mut dyn Write,
    open_store: &OpenStore,
    row: &RunRow,
    session: &SessionMachine,
    times: &RunTimes,
) -> io::Result<()> {
    let (signs, columns) = (SignSet::here(), screen::terminal_columns());
    header(out, open_store, row)?;
    let Some(run) = session.run(&row.id) else { return Ok(()) };
    if !run.tools().is_empty() {
        out.write_all(b"\n")?;
        tree::write(out, run, times, signs, columns)?;
    }
    tasks(out, session, signs, columns)?;
    let ended = match run.phase() {
        RunPhase::Ended { ended, .. } => ended.clone(),
        RunPhase::Running | RunPhase::Stopping { .. } => RunEnd::default(),
    };
    if let Some(text) = ended.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        out.write_all(b"\n")?;
        for line in text.lines() {
            writeln!(out, "{}", clean(&line.replace('\t', "    ")).trim_end())?;
        }
    }
    out.write_all(b"\n")?;
    let usage = ended.usage.or(Some(run.usage()));
    let ended = RunEnd { usage, ..ended };
    let duration = times.of_run(run.id(), times.last());
    let line: StyledLine = draw::run_end_line(signs, &ended, &run.summary(), duration);
    out.write_all(line.draw(None).as_bytes())
}

/// The header: one line for each known field.
fn header(out: &mut dyn Write, open_store: &OpenStore, row: &RunRow) -> io::Result<()> {
    let agent = clean(&cut(row.agent.as_deref().unwrap_or("run"), 60));
    writeln!(out, "{} {}", paint(BOLD, agent), paint(BOLD, &row.id))?;
    let mut field = |label: &str, value: Option<String>| match value {
        Some(value) => writeln!(out, "  {} {value}", paint(DIM, pad(&localize(label), 8))),
        None => Ok(()),
    };
    field("model", row.model.as_ref().map(|model| clean(&cut(model, 100))))?;
    let session = localize(format!("{}, run {}", row.session, row.epoch)).into_owned();
    field("session", Some(session))?;
    field("started", Some(format_date(row.started / 1000)))?;
    match &row.state {
        RunState::Open => {
            let owner = row.lease.as_ref().map(|lease| runs::describe_owner(&lease.owner));
            field("held by", owner.map(|owner| localize(owner).into_owned()))?;
            field("until", row.lease_until.map(|until| format_date(until / 1000)))?;
        }
        RunState::Ended { at, .. } => field("ended", Some(format_date(*at / 1000)))?,
    }
    field("events", Some(row.last.to_string()))?;
    field("store", Some(clean(&open_store.url.to_string())))
}

fn tasks(
    out: &mut dyn Write,
    session: &SessionMachine,
    signs: SignSet,
    columns: Option<usize>,
) -> io::Result<()> {
    if session.tasks().is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(BOLD, localize("Tasks")))?;
    for task in session.tasks() {
        let (sign, style) = signs.task(task.status);
        let words: Vec<&str> = task.content.split_whitespace().collect();
        let line = StyledLine::new()
            .with(style, format!("{sign} "))
            .with(anstyle::Style::new(), clean(&cut(&words.join(" "), 200)));
        out.write_all(line.draw(columns).as_bytes())?;
    }
    Ok(())
}
