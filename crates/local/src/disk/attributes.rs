//! Copies file attributes: owner, group, permissions, access lists and extended attributes. If they
//! cannot be copied, the file is not replaced.

use std::{
    fs::{File, Metadata},
    io,
};

use anyhow::{Context, bail};

use crate::output::HelpfulError;

/// Copies all attributes of a file to a new one.
pub(super) fn copy_attributes(new: &File, old: &File, metadata: &Metadata) -> anyhow::Result<()> {
    keep_ownership(new, metadata)?;
    keep_extended(new, old)?;
    // Last, because an access list and a new owner both change the permissions.
    new.set_permissions(metadata.permissions()).context("its permissions cannot be kept")?;
    Ok(())
}

/// Keeps the time at which the agent wrote to a file: agents and `--last` continue the session that was
/// written to last, and a repair must not make it another one. A file system without times loses nothing.
pub(super) fn keep_time(new: &File, metadata: &Metadata) {
    if let Ok(time) = metadata.modified() {
        let _ = new.set_modified(time);
    }
}

/// Help for attributes that cannot be kept.
const HELP: &str = "nothing was changed; repair it as its owner, or write a repaired copy: \
                    `foxwedge fix - <FILE >NEW`";

/// Copies owner and group.
#[cfg(unix)]
pub(super) fn keep_ownership(new: &File, metadata: &Metadata) -> Result<(), HelpfulError> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let refused = |what: &str, number: u32, error: io::Error| {
        HelpfulError::new(format!("its {what} ({number}) cannot be kept: {error}")).help(HELP)
    };
    let owner_error = |error| refused("owner", metadata.uid(), error);
    let now = new.metadata().map_err(owner_error)?;
    // The group separately: a user who may not change the owner may still be in the group.
    if now.gid() != metadata.gid() {
        let changed = fchown(new, None, Some(metadata.gid()));
        changed.map_err(|error| refused("group", metadata.gid(), error))?;
    }
    if now.uid() != metadata.uid() {
        fchown(new, Some(metadata.uid()), None).map_err(owner_error)?;
    }
    Ok(())
}

/// This system has no owner and group.
#[cfg(not(unix))]
pub(super) fn keep_ownership(_: &File, _: &Metadata) -> Result<(), HelpfulError> {
    Ok(())
}

/// Copies extended attributes, including access lists, and removes all others.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn keep_extended(new: &File, old: &File) -> anyhow::Result<()> {
    use rustix::fs::{XattrFlags, fremovexattr, fsetxattr};
    let wanted = read_extended(old).context("its extended attributes cannot be read")?;
    // A folder may add a default access list to every new file.
    for (name, _) in read_extended(new).context("extended attributes cannot be read")? {
        if !wanted.iter().any(|(wanted, _)| *wanted == name)
            && let Err(error) = fremovexattr(new, name.as_slice())
            && !is_system_attribute(&name)
        {
            bail!(attribute_error(&name, error.into()));
        }
    }
    let has = read_extended(new).context("extended attributes cannot be read")?;
    for attribute in wanted.iter().filter(|attribute| !has.contains(attribute)) {
        let (name, value) = attribute;
        if let Err(error) = fsetxattr(new, name.as_slice(), value, XattrFlags::empty())
            && !is_system_attribute(name)
        {
            bail!(attribute_error(name, error.into()));
        }
    }
    Ok(())
}

/// Extended attributes are not supported on this system.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn keep_extended(_: &File, _: &File) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn attribute_error(name: &[u8], error: io::Error) -> HelpfulError {
    let name = crate::output::clean(&String::from_utf8_lossy(name));
    HelpfulError::new(format!("its extended attribute `{name}` cannot be kept: {error}")).help(HELP)
}

/// Attributes that the system sets by its own rules. They are kept where that is permitted.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn is_system_attribute(name: &[u8]) -> bool {
    name.starts_with(b"security.") || name.starts_with(b"com.apple.")
}

/// All extended attributes with their values. None if the file system does not support them.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn read_extended(file: &File) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    use rustix::{
        fs::{fgetxattr, flistxattr},
        io::Errno,
    };
    let names = match read_growing(|buffer| flistxattr(file, buffer)) {
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        names => names?,
    };
    let mut found = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        match read_growing(|buffer| fgetxattr(file, name, buffer)) {
            Ok(value) => found.push((name.to_vec(), value)),
            // Removed meanwhile, or not readable.
            Err(_) if is_system_attribute(name) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// Reads into a buffer that grows as needed.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn read_growing(
    read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
) -> rustix::io::Result<Vec<u8>> {
    let mut buffer = vec![0; 1 << 12];
    loop {
        match read(&mut buffer) {
            Err(rustix::io::Errno::RANGE) if buffer.len() < 1 << 26 => {
                buffer = vec![0; buffer.len() * 4];
            }
            read => {
                buffer.truncate(read?);
                return Ok(buffer);
            }
        }
    }
}
