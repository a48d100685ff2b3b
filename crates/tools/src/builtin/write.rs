//! Writes a whole file.

use serde_json::Value;

use super::{Site, about as describe};
use crate::{
    About, Answer, Effect, Limits,
    arguments::Arguments,
    path::shown,
    place::{Parents, Place},
    refusal::Refusal,
    text::{count, lines, size},
};

pub(super) fn about(limits: &Limits) -> About {
    describe(
        "write",
        "Writes a file: a new one, or all of one that exists. Folders on the way are made. To \
         change a part of a file, use `edit`.",
        &["path", "content"],
        &[
            ("path", "string", "The file, from the root of the workspace.".into()),
            ("content", "string", "Everything that the file shall contain.".into()),
        ],
        Effect::Writes,
        limits.files,
    )
}

pub(super) fn act(input: &Value, site: &Site<'_>) -> Result<Answer, Refusal> {
    let mut arguments = Arguments::new("write", input);
    let asked = arguments.text("path");
    let content = arguments.text("content");
    arguments.end()?;

    let path = site.workspace.path(asked)?;
    if asked.ends_with('/') {
        return Err(Refusal(format!("`{}/` is a folder; name a file", shown(&path))));
    }
    check_size(content.len(), site)?;
    let place = Place::find(site.workspace, &path, Parents::Make, site.leash)?;
    place.put(content.as_bytes(), site.leash)?;
    let verb = if place.is_taken() { "replaced" } else { "created" };
    Ok(Answer::done(format!(
        "{verb} `{}`: {}, {}",
        shown(place.path()),
        count(content.len() as u64, "byte"),
        count(lines(content.as_bytes()), "line")
    )))
}

/// A file that is larger than that is not one for a model.
pub(super) fn check_size(bytes: usize, site: &Site<'_>) -> Result<(), Refusal> {
    let most = site.limits.file;
    match bytes > most {
        true => Err(Refusal(format!(
            "the file would have {}; {} is the most",
            size(bytes as u64),
            size(most as u64)
        ))),
        false => Ok(()),
    }
}
