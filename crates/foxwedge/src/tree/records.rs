//! Every record of a file, a line each.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use anstyle::Style;
use foxwedge_sessions::ChainStatus;
use foxwedge_sessions::RecordNode;

use crate::{
    agents::session_lookup,
    cli_output::{DIM, ERROR, GOOD, WARNING, clean, cut, width},
    screen::{StyledLine, fit_columns, pad},
};

/// Columns of what a record says where no screen cuts it.
const MAX_TEXT: usize = 60;

/// Writes the log of a file: line, kind, what became of it, its id and its parent's. The lines that
/// nobody can read are given in order.
pub(crate) fn records(
    out: &mut dyn Write,
    nodes: &[RecordNode<'_>],
    torn: &[usize],
    columns: Option<usize>,
) -> io::Result<()> {
    let digits = nodes.last().map_or(1, |node| node.line).to_string().len();
    let kinds = nodes.iter().map(|node| width(&kind(node))).max().unwrap_or(0);
    let ids = ids(nodes);
    let links: Vec<String> = nodes.iter().map(|node| format_links(node, nodes, &ids)).collect();
    let wide = links.iter().map(|link| width(link)).max().unwrap_or(0);
    for (node, links) in nodes.iter().zip(&links) {
        let (word, style) = match torn.binary_search(&node.line) {
            Ok(_) => ("torn", ERROR),
            Err(_) => standing_style(node.standing),
        };
        let words = clean(&node.preview);
        let line = StyledLine::new()
            .with(DIM, format!("{:>digits$}", node.line))
            .with(Style::new(), format!("  {}", pad(&kind(node), kinds)))
            .with(style, format!("  {}", pad(word, 9)))
            .with(Style::new(), format!("  {}", pad(links, wide)))
            .with(
                DIM,
                format!(
                    "  {}",
                    if columns.is_some() { words } else { fit_columns(&words, MAX_TEXT) }
                ),
            );
        out.write_all(line.draw(columns).as_bytes())?;
    }
    Ok(())
}

fn kind(node: &RecordNode<'_>) -> String {
    if node.kind.is_empty() { "-".to_owned() } else { clean(&cut(node.kind, 24)) }
}

/// The ids of all records, as short as they can be told apart.
fn ids<'s>(nodes: &[RecordNode<'s>]) -> HashMap<&'s str, &'s str> {
    let whole = nodes.iter().filter_map(|node| node.id);
    whole.clone().zip(session_lookup::shorten_ids(whole)).collect()
}

/// `id ← parent`; a record without an id is in nobody's chain.
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
        ChainStatus::Duplicate => ("twin", ERROR),
        ChainStatus::Unlinked => ("aside", DIM),
    }
}
