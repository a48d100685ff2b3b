//! `foxwedge export`: writes a session as one Markdown, HTML or JSON document, or all sessions as a
//! folder of them.

use foxwedge_local::session_document;
use std::{path::Path, process::ExitCode};

use anyhow::{Context, bail};
use foxwedge_core::PartKind;
use foxwedge_formats::model::{ModelHistory, decode};

use crate::{
    cli::{ExportArgs, ExportFormat},
    sessions::{self, ConversationFileView, LoadedConversation},
};
use foxwedge_local::{
    agents,
    disk::{FileIdentity, write_private},
    export::{self, ExportHeader},
    language::localize,
    output::{self, GOOD, HelpfulError, clean, paint},
    screen::abbreviate_home,
    session_overview::first_user_text,
    source::InputDocument,
};

mod folder;

/// Writes one session as a document, or all of them.
pub(crate) fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    if let (true, Some(output)) = (args.all, &args.output) {
        return folder::export_all(&args, output);
    }
    let loaded = sessions::open(&args.session, None)?;
    if let Some(output) = &args.output {
        check_output(&loaded, output)?;
    }
    let (_, exported) = export_view(&args, &loaded, &loaded.view()?)?;
    match &args.output {
        None => output::write_stdout_raw(|out| out.write_all(exported.as_bytes()))?,
        Some(output) => {
            let display_name = clean(&output.to_string_lossy());
            write_private(output, |out| out.write_all(exported.as_bytes()))
                .with_context(|| format!("`{display_name}` cannot be written"))?;
            output::write_stderr(&localize(format!(
                "{} {display_name}\n",
                paint(GOOD, "exported")
            )));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The document of a session, and its header.
fn export_view(
    args: &ExportArgs,
    loaded: &LoadedConversation,
    view: &ConversationFileView<'_>,
) -> anyhow::Result<(ExportHeader, String)> {
    let text = view.text()?;
    let document = view.document(&text)?;
    let history_text = session_document::history(&document);
    let history = decode(&history_text, document.draft().format)
        .context("the history cannot be read again")?;
    let header = header(loaded, view, &document);
    Ok(if args.redact {
        let (header, history) = export::redact(&header, &history);
        let text = write(args.format, &header, &history);
        (header, text)
    } else {
        let text = write(args.format, &header, &history);
        (header, text)
    })
}

fn write(format: ExportFormat, header: &ExportHeader, history: &ModelHistory<'_>) -> String {
    match format {
        ExportFormat::Markdown => export::markdown(header, history),
        ExportFormat::Html => export::html(header, history),
        ExportFormat::Json => export::json(header, history),
    }
}

/// Refuses to overwrite the session with its own export.
fn check_output(loaded: &LoadedConversation, output: &Path) -> anyhow::Result<()> {
    let same = |path: &Path| match (FileIdentity::of(path), FileIdentity::of(output)) {
        (Some(session), Some(output)) => session == output,
        (None, _) | (_, None) => false,
    };
    if loaded.path().is_some_and(same) {
        bail!(
            HelpfulError::new("the output file is the session itself")
                .help("nothing was written; choose another file for -o")
        );
    }
    Ok(())
}

/// The header of the document.
fn header(
    loaded: &LoadedConversation,
    view: &ConversationFileView<'_>,
    document: &InputDocument<'_>,
) -> ExportHeader {
    let draft = document.draft();
    let metadata = session_document::session(document).map(|session| &session.metadata);
    let optional_text =
        |text: Option<&std::borrow::Cow<'_, str>>| text.map(|text| text.to_string());
    let facts = loaded.facts(document);
    // The export must not reveal the user's home folder.
    let home = agents::home_folder();
    let short = |path: &str| abbreviate_home(path, home.as_deref());
    ExportHeader {
        agent: facts.writer.to_owned(),
        session: facts.id.unwrap_or_default(),
        title: facts.title.or_else(|| first_user_text(draft)),
        project: facts.project.as_deref().map(short),
        started: optional_text(metadata.and_then(|metadata| metadata.started.as_ref())),
        updated: optional_text(metadata.and_then(|metadata| metadata.updated.as_ref())),
        file: loaded.path().map(|path| short(&path.to_string_lossy())),
        messages: draft.messages.len(),
        calls: draft.parts.iter().filter(|part| matches!(part.kind, PartKind::Call(_))).count(),
        notes: view.edits.iter().map(|edit| edit.note.clone()).collect(),
    }
}
