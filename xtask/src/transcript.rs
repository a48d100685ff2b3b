//! The terminal sessions in the READMEs and the manual are true: they are run again and compared.
//!
//! A session is a fenced `text` block that starts with `$ `, in any document: no page can be forgotten.
//! `$ cat FILE` makes the file (`~/` is the home folder), `$ export NAME=VALUE` sets a variable for the
//! rest of the page, `$ foxwedge …` is run by a shell in the same folder, and servers listen until the
//! end of the page. Each document starts afresh; what it needs and does not show is in
//! `fixtures/manual/DOCUMENT`.

mod sandbox;
mod volatile;

use std::{fs, io};

use crate::{
    Outcome, ci,
    workspace::{self, File},
};
use sandbox::TranscriptSandbox;

/// The start of a session.
const SESSION: &str = "```text\n$ ";

/// Says whether the sessions are true.
pub(crate) fn check() -> Outcome {
    let mut wrong = Vec::new();
    let documents = replayed()?;
    for ReplayedDocument { path, old, new, .. } in &documents {
        let mut lines = old.lines().zip(new.lines()).enumerate();
        let differs = lines.find(|(_, (old, new))| old != new);
        if let Some((at, (old, new))) = differs {
            wrong.push(format!("{path}:{}\n  says  {old}\n  is    {new}", at + 1));
        } else if old != new {
            wrong.push(format!("{path}: a session is longer or shorter than it says"));
        }
    }
    if !wrong.is_empty() {
        return Err(format!("{}\nrun `cargo xtask transcript --write`", wrong.join("\n")));
    }
    let commands: usize = documents.iter().map(|document| document.commands).sum();
    println!("{commands} commands in {} documents print what they say", documents.len());
    Ok(())
}

/// Writes what the binary prints into the sessions.
pub(crate) fn write() -> Outcome {
    for ReplayedDocument { path, old, new, .. } in replayed()? {
        if old != new {
            fs::write(workspace::root().join(&path), new)
                .map_err(|error| format!("{path}: {error}"))?;
            println!("{path} written anew");
        }
    }
    Ok(())
}

/// A document as it is, and as it should be.
struct ReplayedDocument {
    path: String,
    old: String,
    new: String,
    /// How many commands were run.
    commands: usize,
}

/// Every document with a session.
fn replayed() -> Result<Vec<ReplayedDocument>, String> {
    let binary = ci::binary()?;
    let mut documents = Vec::new();
    for File { path, text } in workspace::files()? {
        if !path.ends_with(".md") || !text.contains(SESSION) {
            continue;
        }
        let mut commands = 0;
        let new = TranscriptSandbox::new(&binary, &path).and_then(|sandbox| {
            replay(&text, |command, shown| {
                commands += 1;
                sandbox.run(command, shown)
            })
        });
        let new = new.map_err(|error| format!("{path}: {error}"))?;
        documents.push(ReplayedDocument { path, old: text, new, commands });
    }
    Ok(documents)
}

/// Runs every session of a document; the document with what they print now.
fn replay(
    document: &str,
    mut run: impl FnMut(&str, &str) -> io::Result<String>,
) -> io::Result<String> {
    let mut text = String::new();
    let mut rest = document;
    while let Some((before, session)) = rest.split_once(SESSION) {
        let Some((session, after)) = session.split_once("\n```") else { break };
        text.push_str(before);
        text.push_str("```text\n");
        let commands: Vec<&str> = session.split("\n$ ").collect();
        for (at, part) in commands.iter().enumerate() {
            let (command, shown) = part.split_once('\n').unwrap_or((part, ""));
            let printed = run(command, shown)?;
            let printed = printed.trim_end();
            // What is shown stays, unless more than times and ids differ.
            let printed = if volatile::is_same(shown.trim_end(), printed) {
                shown.trim_end()
            } else {
                printed
            };
            text.push_str(&format!("$ {command}"));
            if !printed.is_empty() {
                text.push_str(&format!("\n{printed}"));
            }
            if at + 1 < commands.len() {
                text.push_str("\n\n");
            }
        }
        text.push_str("\n```");
        rest = after;
    }
    Ok(text + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_and_written_anew() {
        let document = "a\n```text\n$ cat f\nx\n\n$ foxwedge fix f > g\n\n$ foxwedge fix \"f g\"\nold\n```\nb\n```text\nno\n```\n";
        let mut seen = Vec::new();
        let new = replay(document, |command, shown| {
            seen.push(command.to_owned());
            Ok(match command {
                "cat f" => shown.to_owned(),
                command if command.contains('>') => String::new(),
                _ => "new\n".to_owned(),
            })
        });
        assert_eq!(seen, ["cat f", "foxwedge fix f > g", "foxwedge fix \"f g\""]);
        assert_eq!(new.expect("nothing can fail here"), document.replace("old", "new"));
    }
}
