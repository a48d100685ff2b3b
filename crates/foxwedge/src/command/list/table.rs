//! The session list as aligned columns.

use std::{
    io::{self, Write},
    path::Path,
    time::SystemTime,
};

use anstyle::Style;

use super::ListedSessionRow;
use foxwedge_local::{
    agents,
    output::{BOLD, DIM, clean, pluralize, width},
    screen::{self, StyledLine, abbreviate_home, fit_columns, format_age, format_size, pad},
    session_health::SessionHealth,
    source::format_rule_counts,
};

/// Maximum width of the project folder.
const MAX_PROJECT_COLUMNS: usize = 32;
/// Maximum padding of the findings column; longer findings push the title to the right.
const MAX_FINDINGS_COLUMNS: usize = 16;
/// Maximum width of a title in a pipe.
const MAX_TITLE_COLUMNS: usize = 60;

/// Writes one line for each session.
pub(super) fn write(
    out: &mut dyn Write,
    rows: &[ListedSessionRow],
    now: SystemTime,
) -> io::Result<()> {
    let home = agents::home_folder();
    let cells: Vec<SessionListCells> =
        rows.iter().map(|row| SessionListCells::of(row, now, home.as_deref())).collect();
    let widest = |column: fn(&SessionListCells) -> &str| {
        cells.iter().map(|cells| width(column(cells))).max().unwrap_or(0)
    };
    let widths = SessionListWidths {
        health: widest(|cells| cells.health.label()),
        product: widest(|cells| &cells.product),
        id: widest(|cells| &cells.id),
        project: widest(|cells| &cells.project),
        age: widest(|cells| &cells.age),
        size: widest(|cells| &cells.size),
        messages: widest(|cells| &cells.messages),
        findings: widest(|cells| &cells.findings).min(MAX_FINDINGS_COLUMNS),
    };
    let columns = screen::terminal_columns();
    for cells in cells {
        out.write_all(cells.line(&widths).draw(columns).as_bytes())?;
    }
    Ok(())
}

/// The cells of one line.
struct SessionListCells {
    health: SessionHealth,
    product: String,
    id: String,
    project: String,
    age: String,
    size: String,
    messages: String,
    findings: String,
    /// The title, or the read error.
    title: String,
    sub_agents: String,
}

struct SessionListWidths {
    health: usize,
    product: usize,
    id: usize,
    project: usize,
    age: usize,
    size: usize,
    messages: usize,
    findings: usize,
}

impl SessionListCells {
    fn of(row: &ListedSessionRow, now: SystemTime, home: Option<&Path>) -> SessionListCells {
        let overview = &row.overview;
        let findings = match overview.health {
            SessionHealth::Ok if !overview.tolerated.is_empty() => {
                format!("({})", format_rule_counts(&overview.tolerated))
            }
            _ => format_rule_counts(&overview.findings),
        };
        SessionListCells {
            health: overview.health,
            product: row.entry.product.to_owned(),
            id: clean(&row.short_id),
            project: overview
                .project
                .as_deref()
                .map_or_else(String::new, |path| short_path(path, home)),
            age: format_age(row.entry.modified, now),
            size: format_size(row.entry.size),
            messages: pluralize(overview.messages, "msg"),
            findings,
            title: match &overview.error {
                Some(error) => clean(error),
                None => fit_columns(
                    &clean(overview.title.as_deref().unwrap_or_default()),
                    MAX_TITLE_COLUMNS,
                ),
            },
            sub_agents: match row.sub_agents {
                0 => String::new(),
                count => format!("+{}", pluralize(count, "sub-agent")),
            },
        }
    }

    fn line(&self, widths: &SessionListWidths) -> StyledLine {
        let plain = Style::new();
        let style = self.health.style();
        let right = |text: &str, columns: usize| {
            format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
        };
        let mut line = StyledLine::new()
            .with(
                style,
                format!("{} {}", self.health.sign(), pad(self.health.label(), widths.health)),
            )
            .with(plain, format!("  {}", pad(&self.product, widths.product)))
            .with(BOLD, format!("  {}", pad(&self.id, widths.id)))
            .with(plain, format!("  {}", pad(&self.project, widths.project)))
            .with(plain, format!("  {}", right(&self.age, widths.age)))
            .with(DIM, format!("  {}", right(&self.size, widths.size)))
            .with(DIM, format!("  {}", right(&self.messages, widths.messages)));
        if widths.findings > 0 {
            line = line.with(style, format!("  {}", pad(&self.findings, widths.findings)));
        }
        for (style, text) in [(plain, &self.title), (DIM, &self.sub_agents)] {
            if !text.is_empty() {
                line = line.with(style, format!("  {text}"));
            }
        }
        line
    }
}

/// Abbreviates the home folder and cuts a long path at its beginning.
fn short_path(path: &str, home: Option<&Path>) -> String {
    let path = clean(&abbreviate_home(path, home));
    if width(&path) <= MAX_PROJECT_COLUMNS {
        return path;
    }
    let mut tail: Vec<char> = Vec::new();
    let mut used = 1;
    for c in path.chars().rev() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used > MAX_PROJECT_COLUMNS {
            break;
        }
        tail.push(c);
    }
    std::iter::once('…').chain(tail.into_iter().rev()).collect()
}
