//! Finds processes that have a file open for writing. Works on Linux only; elsewhere it finds none.

use std::{fs::Metadata, thread, time::Duration};

/// Times a process must be seen before it counts as a steady writer.
const MAX_LOOKS: u32 = 5;

/// A process that keeps a file open for writing. A process that only appends a line has closed the
/// file before the second look.
pub(super) fn find_steady_writer(file: &Metadata) -> Option<u32> {
    #[cfg(test)]
    if let Some(known) = super::ops::faults::writer(file) {
        return known;
    }
    let mut found = writer(file)?;
    for look in 1..MAX_LOOKS {
        thread::sleep(Duration::from_millis(10 * u64::from(look)));
        found = writer(file)?;
    }
    Some(found)
}

/// Another process that has a file open for writing now.
#[cfg(target_os = "linux")]
fn writer(file: &Metadata) -> Option<u32> {
    use std::{fs, os::unix::fs::MetadataExt};
    let (node, ours) = ((file.dev(), file.ino()), std::process::id());
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.find(|&process: &u32| {
        // Processes of other users are not readable.
        let open = fs::read_dir(format!("/proc/{process}/fd"));
        process != ours
            && open.into_iter().flatten().flatten().any(|entry| {
                fs::metadata(entry.path()).is_ok_and(|open| (open.dev(), open.ino()) == node)
                    && entry
                        .file_name()
                        .to_str()
                        .is_some_and(|number| is_open_for_writing(process, number))
            })
    })
}

#[cfg(not(target_os = "linux"))]
fn writer(_: &Metadata) -> Option<u32> {
    None
}

/// Whether a file descriptor was opened for writing.
#[cfg(target_os = "linux")]
fn is_open_for_writing(process: u32, number: &str) -> bool {
    let info = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{number}"));
    let info = info.unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    // The two lowest bits: 0 is read, 1 is write, 2 is both.
    flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok()).is_some_and(|f| f & 3 != 0)
}
