//! `foxwedge show`: a session as a tree, and what is wrong with it.

use std::{
    borrow::Cow,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::bail;
use foxwedge_core::Rule;
use foxwedge_sessions::RecordNode;

use crate::{
    agents::{self, SessionOrigin},
    calendar::format_date,
    cli::{SessionViewMode, ShowArgs},
    cli_output::{self, BOLD, CliError, DIM, GOOD, HELP, clean, cut, paint, pluralize},
    screen::{self, pad},
    sessions::{self, ConversationFileView, LoadedConversation, SessionHealth},
    source::InputDocument,
    target::SingleTarget,
    tree::{self, BranchDetail},
};

/// Sub-agents that are named.
const MAX_NAMED_SUB_AGENTS: usize = 5;

/// Draws one session.
pub(crate) fn run(args: ShowArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, args.format)?;
    let viewed = loaded.view()?;
    let text = viewed.text()?;
    let document = viewed.document(&text)?;
    if args.records && sessions::session(&document).is_none() {
        bail!(
            CliError::new(format!(
                "{}: this is no session of an agent",
                clean(&loaded.display_name)
            ))
            .help("only sessions are kept in records; leave --records out")
        );
    }
    let nodes = sessions::session(&document).map_or_else(Vec::new, |session| session.nodes());
    cli_output::write_stdout_styled(|out| write(out, &args, &loaded, &viewed, &document, &nodes))?;
    if !viewed.edits.is_empty() && loaded.path().is_some() {
        let help = paint(HELP, "help");
        cli_output::write_stderr(&format!(
            "  {help}: `foxwedge fix {}` writes this to the file\n",
            loaded.command_name()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(
    out: &mut dyn Write,
    args: &ShowArgs,
    loaded: &LoadedConversation,
    viewed: &ConversationFileView<'_>,
    document: &InputDocument<'_>,
    nodes: &[RecordNode<'_>],
) -> io::Result<()> {
    let columns = screen::terminal_columns();
    if args.records {
        let torn = sessions::session(document)
            .map_or_else(Vec::new, |session| session.left_out().unreadable);
        return tree::records(out, nodes, &torn, columns);
    }
    header(out, args.session.view, loaded, viewed, document)?;
    let branches = if args.branches { BranchDetail::Drawn } else { BranchDetail::Counted };
    out.write_all(b"\n")?;
    tree::draw(out, document.draft(), nodes, branches, columns)?;
    write_repairs(out, viewed)
}

/// What the session is, a line for each thing that is known.
fn header(
    out: &mut dyn Write,
    view: SessionViewMode,
    loaded: &LoadedConversation,
    viewed: &ConversationFileView<'_>,
    document: &InputDocument<'_>,
) -> io::Result<()> {
    let about = sessions::session(document).map(|session| &session.metadata);
    let facts = loaded.facts(document);
    let name = facts.id.clone().unwrap_or_else(|| loaded.display_name.clone());
    writeln!(out, "{} {}", paint(BOLD, facts.writer), paint(BOLD, clean(&name)))?;
    let mut field = |label: &str, value: Option<String>| match value {
        Some(value) => writeln!(out, "  {} {value}", paint(DIM, pad(label, 8))),
        None => Ok(()),
    };
    let said = |text: Option<&Cow<'_, str>>| text.map(|text| clean(&cut(text, 200)));
    let moment = |text: Option<&Cow<'_, str>>| text.map(|text| format_time(text));
    field("title", facts.title.map(|title| clean(&cut(&title, 200))))?;
    field("project", facts.project.map(|project| clean(&cut(&project, 200))))?;
    field("file", loaded.path().map(|path| clean(&path.to_string_lossy())))?;
    field("version", said(about.and_then(|about| about.version.as_ref())))?;
    field("model", said(about.and_then(|about| about.model.as_ref())))?;
    field("started", moment(about.and_then(|about| about.started.as_ref())))?;
    field("updated", moment(about.and_then(|about| about.updated.as_ref())))?;
    field("health", Some(describe_health(viewed)))?;
    if viewed.health() != SessionHealth::Ok {
        let view = match view {
            SessionViewMode::Raw => "raw: as it stands in the file".to_owned(),
            SessionViewMode::Clean => {
                let repairs = pluralize(viewed.edits.len(), "repair");
                format!("clean: after {repairs}; the file is as it was")
            }
        };
        field("view", Some(view))?;
    }
    field("helpers", facts.id.and_then(|id| describe_sub_agents(loaded, &id)))
}

/// How the file is, and which rules it breaks.
fn describe_health(viewed: &ConversationFileView<'_>) -> String {
    let health = viewed.health().styled();
    let coped = describe_rules(viewed.tolerated.iter().map(|finding| (finding.rule, 1)));
    let found = describe_rules(viewed.report.counts.iter().map(|kind| (kind.rule, kind.count)));
    let mut text = health;
    if !found.is_empty() {
        text.push_str(&format!("  {found}"));
    }
    if !coped.is_empty() {
        let coped = paint(DIM, format_args!("  (the agent copes with {coped})")).to_string();
        text.push_str(&coped);
    }
    text
}

/// The rules that are broken, and how often.
fn describe_rules(broken: impl Iterator<Item = (&'static Rule, usize)>) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for (rule, number) in broken {
        let (_, times) = counts.entry(rule.code).or_insert((rule, 0));
        *times += number;
    }
    let told =
        counts.values().map(|(rule, times)| format!("{} {}×{times}", rule.label(), rule.name));
    told.collect::<Vec<_>>().join(", ")
}

/// The sub-agents that lie in files of their own.
fn describe_sub_agents(loaded: &LoadedConversation, id: &str) -> Option<String> {
    let SingleTarget::Session(entry) = &loaded.target else { return None };
    let found = agents::find(&[entry.agent]);
    let parent = SessionOrigin::SubAgent(Some(id.to_owned()));
    let ids: Vec<String> = found
        .entries
        .iter()
        .filter(|entry| entry.origin == parent)
        .map(|entry| clean(&entry.id))
        .collect();
    let named: Vec<&str> = ids.iter().take(MAX_NAMED_SUB_AGENTS).map(String::as_str).collect();
    let more = ids.len().saturating_sub(MAX_NAMED_SUB_AGENTS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!ids.is_empty())
        .then(|| format!("{}: {}{more}", pluralize(ids.len(), "sub-agent"), named.join(", ")))
}

/// A time as people write it, if it is spelled as we know it.
fn format_time(text: &str) -> String {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = text.parse::<u64>().ok().filter(|_| digits) {
        // Milliseconds have three digits more.
        return format_date(if text.len() > 11 { number / 1000 } else { number });
    }
    let plain = clean(&cut(text, 40));
    match (plain.get(..10), plain.get(10..11), plain.get(11..19)) {
        (Some(day), Some("T"), Some(time)) if plain.ends_with('Z') => format!("{day} {time} UTC"),
        _ => plain,
    }
}

/// What a repair did to get this view.
fn write_repairs(out: &mut dyn Write, viewed: &ConversationFileView<'_>) -> io::Result<()> {
    if viewed.edits.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(BOLD, "Repaired in this view"))?;
    for edit in &viewed.edits {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        writeln!(out, "  {code}  {}", clean(&cut(&edit.note, 240)))?;
    }
    let more = viewed.edits.len().saturating_sub(viewed.edits.iter().count());
    if more > 0 {
        writeln!(out, "  … and {more} more")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::format_time;

    #[test]
    fn times_are_shown_as_people_write_them() {
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
