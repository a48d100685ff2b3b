//! What can be seen of other processes.

use std::fs;

use foxwedge_store::process::name;
pub(crate) use foxwedge_store::process::{began, is_alive};

/// A process in words: ``process 12 (`claude`)``.
pub(super) fn described(id: u32) -> String {
    let told = fs::read_to_string(format!("/proc/{id}/comm")).ok().or_else(|| name(id).flatten());
    match told.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => format!("process {id} (`{name}`)"),
        None => format!("process {id}"),
    }
}
