//! The list as aligned columns.

use std::{
    io::{self, Write},
    path::Path,
    time::SystemTime,
};

use anstyle::Style;

use super::Row;
use crate::{
    agents,
    say::{BOLD, DIM, clean, count, width},
    screen::{self, Line, age, fit, pad, size, tilde},
    sessions::Health,
    source::labels,
};

/// The most columns of a folder's name.
const PROJECT: usize = 32;
/// The most columns of findings before the titles give way.
const FINDINGS: usize = 16;
/// The most columns of a title in a pipe.
const TITLE: usize = 60;

/// Writes one line for each session.
pub(super) fn write(out: &mut dyn Write, rows: &[Row], now: SystemTime) -> io::Result<()> {
    let home = agents::home();
    let cells: Vec<Cells> = rows.iter().map(|row| Cells::of(row, now, home.as_deref())).collect();
    let widest = |column: fn(&Cells) -> &str| {
        cells.iter().map(|cells| width(column(cells))).max().unwrap_or(0)
    };
    let widths = Widths {
        health: widest(|cells| cells.health.word()),
        product: widest(|cells| &cells.product),
        id: widest(|cells| &cells.id),
        project: widest(|cells| &cells.project),
        age: widest(|cells| &cells.age),
        size: widest(|cells| &cells.size),
        messages: widest(|cells| &cells.messages),
        findings: widest(|cells| &cells.findings).min(FINDINGS),
    };
    let columns = screen::columns();
    for cells in cells {
        out.write_all(cells.line(&widths).draw(columns).as_bytes())?;
    }
    Ok(())
}

/// What stands in the columns of a line.
struct Cells {
    health: Health,
    product: String,
    id: String,
    project: String,
    age: String,
    size: String,
    messages: String,
    findings: String,
    /// What it is called, or why it cannot be read.
    title: String,
    sub_agents: String,
}

struct Widths {
    health: usize,
    product: usize,
    id: usize,
    project: usize,
    age: usize,
    size: usize,
    messages: usize,
    findings: usize,
}

impl Cells {
    fn of(row: &Row, now: SystemTime, home: Option<&Path>) -> Cells {
        let glance = &row.glance;
        let found = match glance.health {
            Health::Ok if !glance.coped.is_empty() => format!("({})", labels(&glance.coped)),
            _ => labels(&glance.findings),
        };
        Cells {
            health: glance.health,
            product: row.entry.product.to_owned(),
            id: clean(&row.short),
            project: glance.project.as_deref().map_or_else(String::new, |path| short(path, home)),
            age: age(row.entry.modified, now),
            size: size(row.entry.size),
            messages: count(glance.messages, "msg"),
            findings: found,
            title: match &glance.why {
                Some(why) => clean(why),
                None => fit(&clean(glance.title.as_deref().unwrap_or_default()), TITLE),
            },
            sub_agents: match row.sub_agents {
                0 => String::new(),
                number => format!("+{}", count(number, "sub-agent")),
            },
        }
    }

    fn line(&self, widths: &Widths) -> Line {
        let plain = Style::new();
        let style = self.health.style();
        let right = |text: &str, columns: usize| {
            format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
        };
        let mut line = Line::new()
            .with(
                style,
                format!("{} {}", self.health.sign(), pad(self.health.word(), widths.health)),
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

/// A folder as people write it, its end rather than its beginning.
fn short(path: &str, home: Option<&Path>) -> String {
    let path = clean(&tilde(path, home));
    if width(&path) <= PROJECT {
        return path;
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 1;
    for c in path.chars().rev() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used > PROJECT {
            break;
        }
        kept.push(c);
    }
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}
