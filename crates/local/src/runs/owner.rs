//! The owner of a run.

pub use foxwedge_store::process::current_owner;
use foxwedge_store::process::machine_id;

use crate::output::{clean, cut};

/// The owner as readable text.
pub fn describe_owner(owner: &str) -> String {
    let parts: Vec<&str> = owner.splitn(4, ' ').collect();
    match parts.as_slice() {
        ["foxwedge", id, _, there] if machine_id().as_deref() == Some(there) => {
            format!("process {id} on this machine")
        }
        ["foxwedge", id, ..] => format!("process {id} on another machine"),
        _ => clean(&cut(owner, 120)),
    }
}
