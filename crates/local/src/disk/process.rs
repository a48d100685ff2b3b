//! Information about other processes.

use std::fs;

use foxwedge_process::process_name;
pub(super) use foxwedge_process::{is_alive, start_time};

/// A process as text: ``process 12 (`claude`)``.
pub(super) fn describe_process(id: u32) -> String {
    let name =
        fs::read_to_string(format!("/proc/{id}/comm")).ok().or_else(|| process_name(id).flatten());
    match name.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => format!("process {id} (`{name}`)"),
        None => format!("process {id}"),
    }
}
