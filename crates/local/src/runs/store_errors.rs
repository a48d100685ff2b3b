//! Store errors with help for the user.

use std::error::Error;

use foxwedge_store::{StoreError, StoreUrl};

use crate::output::HelpfulError;

/// Help for store addresses.
pub(super) const ADDRESSES: &str =
    "a store is a file such as `runs.db` or a server such as `postgres://user@host/database`";

/// A store error with help.
pub(super) fn store_error(url: &StoreUrl, error: StoreError) -> anyhow::Error {
    let cli_error = HelpfulError::new(error_chain(&error));
    match help_for(url, &error) {
        Some(help) => cli_error.help(help).into(),
        None => cli_error.into(),
    }
}

fn help_for(url: &StoreUrl, error: &StoreError) -> Option<String> {
    Some(match error {
        StoreError::NoSession(_) => "`foxwedge runs` lists runs with their sessions".to_owned(),
        StoreError::NoRun(_) => "`foxwedge runs` lists the recorded runs".to_owned(),
        StoreError::Ended(run) => format!("`foxwedge runs show {}` shows how it ended", run.id),
        StoreError::Fenced { run, .. } => format!(
            "its lease expired, for example while the machine was asleep; \
             `foxwedge runs show {run}` shows its outcome"
        ),
        StoreError::Busy { run, .. } => {
            format!("`foxwedge runs stop {run}` stops it")
        }
        StoreError::Conflict(_) => "nothing was changed; use another id".to_owned(),
        StoreError::Corrupt { .. } => {
            "`foxwedge store check` lists all damaged data; `foxwedge store export SESSION` \
             exports what can be read"
                .to_owned()
        }
        StoreError::Unavailable(_) => match url {
            StoreUrl::Postgres(url) => {
                format!("the address is {url}; check that the server runs and that you have access")
            }
            StoreUrl::Sqlite(_) | StoreUrl::Memory => ADDRESSES.to_owned(),
        },
        StoreError::Stale { .. } | StoreError::Invalid(_) => return None,
        // The enum is non-exhaustive.
        _ => return None,
    })
}

/// An error and its causes on one line.
fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // Some errors already include their cause.
        if !text.ends_with(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}
