//! Who has a file open for writing. Only Linux tells; elsewhere nobody is seen.

use std::{fs::Metadata, thread, time::Duration};

/// How often we look before we believe that somebody stays.
const LOOKS: u32 = 5;

/// A process that keeps a file open for writing. Whoever only appends a line has closed the file
/// again when we look a second time.
pub(super) fn find_steady_writer(file: &Metadata) -> Option<u32> {
    #[cfg(test)]
    if let Some(known) = super::ops::faults::writer(file) {
        return known;
    }
    let mut found = writer(file)?;
    for look in 1..LOOKS {
        thread::sleep(Duration::from_millis(10 * u64::from(look)));
        found = writer(file)?;
    }
    Some(found)
}

/// Another process that has a file open for writing just now.
#[cfg(target_os = "linux")]
fn writer(file: &Metadata) -> Option<u32> {
    use std::{fs, os::unix::fs::MetadataExt};
    let (node, ours) = ((file.dev(), file.ino()), std::process::id());
    let numbers = fs::read_dir("/proc").ok()?.flatten();
    let mut processes = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.find(|&process: &u32| {
        // Those of other users cannot be looked into.
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

/// Whether a file was opened for writing.
#[cfg(target_os = "linux")]
fn is_open_for_writing(process: u32, number: &str) -> bool {
    let told = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{number}"));
    let told = told.unwrap_or_default();
    let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
    // The lowest bits: 0 to read, 1 to write, 2 for both.
    flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok()).is_some_and(|f| f & 3 != 0)
}
