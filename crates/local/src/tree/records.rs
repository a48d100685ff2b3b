//! Lists every record of a session file, one line each.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use anstyle::Style;
use foxwedge_sessions::ChainStatus;
use foxwedge_sessions::RecordNode;

use crate::{
    agents::session_lookup,
    language::localize,
    output::{DIM, ERROR, GOOD, WARNING, clean, cut, width},
    screen::{StyledLine, fit_columns, pad},
};

/// Max width of a preview if there is no terminal.
const MAX_TEXT: usize = 60;

/// Writes one line per record: line number, kind, status, id and parent id, preview. `unreadable`
/// has the sorted numbers of the lines that cannot be parsed.
pub fn records(
    out: &mut dyn Write,
    nodes: &[RecordNode<'_>],
    unreadable: &[usize],
    columns: Option<usize>,
) -> io::Result<()> {
    let digits = nodes.last().map_or(1, |node| node.line).to_string().len();
    let kinds = nodes.iter().map(|node| width(&kind(node))).max().unwrap_or(0);
    let ids = ids(nodes);
    let links: Vec<String> = nodes.iter().map(|node| format_links(node, nodes, &ids)).collect();
    let links_width = links.iter().map(|link| width(link)).max().unwrap_or(0);
    for (node, links) in nodes.iter().zip(&links) {
        let (label, style) = match unreadable.binary_search(&node.line) {
            Ok(_) => ("damaged", ERROR),
            Err(_) => standing_style(node.standing),
        };
        let preview = clean(&node.preview);
        let line = StyledLine::new()
            .with(DIM, format!("{:>digits$}", node.line))
            .with(Style::new(), format!("  {}", pad(&kind(node), kinds)))
            .with(style, format!("  {}", pad(&localize(label), 9)))
            .with(Style::new(), format!("  {}", pad(links, links_width)))
            .with(
                DIM,
                format!(
                    "  {}",
                    if columns.is_some() { preview } else { fit_columns(&preview, MAX_TEXT) }
                ),
            );
        out.write_all(line.draw(columns).as_bytes())?;
    }
    Ok(())
}

fn kind(node: &RecordNode<'_>) -> String {
    if node.kind.is_empty() { "-".to_owned() } else { clean(&cut(node.kind, 24)) }
}

/// The ids of all records, each with its shortest unique prefix.
fn ids<'s>(nodes: &[RecordNode<'s>]) -> HashMap<&'s str, &'s str> {
    let whole = nodes.iter().filter_map(|node| node.id);
    whole.clone().zip(session_lookup::shorten_ids(whole)).collect()
}

/// `id ← parent`. Empty for a record without an id: it is in no chain.
fn format_links(
    node: &RecordNode<'_>,
    nodes: &[RecordNode<'_>],
    ids: &HashMap<&str, &str>,
) -> String {
    let short = |id: &str| clean(ids.get(id).copied().unwrap_or(id));
    let parent = node.parent.and_then(|parent| nodes.get(parent)).and_then(|parent| parent.id);
    match (node.id, parent) {
        (Some(id), Some(parent)) => format!("{} ← {}", short(id), short(parent)),
        (Some(id), None) => short(id),
        (None, _) => String::new(),
    }
}

fn standing_style(standing: ChainStatus) -> (&'static str, Style) {
    match standing {
        ChainStatus::Path => ("path", GOOD),
        ChainStatus::Carried => ("carried", GOOD),
        ChainStatus::Recovered => ("recovered", WARNING),
        ChainStatus::Branch => ("branch", DIM),
        ChainStatus::Subagent => ("sub-agent", DIM),
        ChainStatus::Duplicate => ("duplicate", ERROR),
        ChainStatus::Unlinked => ("unlinked", DIM),
    }
}
