//! `foxwedge export`: a session as one document, to read, to keep, to pass on.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, bail};
use foxwedge_core::PartKind;
use foxwedge_formats::model::{ModelHistory, decode};

use crate::{
    agents,
    cli::{ExportArgs, ExportFormat},
    cli_output::{self, CliError, GOOD, clean, paint},
    disk::{FileIdentity, write_private},
    export::{self, ExportHeader},
    screen::abbreviate_home,
    sessions::{self, ConversationFileView, LoadedConversation},
    source::InputDocument,
};

/// Writes one session as a document.
pub(crate) fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, None)?;
    if let Some(output) = &args.output {
        check_output(&loaded, output)?;
    }
    let viewed = loaded.view()?;
    let text = viewed.text()?;
    let document = viewed.document(&text)?;
    let told = sessions::history(&document);
    let history =
        decode(&told, document.draft().format).context("the history cannot be read again")?;
    let title = title(&loaded, &viewed, &document);
    let written = if args.redact {
        let (title, history) = export::redact(&title, &history);
        write(args.format, &title, &history)
    } else {
        write(args.format, &title, &history)
    };
    match &args.output {
        None => cli_output::write_stdout_raw(|out| out.write_all(written.as_bytes()))?,
        Some(output) => {
            let shown = clean(&output.to_string_lossy());
            write_private(output, |out| out.write_all(written.as_bytes()))
                .with_context(|| format!("`{shown}` cannot be written"))?;
            cli_output::write_stderr(&format!("{} {shown}\n", paint(GOOD, "exported")));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write(format: ExportFormat, title: &ExportHeader, history: &ModelHistory<'_>) -> String {
    match format {
        ExportFormat::Markdown => export::markdown(title, history),
        ExportFormat::Html => export::html(title, history),
        ExportFormat::Json => export::json(title, history),
    }
}

/// Refuses to write the document over the session it is about.
fn check_output(loaded: &LoadedConversation, output: &Path) -> anyhow::Result<()> {
    let same = |path: &Path| match (FileIdentity::of(path), FileIdentity::of(output)) {
        (Some(session), Some(output)) => session == output,
        (None, _) | (_, None) => false,
    };
    if loaded.path().is_some_and(same) {
        bail!(
            CliError::new("the document would be written over the session it is about")
                .help("nothing was written; give -o a name of its own")
        );
    }
    Ok(())
}

/// What stands above the conversation.
fn title(
    loaded: &LoadedConversation,
    viewed: &ConversationFileView<'_>,
    document: &InputDocument<'_>,
) -> ExportHeader {
    let draft = document.draft();
    let about = sessions::session(document).map(|session| &session.metadata);
    let said = |text: Option<&std::borrow::Cow<'_, str>>| text.map(|text| text.to_string());
    let facts = loaded.facts(document);
    // Where a user keeps things is nobody's business.
    let home = agents::home_folder();
    let short = |path: &str| abbreviate_home(path, home.as_deref());
    ExportHeader {
        agent: facts.writer.to_owned(),
        session: facts.id.unwrap_or_default(),
        project: facts.project.as_deref().map(short),
        started: said(about.and_then(|about| about.started.as_ref())),
        updated: said(about.and_then(|about| about.updated.as_ref())),
        file: loaded.path().map(|path| short(&path.to_string_lossy())),
        messages: draft.messages.len(),
        calls: draft.parts.iter().filter(|part| matches!(part.kind, PartKind::Call(_))).count(),
        notes: viewed.edits.iter().map(|edit| edit.note.clone()).collect(),
    }
}
