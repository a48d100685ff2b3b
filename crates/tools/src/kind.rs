//! What lies in a folder.

use cap_std::fs::FileType;

/// What lies in a folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "some things are found on Unix systems only"))]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Fifo,
    Socket,
    Device,
    Other,
}

impl Kind {
    /// As the system tells it.
    pub(crate) fn of(kind: FileType) -> Kind {
        if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Folder
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            special(kind)
        }
    }

    /// In words, with an article.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Kind::File => "a file",
            Kind::Folder => "a folder",
            Kind::Link => "a link",
            Kind::Fifo => "a FIFO",
            Kind::Socket => "a socket",
            Kind::Device => "a device",
            Kind::Other => "not a regular file",
        }
    }
}

#[cfg(unix)]
fn special(kind: FileType) -> Kind {
    use cap_std::fs::FileTypeExt as _;
    if kind.is_fifo() {
        Kind::Fifo
    } else if kind.is_socket() {
        Kind::Socket
    } else if kind.is_block_device() || kind.is_char_device() {
        Kind::Device
    } else {
        Kind::Other
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> Kind {
    Kind::Other
}
