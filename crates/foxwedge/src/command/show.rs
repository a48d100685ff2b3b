//! `foxwedge show`: a session as a tree, and what is wrong with it.

use std::{
    borrow::Cow,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::bail;
use foxwedge_core::Rule;
use foxwedge_dialect::session::Node;

use crate::{
    agents::{self, Rank},
    calendar::date,
    cli::{ShowArgs, View},
    say::{self, BOLD, DIM, GOOD, HELP, Trouble, clean, count, cut, paint},
    screen::{self, pad},
    sessions::{self, Health, Loaded, Viewed},
    source::Document,
    target::One,
    tree::{self, Branches},
};

/// Sub-agents that are named.
const NAMED: usize = 5;

/// Draws one session.
pub(crate) fn run(args: ShowArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, args.format)?;
    let viewed = loaded.view()?;
    let text = viewed.text()?;
    let document = viewed.document(&text)?;
    if args.records && sessions::session(&document).is_none() {
        bail!(
            Trouble::new(format!("{}: this is no session of an agent", clean(&loaded.shown)))
                .help("only sessions are kept in records; leave --records out")
        );
    }
    let nodes = sessions::session(&document).map_or_else(Vec::new, |session| session.nodes());
    say::dressed(|out| write(out, &args, &loaded, &viewed, &document, &nodes))?;
    if !viewed.edits.is_empty() && loaded.path().is_some() {
        let help = paint(HELP, "help");
        say::talk(&format!("  {help}: `foxwedge fix {}` writes this to the file\n", loaded.word()));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(
    out: &mut dyn Write,
    args: &ShowArgs,
    loaded: &Loaded,
    viewed: &Viewed<'_>,
    document: &Document<'_>,
    nodes: &[Node<'_>],
) -> io::Result<()> {
    let columns = screen::columns();
    if args.records {
        let torn = sessions::session(document)
            .map_or_else(Vec::new, |session| session.left_out().unreadable);
        return tree::records(out, nodes, &torn, columns);
    }
    header(out, args.session.view, loaded, viewed, document)?;
    let branches = if args.branches { Branches::Drawn } else { Branches::Counted };
    out.write_all(b"\n")?;
    tree::draw(out, document.draft(), nodes, branches, columns)?;
    repaired(out, viewed)
}

/// What the session is, a line for each thing that is known.
fn header(
    out: &mut dyn Write,
    view: View,
    loaded: &Loaded,
    viewed: &Viewed<'_>,
    document: &Document<'_>,
) -> io::Result<()> {
    let about = sessions::session(document).map(|session| &session.about);
    let facts = loaded.facts(document);
    let name = facts.id.clone().unwrap_or_else(|| loaded.shown.clone());
    writeln!(out, "{} {}", paint(BOLD, facts.writer), paint(BOLD, clean(&name)))?;
    let mut field = |label: &str, value: Option<String>| match value {
        Some(value) => writeln!(out, "  {} {value}", paint(DIM, pad(label, 8))),
        None => Ok(()),
    };
    let said = |text: Option<&Cow<'_, str>>| text.map(|text| clean(&cut(text, 200)));
    let moment = |text: Option<&Cow<'_, str>>| text.map(|text| moment(text));
    field("title", facts.title.map(|title| clean(&cut(&title, 200))))?;
    field("project", facts.project.map(|project| clean(&cut(&project, 200))))?;
    field("file", loaded.path().map(|path| clean(&path.to_string_lossy())))?;
    field("version", said(about.and_then(|about| about.version.as_ref())))?;
    field("model", said(about.and_then(|about| about.model.as_ref())))?;
    field("started", moment(about.and_then(|about| about.started.as_ref())))?;
    field("updated", moment(about.and_then(|about| about.updated.as_ref())))?;
    field("health", Some(health(viewed)))?;
    if viewed.health() != Health::Ok {
        let view = match view {
            View::Raw => "raw: as it stands in the file".to_owned(),
            View::Clean => {
                let repairs = count(viewed.edits.len(), "repair");
                format!("clean: after {repairs}; the file is as it was")
            }
        };
        field("view", Some(view))?;
    }
    field("helpers", facts.id.and_then(|id| helpers(loaded, &id)))
}

/// How the file is, and which rules it breaks.
fn health(viewed: &Viewed<'_>) -> String {
    let health = viewed.health().painted();
    let coped = rules(viewed.coped.iter().map(|finding| (finding.rule, 1)));
    let found = rules(viewed.report.counts.iter().map(|kind| (kind.rule, kind.count)));
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
fn rules(broken: impl Iterator<Item = (&'static Rule, usize)>) -> String {
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
fn helpers(loaded: &Loaded, id: &str) -> Option<String> {
    let One::Session(entry) = &loaded.place else { return None };
    let found = agents::find(&[entry.agent]);
    let parent = Rank::SubAgent(Some(id.to_owned()));
    let ids: Vec<String> = found
        .entries
        .iter()
        .filter(|entry| entry.rank == parent)
        .map(|entry| clean(&entry.id))
        .collect();
    let named: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
    let more = ids.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!ids.is_empty())
        .then(|| format!("{}: {}{more}", count(ids.len(), "sub-agent"), named.join(", ")))
}

/// A time as people write it, if it is spelled as we know it.
fn moment(text: &str) -> String {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = text.parse::<u64>().ok().filter(|_| digits) {
        // Milliseconds have three digits more.
        return date(if text.len() > 11 { number / 1000 } else { number });
    }
    let plain = clean(&cut(text, 40));
    match (plain.get(..10), plain.get(10..11), plain.get(11..19)) {
        (Some(day), Some("T"), Some(time)) if plain.ends_with('Z') => format!("{day} {time} UTC"),
        _ => plain,
    }
}

/// What a repair did to get this view.
fn repaired(out: &mut dyn Write, viewed: &Viewed<'_>) -> io::Result<()> {
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
    use super::moment;

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
            assert_eq!(moment(text), expected);
        }
    }
}
