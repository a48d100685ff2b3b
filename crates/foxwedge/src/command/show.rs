//! `foxwedge show`: a session as a tree, with its findings.

use foxwedge_local::session_document;
use std::{
    borrow::Cow,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::bail;
use foxwedge_core::Rule;
use foxwedge_sessions::RecordNode;

use crate::{
    cli::{SessionViewMode, ShowArgs},
    report::edit_note,
    sessions::{self, ConversationFileView, LoadedConversation},
    target::SingleTarget,
};
use foxwedge_local::{
    agents::{self, SessionOrigin},
    calendar::format_date,
    language::localize,
    output::{self, BOLD, DIM, GOOD, HelpfulError, clean, cut, format_help, paint, pluralize},
    pager,
    screen::{self, pad},
    session_health::SessionHealth,
    session_reach::{describe_reach, health_label},
    source::InputDocument,
    tree::{self, BranchDetail},
};

/// Maximum number of sub-agents listed by id.
const MAX_NAMED_SUB_AGENTS: usize = 5;

/// Draws one session.
pub(crate) fn run(args: ShowArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, args.format)?;
    let view = loaded.view()?;
    let text = view.text()?;
    let document = view.document(&text)?;
    if args.records && session_document::session(&document).is_none() {
        bail!(
            HelpfulError::new(format!(
                "{}: this is not an agent session",
                clean(&loaded.display_name)
            ))
            .help("only sessions have records; omit --records")
        );
    }
    let nodes =
        session_document::session(&document).map_or_else(Vec::new, |session| session.nodes());
    pager::write_paged(|out| write(out, &args, &loaded, &view, &document, &nodes))?;
    let is_fixable = session_document::session(&document)
        .is_none_or(|session| session.agent.read_only_reason().is_none());
    if is_fixable && !view.edits.is_empty() && loaded.path().is_some() {
        let name = loaded.command_name();
        output::write_stderr(&format_help(&format!(
            "`foxwedge fix {name}` writes this to the file"
        )));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(
    out: &mut dyn Write,
    args: &ShowArgs,
    loaded: &LoadedConversation,
    view: &ConversationFileView<'_>,
    document: &InputDocument<'_>,
    nodes: &[RecordNode<'_>],
) -> io::Result<()> {
    let columns = screen::terminal_columns();
    if args.records {
        let torn = session_document::session(document)
            .map_or_else(Vec::new, |session| session.left_out().unreadable);
        return tree::records(out, nodes, &torn, columns);
    }
    header(out, args.session.view, loaded, view, document)?;
    let branches = if args.branches { BranchDetail::Drawn } else { BranchDetail::Counted };
    out.write_all(b"\n")?;
    tree::draw(out, document.draft(), nodes, branches, columns)?;
    write_repairs(out, view)
}

/// The header: one line for each known field.
fn header(
    out: &mut dyn Write,
    mode: SessionViewMode,
    loaded: &LoadedConversation,
    view: &ConversationFileView<'_>,
    document: &InputDocument<'_>,
) -> io::Result<()> {
    let metadata = session_document::session(document).map(|session| &session.metadata);
    let facts = loaded.facts(document);
    let name = facts.id.clone().unwrap_or_else(|| loaded.display_name.clone());
    writeln!(out, "{} {}", paint(BOLD, facts.writer), paint(BOLD, clean(&name)))?;
    let mut field = |label: &str, value: Option<String>| match value {
        Some(value) => writeln!(out, "  {} {value}", paint(DIM, pad(&localize(label), 8))),
        None => Ok(()),
    };
    let optional_text = |text: Option<&Cow<'_, str>>| text.map(|text| clean(&cut(text, 200)));
    let optional_time = |text: Option<&Cow<'_, str>>| text.map(|text| format_time(text));
    field("title", facts.title.map(|title| clean(&cut(&title, 200))))?;
    field("project", facts.project.map(|project| clean(&cut(&project, 200))))?;
    field("file", loaded.path().map(|path| clean(&path.to_string_lossy())))?;
    field("version", optional_text(metadata.and_then(|metadata| metadata.version.as_ref())))?;
    field("model", optional_text(metadata.and_then(|metadata| metadata.model.as_ref())))?;
    field("started", optional_time(metadata.and_then(|metadata| metadata.started.as_ref())))?;
    field("updated", optional_time(metadata.and_then(|metadata| metadata.updated.as_ref())))?;
    field("health", Some(describe_health(view)))?;
    field("reach", view.reach.as_ref().map(|reach| localize(describe_reach(reach)).into_owned()))?;
    if view.health() != SessionHealth::Ok {
        let description = match mode {
            SessionViewMode::Raw => "raw: as stored in the file".to_owned(),
            SessionViewMode::Clean => {
                let repairs = pluralize(view.edits.len(), "repair");
                format!("clean: after {repairs}; the file is not changed")
            }
        };
        field("view", Some(localize(description).into_owned()))?;
    }
    field("helpers", facts.id.and_then(|id| describe_sub_agents(loaded, &id)))
}

/// The health of the file, and the rules it breaks.
fn describe_health(view: &ConversationFileView<'_>) -> String {
    let health = view.health();
    let label = localize(health_label(health, view.reach.as_ref()));
    let health = paint(health.style(), format_args!("{} {label}", health.sign()));
    let tolerated = describe_rules(view.tolerated.iter().map(|finding| (finding.rule, 1)));
    let broken = describe_rules(view.report.counts.iter().map(|kind| (kind.rule, kind.count)));
    let mut text = health;
    if !broken.is_empty() {
        text.push_str(&format!("  {broken}"));
    }
    if !tolerated.is_empty() {
        let tolerated = localize(format!("  (the agent tolerates {tolerated})"));
        text.push_str(&paint(DIM, tolerated));
    }
    text
}

/// Broken rules with their counts.
fn describe_rules(broken: impl Iterator<Item = (&'static Rule, usize)>) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for (rule, count) in broken {
        let (_, total) = counts.entry(rule.code).or_insert((rule, 0));
        *total += count;
    }
    let lines =
        counts.values().map(|(rule, total)| format!("{} {}×{total}", rule.label(), rule.name));
    lines.collect::<Vec<_>>().join(", ")
}

/// The sub-agents that have session files of their own.
fn describe_sub_agents(loaded: &LoadedConversation, id: &str) -> Option<String> {
    let SingleTarget::Session(entry) = &loaded.target else { return None };
    let listing = agents::find(&[entry.agent]);
    let parent = SessionOrigin::SubAgent(Some(id.to_owned()));
    let ids: Vec<String> = listing
        .entries
        .iter()
        .filter(|entry| entry.origin == parent)
        .map(|entry| clean(&entry.id))
        .collect();
    let listed: Vec<&str> = ids.iter().take(MAX_NAMED_SUB_AGENTS).map(String::as_str).collect();
    let more = ids.len().saturating_sub(MAX_NAMED_SUB_AGENTS);
    let more = if more > 0 { localize(format!(" and {more} more")) } else { Cow::default() };
    let count = localize(pluralize(ids.len(), "sub-agent"));
    (!ids.is_empty()).then(|| format!("{count}: {}{more}", listed.join(", ")))
}

/// A timestamp as date and time, if its notation is known; otherwise unchanged.
fn format_time(text: &str) -> String {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = text.parse::<u64>().ok().filter(|_| digits) {
        // More than 11 digits are milliseconds, otherwise seconds.
        return format_date(if text.len() > 11 { number / 1000 } else { number });
    }
    let plain = clean(&cut(text, 40));
    match (plain.get(..10), plain.get(10..11), plain.get(11..19)) {
        (Some(day), Some("T"), Some(time)) if plain.ends_with('Z') => format!("{day} {time} UTC"),
        _ => plain,
    }
}

/// The repairs that were made for this view.
fn write_repairs(out: &mut dyn Write, view: &ConversationFileView<'_>) -> io::Result<()> {
    if view.edits.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(BOLD, localize("Repaired in this view")))?;
    for edit in &view.edits {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        writeln!(out, "  {code}  {}", clean(&cut(&edit_note(edit), 240)))?;
    }
    let more = view.edits.len().saturating_sub(view.edits.iter().count());
    if more > 0 {
        writeln!(out, "{}", localize(format!("  … and {more} more")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::format_time;

    #[test]
    fn known_timestamps_are_shown_as_date_and_time() {
        let table = [
            ("2026-01-02T10:00:00.000Z", "2026-01-02 10:00:00 UTC"),
            ("2026-01-02T10:00:00+02:00", "2026-01-02T10:00:00+02:00"),
            ("951782400000", "2000-02-29 00:00:00 UTC"),
            ("951782400", "2000-02-29 00:00:00 UTC"),
            ("soon", "soon"),
        ];
        for (text, expected) in table {
            assert_eq!(format_time(text), expected);
        }
    }
}
