//! Changes a part of a file: one text in it for another.

mod plain;
mod nearest;
mod diff;

use std::io::Read as _;

use memchr::memmem::Finder;
use serde_json::Value;

use self::{nearest::nearest, plain::Plain};
use super::{Site, about as describe, write::check_size};
use crate::{
    About, Answer, Effect, Limits,
    arguments::Arguments,
    path::shown,
    place::{Parents, Place},
    refusal::Refusal,
    text::{BOM, count, size},
};

pub(super) fn about(limits: &Limits) -> About {
    describe(
        "edit",
        "Changes a file: puts `new` in the place of `old`. `old` has to be in the file exactly \
         once, character by character, with the white space that `read` shows but without the \
         line numbers; take more lines into it if it is there more often, or set `all`.",
        &["path", "old", "new"],
        &[
            ("path", "string", "The file, from the root of the workspace.".into()),
            ("old", "string", "The text to replace.".into()),
            ("new", "string", "The text to put there; may be empty.".into()),
            ("all", "boolean", "Replaces `old` wherever it is. Default: false.".into()),
        ],
        Effect::Writes,
        limits.files,
    )
}

/// How often a text may be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Often {
    Once,
    Any,
}

pub(super) fn act(input: &Value, site: &Site<'_>) -> Result<Answer, Refusal> {
    let mut arguments = Arguments::new("edit", input);
    let path = arguments.text("path");
    let old = arguments.text("old");
    let new = arguments.text("new");
    let often = if arguments.flag("all") { Often::Any } else { Often::Once };
    arguments.end()?;

    let path = site.workspace.path(path)?;
    if old.is_empty() {
        return Err(Refusal("`old` is empty; use `write` for a new file".to_owned()));
    }
    if old == new {
        return Err(Refusal("`old` and `new` are the same: nothing would change".to_owned()));
    }
    let place = Place::find(site.workspace, &path, Parents::Expect, site.leash)?;
    let read = whole(&place, site)?;
    let (bom, text) = match read.strip_prefix(BOM) {
        Some(text) => (BOM, text),
        None => (&[][..], read.as_slice()),
    };
    let plain = Plain::of(text);
    let (old, new) = (plain.same_ends(old), plain.same_ends(new));
    let name = shown(place.path());
    let found = find(&plain.text, old.as_bytes(), often)
        .map_err(|wrong| wrong.told(&plain.text, &old, &name))?;
    let most = found.len().saturating_mul(plain.longest(new.as_bytes()));
    check_size(text.len().saturating_add(most), site)?;
    let mut bytes = bom.to_vec();
    plain.splice(text, &found, old.len(), new.as_bytes(), &mut bytes);
    place.put_over(&read, &bytes, site.leash)?;
    let places = count(found.len() as u64, "place");
    let diff = diff::diff(&plain.text, &found, old.len(), new.as_bytes(), site.limits);
    Ok(Answer::done(format!("changed `{name}` in {places}\n{diff}").trim_end()))
}

/// All of a file.
fn whole(place: &Place, site: &Site<'_>) -> Result<Vec<u8>, Refusal> {
    let name = shown(place.path());
    if !place.is_taken() {
        return Err(Refusal(format!("`{name}` does not exist; use `write` for a new file")));
    }
    let (file, metadata) = place.open()?;
    let most = site.limits.file as u64;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Refusal::of(&error, place.path()))?;
    match bytes.len() as u64 > most {
        true => Err(Refusal(format!(
            "`{name}` has {}; files of up to {} can be changed",
            size(metadata.len()),
            size(most)
        ))),
        false => Ok(bytes),
    }
}

/// A text is not there as often as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Wrong {
    Missing,
    /// It begins at these bytes.
    Several(Vec<usize>),
}

/// Where a text begins.
fn find(plain: &[u8], old: &[u8], often: Often) -> Result<Vec<usize>, Wrong> {
    let finder = Finder::new(old);
    let found: Vec<usize> = finder.find_iter(plain).collect();
    let Some(first) = found.first() else { return Err(Wrong::Missing) };
    match often {
        Often::Any => Ok(found),
        Often::Once if found.len() > 1 => Err(Wrong::Several(found)),
        // It may lie across itself.
        Often::Once => match plain.get(first + 1..).and_then(|rest| finder.find(rest)) {
            Some(second) => Err(Wrong::Several(vec![*first, first + 1 + second])),
            None => Ok(found),
        },
    }
}

impl Wrong {
    fn told(&self, plain: &[u8], old: &str, name: &str) -> Refusal {
        /// Lines that are named.
        const NAMED: usize = 10;
        Refusal(match self {
            Wrong::Missing => match nearest(plain, old) {
                Some(hint) => format!("`old` is not in `{name}`: {hint}"),
                None => format!("`old` is not in `{name}`; read the file to see what is"),
            },
            Wrong::Several(found) => {
                let mut lines: Vec<String> =
                    found.iter().take(NAMED).map(|at| line_at(plain, *at).to_string()).collect();
                if found.len() > NAMED {
                    lines.push("…".to_owned());
                }
                let (times, lines) = (found.len(), lines.join(", "));
                format!(
                    "`old` is in `{name}` {times} times, in lines {lines}; take more of what \
                     stands around the right one into it, or set `all`"
                )
            }
        })
    }
}

/// The number of the line that a byte is in.
fn line_at(plain: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', plain.get(..at).unwrap_or(plain)).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_to_be_there_once_and_not_across_itself() {
        let table = [
            ("abc", "b", Often::Once, Ok(vec![1])),
            ("abcb", "b", Often::Once, Err(Wrong::Several(vec![1, 3]))),
            ("abcb", "b", Often::Any, Ok(vec![1, 3])),
            ("aaa", "aa", Often::Once, Err(Wrong::Several(vec![0, 1]))),
            ("aaa", "aa", Often::Any, Ok(vec![0])),
            ("abc", "x", Often::Any, Err(Wrong::Missing)),
            ("", "x", Often::Once, Err(Wrong::Missing)),
        ];
        for (plain, old, often, expected) in table {
            assert_eq!(find(plain.as_bytes(), old.as_bytes(), often), expected, "{plain} {old}");
        }
    }
}
