//! Who runs a run, for people.

use foxwedge_store::process::machine;
pub(crate) use foxwedge_store::process::me;

use crate::say::{clean, cut};

/// Who it is, for people.
pub(crate) fn named(owner: &str) -> String {
    let parts: Vec<&str> = owner.splitn(4, ' ').collect();
    match parts.as_slice() {
        ["foxwedge", id, _, there] if machine().as_deref() == Some(there) => {
            format!("process {id} on this machine")
        }
        ["foxwedge", id, ..] => format!("process {id} on another machine"),
        _ => clean(&cut(owner, 120)),
    }
}
