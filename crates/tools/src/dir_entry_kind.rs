//! The kind of a folder entry.

use cap_std::fs::FileType;

/// The kind of a folder entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "some things are found on Unix systems only"))]
pub(crate) enum DirEntryKind {
    File,
    Folder,
    Link,
    Fifo,
    Socket,
    Device,
    Other,
}

impl DirEntryKind {
    /// From the file type of the system.
    pub(crate) fn of(kind: FileType) -> DirEntryKind {
        if kind.is_file() {
            DirEntryKind::File
        } else if kind.is_dir() {
            DirEntryKind::Folder
        } else if kind.is_symlink() {
            DirEntryKind::Link
        } else {
            special(kind)
        }
    }

    /// A description with an article.
    pub(crate) fn description(self) -> &'static str {
        match self {
            DirEntryKind::File => "a file",
            DirEntryKind::Folder => "a folder",
            DirEntryKind::Link => "a link",
            DirEntryKind::Fifo => "a FIFO",
            DirEntryKind::Socket => "a socket",
            DirEntryKind::Device => "a device",
            DirEntryKind::Other => "not a regular file",
        }
    }
}

#[cfg(unix)]
fn special(kind: FileType) -> DirEntryKind {
    use cap_std::fs::FileTypeExt as _;
    if kind.is_fifo() {
        DirEntryKind::Fifo
    } else if kind.is_socket() {
        DirEntryKind::Socket
    } else if kind.is_block_device() || kind.is_char_device() {
        DirEntryKind::Device
    } else {
        DirEntryKind::Other
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> DirEntryKind {
    DirEntryKind::Other
}
