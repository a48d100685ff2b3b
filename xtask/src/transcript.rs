//! The terminal sessions in the READMEs and the manual are true: they are run again and compared.
//!
//! A session is a fenced `text` block that starts with `$ `. `$ cat FILE` makes the file (`~/` is the
//! home folder), `$ foxwedge …` runs the binary in the same empty folder; each document starts afresh.

use std::{
    cell::Cell,
    env,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::Path,
    process::{self, Command},
    time::{Duration, SystemTime},
};

use crate::{Outcome, ci, workspace};

/// The documents with sessions that need nothing but the files they show. Sessions of other pages
/// are checked by the tests of what they show.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "README.zh-CN.md",
    "docs/compaction.md",
    "docs/many-sessions.md",
    "docs/quickstart.md",
    "docs/recipes.md",
];
/// The start of a session.
const SESSION: &str = "```text\n$ ";

/// Where the user of the sessions lives.
const HOME: &str = "home/ada";

/// Says whether the sessions are true.
pub(crate) fn check() -> Outcome {
    let mut wrong = Vec::new();
    for (document, old, new) in replayed()? {
        let mut lines = old.lines().zip(new.lines()).enumerate();
        let differs = lines.find(|(_, (old, new))| old != new);
        if let Some((at, (old, new))) = differs {
            wrong.push(format!("{document}:{}\n  says  {old}\n  is    {new}", at + 1));
        } else if old != new {
            wrong.push(format!("{document}: a session is longer or shorter than it says"));
        }
    }
    if wrong.is_empty() {
        println!("the sessions in the READMEs and the manual are true");
        return Ok(());
    }
    Err(format!("{}\nrun `cargo xtask transcript --write`", wrong.join("\n")))
}

/// Writes what the binary says into the sessions.
pub(crate) fn write() -> Outcome {
    for (document, old, new) in replayed()? {
        if old != new {
            fs::write(workspace::root().join(document), new)
                .map_err(|error| format!("{document}: {error}"))?;
            println!("{document} written anew");
        }
    }
    Ok(())
}

/// Every document as it is, and as it should be.
fn replayed() -> Result<Vec<(&'static str, String, String)>, String> {
    let binary = ci::binary()?;
    let mut documents = Vec::new();
    for document in DOCUMENTS {
        let old = fs::read_to_string(workspace::root().join(document))
            .map_err(|error| format!("{document}: {error}"))?;
        let folder = env::temp_dir().join(format!("foxwedge-transcript-{}", process::id()));
        let locale = if document.ends_with(".zh-CN.md") { "zh_CN.UTF-8" } else { "" };
        let sandbox =
            TranscriptSandbox { binary: &binary, folder: &folder, locale, made: Cell::new(0) };
        let new = sandbox
            .set_up()
            .and_then(|()| replay(&old, |command, shown| sandbox.run(command, shown)));
        // What is left in the folder for temporary files does not matter.
        let _ = fs::remove_dir_all(&folder);
        let new = new.map_err(|error| format!("{document}: {error}"))?;
        documents.push((document, old, new));
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
            let gap = if at + 1 < commands.len() { "\n\n" } else { "" };
            let printed = run(command, shown)?;
            text.push_str(&format!("$ {command}\n{}{gap}", printed.trim_end()));
        }
        text.push_str("\n```");
        rest = after;
    }
    Ok(text + rest)
}

/// Where sessions are run.
struct TranscriptSandbox<'s> {
    binary: &'s Path,
    folder: &'s Path,
    /// The locale of the reader.
    locale: &'s str,
    /// Files made so far.
    made: Cell<u64>,
}

impl TranscriptSandbox<'_> {
    fn set_up(&self) -> io::Result<()> {
        fs::create_dir_all(self.folder.join(HOME))
    }

    /// A time of some seconds ago. Each file is newer than the one before it, however fast they are made.
    fn next_time(&self) -> SystemTime {
        let made = self.made.get();
        self.made.set(made + 1);
        SystemTime::now() - Duration::from_secs(30) + Duration::from_secs(made)
    }

    /// Runs one command; `shown` is what the document shows as its output.
    fn run(&self, command: &str, shown: &str) -> io::Result<String> {
        let words = words(command);
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["cat", file] => {
                let path = match file.strip_prefix("~/") {
                    Some(below) => self.folder.join(HOME).join(below),
                    None => self.folder.join(file),
                };
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                let mut made = File::create(path)?;
                writeln!(made, "{}", shown.trim_end())?;
                made.set_modified(self.next_time())?;
                Ok(shown.to_owned())
            }
            ["foxwedge", arguments @ ..] => self.foxwedge(arguments),
            _ => Err(io::Error::other(format!("`{command}` is neither `cat` nor `foxwedge`"))),
        }
    }

    /// What the binary prints, on both streams, in order.
    fn foxwedge(&self, arguments: &[&str]) -> io::Result<String> {
        let (mut reader, writer) = io::pipe()?;
        let mut command = Command::new(self.binary);
        command.args(arguments).current_dir(self.folder).env_clear();
        command.env("HOME", self.folder.join(HOME)).env("LANG", self.locale);
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // The command holds the writing end: without this the reader would wait for ever.
        drop(command);
        let mut printed = String::new();
        reader.read_to_string(&mut printed)?;
        child.wait()?;
        Ok(without_numbers(&printed.replace(&self.folder.display().to_string(), "")))
    }
}

/// Words of a command line; quotes hold words together.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Numbers that differ from run to run (the names of backups: a time and a process) are left out.
fn without_numbers(text: &str) -> String {
    let text = &without_process(text);
    const LONG: usize = 15;
    let mut out = String::new();
    let mut digits = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        out.push_str(if digits.len() >= LONG { "…" } else { &digits });
        digits.clear();
        out.push(c);
    }
    out.pop();
    out
}

/// The name of a backup without the process that made it: `…-NAME-PROCESS-0.bak`.
fn without_process(text: &str) -> String {
    let line = |line: &str| {
        let parts: Option<(&str, &str)> = line.split_once(".bak").filter(|_| line.contains(".bak"));
        let Some((head, tail)) = parts else { return line.to_owned() };
        let mut words = head.rsplitn(3, '-');
        match (words.next(), words.next(), words.next()) {
            (Some(number), Some(process), Some(rest))
                if process.len() < 12 && process.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                format!("{rest}-{number}.bak{tail}")
            }
            _ => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_and_written_anew() {
        let document =
            "a\n```text\n$ cat f\nx\n\n$ foxwedge fix \"f g\"\nold\n```\nb\n```text\nno\n```\n";
        let mut seen = Vec::new();
        let new = replay(document, |command, shown| {
            seen.push(words(command).join("|"));
            Ok(if command.starts_with("cat") { shown.to_owned() } else { "new\n".to_owned() })
        });
        assert_eq!(seen, ["cat|f", "foxwedge|fix|f g"]);
        assert_eq!(new.expect("nothing can fail here"), document.replace("old", "new"));
    }

    #[test]
    fn long_numbers_are_left_out() {
        assert_eq!(without_numbers("a 12 b-012345678901234567-0.bak"), "a 12 b-…-0.bak");
        assert_eq!(without_numbers("x/012345678901234567-f_json-4711-0.bak"), "x/…-f_json-0.bak");
    }
}
