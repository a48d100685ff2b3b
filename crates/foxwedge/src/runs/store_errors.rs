//! What a store says when it does not do something, with what to do about it.

use std::error::Error;

use foxwedge_store::{StoreError, StoreUrl};

use crate::cli_output::CliError;

/// How a store is named.
pub(super) const ADDRESSES: &str =
    "a store is a file, as `runs.db`, or a server, as `postgres://user@host/database`";

/// An error of a store, for people.
pub(crate) fn store_error(url: &StoreUrl, error: StoreError) -> anyhow::Error {
    let trouble = CliError::new(error_chain(&error));
    match help_for(url, &error) {
        Some(help) => trouble.help(help).into(),
        None => trouble.into(),
    }
}

fn help_for(url: &StoreUrl, error: &StoreError) -> Option<String> {
    Some(match error {
        StoreError::NoSession(_) => "`foxwedge runs` lists runs with their sessions".to_owned(),
        StoreError::NoRun(_) => "`foxwedge runs` lists what there is".to_owned(),
        StoreError::Ended(run) => format!("`foxwedge runs show {}` shows how", run.id),
        StoreError::Fenced { run, .. } => format!(
            "its lease ran out, as after a long sleep of the machine; `foxwedge runs show {run}` \
             shows what became of it"
        ),
        StoreError::Busy { run, .. } => {
            format!("`foxwedge runs stop {run}` ends it")
        }
        StoreError::Conflict(_) => "nothing was changed; use another id".to_owned(),
        StoreError::Corrupt { .. } => {
            "`foxwedge store check` lists everything that is damaged; what can be read is exported \
             by `foxwedge store export SESSION`"
                .to_owned()
        }
        StoreError::Unavailable(_) => match url {
            StoreUrl::Postgres(url) => {
                format!("the address is {url}; is the server up, and does it let you in?")
            }
            StoreUrl::Sqlite(_) | StoreUrl::Memory => ADDRESSES.to_owned(),
        },
        StoreError::Stale { .. } | StoreError::Invalid(_) => return None,
        // More may come: the enum is not closed.
        _ => return None,
    })
}

/// An error and its causes, on one line.
fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some repeat what they were caused by.
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}
