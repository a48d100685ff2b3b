//! The session list as aligned columns that fit the terminal.

use std::{
    borrow::Cow,
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use anstyle::Style;

use super::ListedSessionRow;
use foxwedge_chat::PickerRow;
use foxwedge_local::{
    agents,
    language::localize,
    output::{BOLD, DIM, clean, pluralize, width},
    screen::{self, StyledLine, abbreviate_home, fit_columns, format_age, format_size, pad},
    session_health::SessionHealth,
    session_reach::{UNREACHABLE, health_label},
    source::format_rule_counts,
};

/// Maximum width of the project folder. In a narrow terminal the title takes columns from it, down to
/// the minimum.
const MAX_PROJECT_COLUMNS: usize = 32;
const MIN_PROJECT_COLUMNS: usize = 8;
/// Maximum padding of the findings column; longer findings push the title to the right.
const MAX_FINDINGS_COLUMNS: usize = 16;
/// Maximum width of a title in a pipe.
const MAX_TITLE_COLUMNS: usize = 60;
/// Columns that a title needs before less important columns are shown.
const MIN_TITLE_COLUMNS: usize = 24;

/// The columns before the title, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ListColumn {
    Health,
    SessionId,
    Age,
    Project,
    Agent,
    Messages,
    Size,
    Findings,
}

impl ListColumn {
    const ALL: [ListColumn; 8] = [
        ListColumn::Health,
        ListColumn::SessionId,
        ListColumn::Age,
        ListColumn::Project,
        ListColumn::Agent,
        ListColumn::Messages,
        ListColumn::Size,
        ListColumn::Findings,
    ];

    /// The columns that a narrow terminal does without, the first one first.
    const OPTIONAL: [ListColumn; 4] =
        [ListColumn::Size, ListColumn::Messages, ListColumn::Agent, ListColumn::Findings];

    fn header(self) -> Cow<'static, str> {
        localize(match self {
            ListColumn::Health => "STATUS",
            ListColumn::SessionId => "ID",
            ListColumn::Age => "AGE",
            ListColumn::Project => "PROJECT",
            ListColumn::Agent => "AGENT",
            ListColumn::Messages => "MSGS",
            ListColumn::Size => "SIZE",
            ListColumn::Findings => "FINDINGS",
        })
    }

    fn is_number(self) -> bool {
        matches!(self, ListColumn::Messages | ListColumn::Size)
    }

    fn style(self, health: SessionHealth) -> Style {
        match self {
            ListColumn::Health | ListColumn::Findings => health.style(),
            ListColumn::SessionId => BOLD,
            ListColumn::Messages | ListColumn::Size => DIM,
            ListColumn::Age | ListColumn::Project | ListColumn::Agent => Style::new(),
        }
    }
}

/// Rows that decide how wide the columns are: a screen of them. They are written together, the others one by
/// one.
const FIRST_ROWS: usize = 24;

/// The sessions as rows of a list to choose from.
pub(super) struct PickerTable {
    now: SystemTime,
    home: Option<PathBuf>,
    /// The widths of columns; `None` before the first rows are written.
    layout: Option<ListLayout>,
    written: usize,
}

impl PickerTable {
    const COLUMNS: [ListColumn; 4] =
        [ListColumn::SessionId, ListColumn::Age, ListColumn::Agent, ListColumn::Project];

    pub(super) fn new(now: SystemTime) -> PickerTable {
        PickerTable { now, home: agents::home_folder(), layout: None, written: 0 }
    }

    /// The new rows: none before the first ones are complete.
    pub(super) fn ready_rows(&mut self, rows: &[ListedSessionRow]) -> Vec<PickerRow> {
        match self.layout.is_none() && rows.len() < FIRST_ROWS {
            true => Vec::new(),
            false => self.rest(rows),
        }
    }

    /// All new rows.
    pub(super) fn rest(&mut self, rows: &[ListedSessionRow]) -> Vec<PickerRow> {
        let new = rows.get(self.written..).unwrap_or_default();
        let cells_of =
            |row| SessionListCells::of(row, self.now, self.home.as_deref(), MAX_PROJECT_COLUMNS);
        let mut cells: Vec<SessionListCells> = new.iter().map(cells_of).collect();
        shorten_statuses(&mut cells);
        self.written = rows.len();
        let layout = self.layout.get_or_insert_with(|| ListLayout::of(&cells));
        let row = |cells: &SessionListCells| {
            layout.widen(cells);
            let columns = Self::COLUMNS.iter();
            let health = cells.text(ListColumn::Health);
            PickerRow {
                status: (cells.health.style(), pad(&health, layout.width_of(ListColumn::Health))),
                text: columns
                    .map(|column| layout.cell(*column, &cells.text(*column)))
                    .chain([cells.title.clone()])
                    .collect(),
            }
        };
        cells.iter().map(row).collect()
    }
}

/// Writes a header and one line for each session.
pub(super) struct ListTable {
    now: SystemTime,
    home: Option<PathBuf>,
    terminal: Option<usize>,
    /// The columns, and how cells have to fit; `None` before the first rows are written.
    shape: Option<(ListLayout, CellShape)>,
    written: usize,
}

/// How the texts of cells are shortened.
#[derive(Clone, Copy)]
struct CellShape {
    project_columns: usize,
    short_statuses: bool,
}

impl ListTable {
    pub(super) fn new(now: SystemTime) -> ListTable {
        let (home, terminal) = (agents::home_folder(), screen::terminal_columns());
        ListTable { now, home, terminal, shape: None, written: 0 }
    }

    /// Writes the rows that can be written: none before the first ones are complete.
    pub(super) fn write_ready(
        &mut self,
        out: &mut dyn Write,
        rows: &[ListedSessionRow],
    ) -> io::Result<()> {
        match self.shape.is_none() && rows.len() < FIRST_ROWS {
            true => Ok(()),
            false => self.finish(out, rows),
        }
    }

    /// Writes all rows that were not written yet.
    pub(super) fn finish(
        &mut self,
        out: &mut dyn Write,
        rows: &[ListedSessionRow],
    ) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.shape.is_none() {
            let (layout, shape) = self.first_layout(rows);
            out.write_all(layout.header().draw(self.terminal).as_bytes())?;
            self.shape = Some((layout, shape));
        }
        let new = rows.get(self.written..).unwrap_or_default();
        let Some((_, shape)) = &self.shape else { return Ok(()) };
        let cells = self.cells(new, *shape);
        let Some((layout, _)) = &mut self.shape else { return Ok(()) };
        for cells in &cells {
            layout.widen(cells);
            out.write_all(layout.line(cells).draw(self.terminal).as_bytes())?;
        }
        self.written = rows.len();
        out.flush()
    }

    fn cells(&self, rows: &[ListedSessionRow], shape: CellShape) -> Vec<SessionListCells> {
        let columns = shape.project_columns;
        let cells_of = |row| SessionListCells::of(row, self.now, self.home.as_deref(), columns);
        let mut cells: Vec<SessionListCells> = rows.iter().map(cells_of).collect();
        if shape.short_statuses {
            shorten_statuses(&mut cells);
        }
        cells
    }

    /// The columns that fit the terminal.
    fn first_layout(&self, rows: &[ListedSessionRow]) -> (ListLayout, CellShape) {
        let mut shape = CellShape { project_columns: MAX_PROJECT_COLUMNS, short_statuses: false };
        let mut layout = ListLayout::of(&self.cells(rows, shape));
        let Some(columns) = self.terminal else { return (layout, shape) };
        let is_too_wide = |layout: &ListLayout| layout.total() + MIN_TITLE_COLUMNS > columns;
        if is_too_wide(&layout) {
            shape.short_statuses = true;
            layout = ListLayout::of(&self.cells(rows, shape));
        }
        for optional in ListColumn::OPTIONAL {
            if is_too_wide(&layout) {
                layout.remove(optional);
            }
        }
        let missing = (layout.total() + MIN_TITLE_COLUMNS).saturating_sub(columns);
        if missing > 0 {
            let project = layout.width_of(ListColumn::Project).saturating_sub(missing);
            shape.project_columns = project.max(MIN_PROJECT_COLUMNS);
            let narrow = ListLayout::of(&self.cells(rows, shape));
            layout = ListLayout { columns: layout.columns, ..narrow };
        }
        (layout, shape)
    }
}

/// Leaves out the word that says what the share in a status is: `history missing (37 %)`.
fn shorten_statuses(cells: &mut [SessionListCells]) {
    for row in cells {
        row.status = row.status.replace(UNREACHABLE, "");
    }
}

/// The columns that are shown, and how wide each of them is.
struct ListLayout {
    columns: Vec<ListColumn>,
    /// Widths of all columns, shown or not.
    widths: [usize; ListColumn::ALL.len()],
}

impl ListLayout {
    /// Shows every column that has something in it.
    fn of(cells: &[SessionListCells]) -> ListLayout {
        let widest = |column| cells.iter().map(|row| width(&row.text(column))).max().unwrap_or(0);
        let columns: Vec<ListColumn> =
            ListColumn::ALL.into_iter().filter(|column| widest(*column) > 0).collect();
        let widths = ListColumn::ALL.map(|column| {
            let max = match column {
                ListColumn::Findings => MAX_FINDINGS_COLUMNS,
                _ => usize::MAX,
            };
            widest(column).min(max).max(width(&column.header()))
        });
        ListLayout { columns, widths }
    }

    /// Makes room for a row that was not there when the widths were decided.
    fn widen(&mut self, cells: &SessionListCells) {
        for column in ListColumn::ALL {
            if column != ListColumn::Findings {
                let widest = &mut self.widths[column as usize];
                *widest = (*widest).max(width(&cells.text(column)));
            }
        }
    }

    fn remove(&mut self, column: ListColumn) {
        self.columns.retain(|shown| *shown != column);
    }

    fn width_of(&self, column: ListColumn) -> usize {
        self.widths[column as usize]
    }

    /// Width of all columns before the title.
    fn total(&self) -> usize {
        self.columns.iter().map(|column| self.width_of(*column) + 2).sum()
    }

    fn header(&self) -> StyledLine {
        let headed = |line: StyledLine, column: &ListColumn| {
            line.with(DIM, self.cell(*column, &column.header()))
        };
        self.columns.iter().fold(StyledLine::new(), headed).with(DIM, localize("TITLE"))
    }

    fn line(&self, cells: &SessionListCells) -> StyledLine {
        let filled = |line: StyledLine, column: &ListColumn| {
            line.with(column.style(cells.health), self.cell(*column, &cells.text(*column)))
        };
        let line = self.columns.iter().fold(StyledLine::new(), filled);
        let line = line.with(Style::new(), cells.title.clone());
        match cells.sub_agents.as_str() {
            "" => line,
            count => line.with(DIM, format!("  {count}")),
        }
    }

    /// A text, padded to its column, with the gap to the next one.
    fn cell(&self, column: ListColumn, text: &str) -> String {
        let columns = self.width_of(column);
        if column.is_number() {
            format!("{}{text}  ", " ".repeat(columns.saturating_sub(width(text))))
        } else {
            format!("{}  ", pad(text, columns))
        }
    }
}

/// The cells of one line.
struct SessionListCells {
    health: SessionHealth,
    /// The health, and the share of the history that is missing.
    status: String,
    product: String,
    id: String,
    project: String,
    age: String,
    size: String,
    messages: usize,
    findings: String,
    /// The title, or the read error.
    title: String,
    sub_agents: String,
}

impl SessionListCells {
    fn of(
        row: &ListedSessionRow,
        now: SystemTime,
        home: Option<&Path>,
        project_columns: usize,
    ) -> SessionListCells {
        let overview = &row.overview;
        let findings = match overview.health {
            SessionHealth::Ok if !overview.tolerated.is_empty() => {
                format!("({})", format_rule_counts(&overview.tolerated))
            }
            _ => format_rule_counts(&overview.findings),
        };
        let project = overview.project.as_deref();
        SessionListCells {
            health: overview.health,
            status: health_label(overview.health, overview.reach.as_ref()),
            product: row.entry.product.to_owned(),
            id: clean(&row.short_id),
            project: project
                .map_or_else(String::new, |path| short_path(path, home, project_columns)),
            age: short_age(row.entry.modified, now),
            size: format_size(overview.size),
            messages: overview.messages,
            findings,
            title: match &overview.error {
                Some(error) => clean(&localize(error.as_str())),
                None => fit_columns(
                    &clean(overview.title.as_deref().unwrap_or_default()),
                    MAX_TITLE_COLUMNS,
                ),
            },
            sub_agents: match row.sub_agents {
                0 => String::new(),
                count => format!("+{}", localize(pluralize(count, "sub-agent"))),
            },
        }
    }

    fn text(&self, column: ListColumn) -> String {
        match column {
            ListColumn::Health => {
                format!("{} {}", self.health.sign(), localize(self.status.as_str()))
            }
            ListColumn::SessionId => self.id.clone(),
            ListColumn::Age => self.age.clone(),
            ListColumn::Project => self.project.clone(),
            ListColumn::Agent => self.product.clone(),
            ListColumn::Messages => self.messages.to_string(),
            ListColumn::Size => self.size.clone(),
            ListColumn::Findings => self.findings.clone(),
        }
    }
}

/// An age without the words that its header says.
fn short_age(time: SystemTime, now: SystemTime) -> String {
    let age = format_age(time, now);
    localize(age.trim_end_matches(" ago").trim_start_matches("just ")).into_owned()
}

/// Abbreviates the home folder and cuts a long path at its beginning.
fn short_path(path: &str, home: Option<&Path>, max: usize) -> String {
    let path = clean(&abbreviate_home(path, home));
    if width(&path) <= max {
        return path;
    }
    let mut tail: Vec<char> = Vec::new();
    let mut used = 1;
    for c in path.chars().rev() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used > max {
            break;
        }
        tail.push(c);
    }
    std::iter::once('…').chain(tail.into_iter().rev()).collect()
}
