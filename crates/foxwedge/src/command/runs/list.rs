//! `foxwedge runs list`: one line for each run, the newest first.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anstyle::Style;
use foxwedge_run::Outcome;
use foxwedge_store::{ListFilter, ListPage, RunRow, RunState, Store};

use super::document;
use crate::cli::ListRunsArgs;
use foxwedge_local::{
    agents::session_lookup::shorten_ids,
    language::{list_separator, localize},
    output::{self, BOLD, DIM, clean, cut, pluralize, width},
    runs::{
        self, StoreLookup,
        draw::{SignSet, format_call_counts, format_duration, outcome_text},
    },
    screen::{self, StyledLine, fit_columns, format_age, pad},
};

/// Number of runs listed without `--limit`.
const DEFAULT_LIMIT: usize = 20;
/// Maximum width of a text in a pipe.
const MAX_TEXT_COLUMNS: usize = 72;

/// Lists runs.
pub(super) async fn run(flag: Option<&str>, args: &ListRunsArgs) -> anyhow::Result<ExitCode> {
    let open_store = match runs::open(flag).await? {
        StoreLookup::Found(open_store) => open_store.sweep_and_report().await?,
        StoreLookup::Absent(url) => {
            if args.json {
                output::write_stdout_raw(|out| document::write(out, &[]))?;
            }
            output::write_stderr(&localize(format!(
                "No run was recorded yet: there is no store at {url}.\n"
            )));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT);
    let filter = ListFilter {
        session: args.session.clone(),
        open: args.open.then_some(true),
        ..ListFilter::default()
    };
    // One more than the limit shows whether there are more.
    let page = ListPage { after: None, limit: limit.saturating_add(1) };
    let mut rows = open_store.with_store_error(open_store.store.runs(filter, page).await)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    if args.json {
        output::write_stdout_raw(|out| document::write(out, &rows))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::write_stdout_styled(|out| write(out, &rows, SystemTime::now()))?;
    output::write_stderr(&footer(&rows, more));
    Ok(ExitCode::SUCCESS)
}

fn footer(rows: &[RunRow], more: bool) -> String {
    if rows.is_empty() {
        return localize("No matching runs.\n").into_owned();
    }
    let open = rows.iter().filter(|row| row.state == RunState::Open).count();
    let completed =
        rows.iter().filter(|row| row.state.outcome() == Some(Outcome::Completed)).count();
    let others = rows.len() - open - completed;
    let parts = [(completed, "completed"), (others, "unsuccessful"), (open, "running")];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, label)| localize(format!("{count} {label}")).into_owned())
        .collect();
    let more = if more { localize("; use --limit for more") } else { "".into() };
    let parts = parts.join(list_separator());
    localize(format!("{}: {parts}{more}.\n", pluralize(rows.len(), "run"))).into_owned()
}

fn write(out: &mut dyn Write, rows: &[RunRow], now: SystemTime) -> io::Result<()> {
    let signs = SignSet::here();
    let ids = shorten_ids(rows.iter().map(|row| row.id.as_str()));
    let cells: Vec<RunListCells> =
        rows.iter().zip(ids).map(|(row, id)| RunListCells::of(row, id, signs, now)).collect();
    let widest = |column: fn(&RunListCells) -> &str| {
        cells.iter().map(|cells| width(column(cells))).max().unwrap_or(0)
    };
    let widths = [
        widest(|cells| &cells.state),
        widest(|cells| &cells.id),
        widest(|cells| &cells.agent),
        widest(|cells| &cells.age),
        widest(|cells| &cells.span),
        widest(|cells| &cells.calls),
    ];
    let columns = screen::terminal_columns();
    cells.iter().try_for_each(|cells| out.write_all(cells.line(&widths).draw(columns).as_bytes()))
}

/// The cells of one line.
struct RunListCells {
    sign: &'static str,
    style: Style,
    state: String,
    id: String,
    agent: String,
    age: String,
    span: String,
    calls: String,
    /// The error, or the final text.
    text: String,
}

impl RunListCells {
    fn of(row: &RunRow, id: &str, signs: SignSet, now: SystemTime) -> RunListCells {
        let (sign, style) = signs.run(row.state.outcome());
        let started = UNIX_EPOCH + Duration::from_millis(row.started);
        let (state, calls, text, ended) = match &row.state {
            RunState::Open => ("running", String::new(), String::new(), None),
            RunState::Ended { ended, summary, at } => {
                let problem = ended.problem.as_ref().map(|problem| problem.message.as_str());
                let text = problem.or(ended.text.as_deref()).unwrap_or_default();
                let words: Vec<&str> = text.split_whitespace().take(40).collect();
                let state = ended.outcome.map_or("ended", outcome_text);
                (state, format_call_counts(summary), clean(&cut(&words.join(" "), 200)), Some(*at))
            }
        };
        let duration = ended.and_then(|at| format_duration(at.saturating_sub(row.started)));
        RunListCells {
            sign,
            style,
            state: localize(state).into_owned(),
            id: id.to_owned(),
            agent: clean(&cut(row.agent.as_deref().unwrap_or("-"), 24)),
            age: localize(format_age(started, now)).into_owned(),
            span: duration.unwrap_or_default(),
            calls,
            text: fit_columns(&text, MAX_TEXT_COLUMNS),
        }
    }

    fn line(&self, widths: &[usize; 6]) -> StyledLine {
        let plain = Style::new();
        let right = |text: &str, columns: usize| {
            format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
        };
        let [state, id, agent, age, span, calls] = *widths;
        StyledLine::new()
            .with(self.style, format!("{} {}", self.sign, pad(&self.state, state)))
            .with(BOLD, format!("  {}", pad(&self.id, id)))
            .with(plain, format!("  {}", pad(&self.agent, agent)))
            .with(plain, format!("  {}", right(&self.age, age)))
            .with(DIM, format!("  {}", right(&self.span, span)))
            .with(DIM, format!("  {}", pad(&self.calls, calls)))
            .with(plain, format!("  {}", self.text))
    }
}
