//! Reads files and streams up to a size limit. Devices and named pipes are refused: they may block.

use std::{
    fs::{File, Metadata},
    io::Read,
    path::Path,
};

use anyhow::{Context, bail};

use crate::{
    database::{SessionPath, read_session},
    output::{HelpfulError, clean},
    read_only,
};

/// Environment variable that sets the limit: bytes, or a number with `K`, `M` or `G`.
pub const VARIABLE: &str = "FOXWEDGE_MAX_INPUT";
/// Default limit in bytes for one file or stream.
const DEFAULT_LIMIT: u64 = 1 << 30;
/// Hard limit: spans are 32 bits wide, so no input can be larger than 4 GiB.
pub const HARD_LIMIT: u64 = u32::MAX as u64;

/// Limit in bytes for one file or stream.
pub fn max_input_size() -> u64 {
    let value = std::env::var(VARIABLE).ok();
    value.as_deref().and_then(parse_size).map_or(DEFAULT_LIMIT, |limit| limit.min(HARD_LIMIT))
}

/// Parses a size such as `64k`.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (text.get(..text.len() - 1)?, 1 << 10),
        'M' => (text.get(..text.len() - 1)?, 1 << 20),
        'G' => (text.get(..text.len() - 1)?, 1 << 30),
        _ => (text, 1),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

/// Refuses an input with more bytes than the limit.
pub fn check(bytes: u64) -> anyhow::Result<()> {
    if bytes > HARD_LIMIT {
        bail!("{bytes} bytes are more than the limit of four gigabytes");
    }
    let limit = max_input_size();
    if bytes > limit {
        bail!(too_large_error(limit));
    }
    Ok(())
}

fn too_large_error(limit: u64) -> HelpfulError {
    let limit = match limit {
        limit if limit % (1 << 20) == 0 => format!("{} MiB", limit >> 20),
        limit => format!("{limit} bytes"),
    };
    HelpfulError::new(format!("the input is larger than the limit of {limit}"))
        .help(format!("nothing was changed; `{VARIABLE}=4G` raises the limit to four gigabytes"))
}

/// Refuses anything but a file, a folder or the pipe of a shell: reading it might never end.
pub fn check_kind(path: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    if metadata.is_file() || metadata.is_dir() || is_pipe(path, metadata) {
        return Ok(());
    }
    bail!(
        HelpfulError::new("not a regular file")
            .help("pipes and devices are read from stdin: `… | foxwedge COMMAND -`")
    )
}

/// Whether a path is a pipe that a shell has opened, as `<(command)` does.
#[cfg(unix)]
fn is_pipe(path: &Path, metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let prefixes = ["/dev/fd/", "/proc/self/fd/", "/dev/stdin"];
    let is_descriptor =
        path.to_str().is_some_and(|path| prefixes.iter().any(|it| path.starts_with(it)));
    is_descriptor && (metadata.file_type().is_fifo() || metadata.file_type().is_socket())
}

/// Always false: shells open such pipes only on Unix.
#[cfg(not(unix))]
fn is_pipe(_: &Path, _: &Metadata) -> bool {
    false
}

/// Reads a file, a session in a database, or a pipe that a shell has opened.
pub fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    if let Some(session) = SessionPath::parse(path) {
        let content = read_session(&session)?;
        check(content.len() as u64)?;
        return Ok(content);
    }
    let metadata = std::fs::metadata(path).context("cannot be read")?;
    check_kind(path, &metadata)?;
    check(metadata.len())?;
    let file = File::open(path).context("cannot be read")?;
    let size = usize::try_from(metadata.len()).unwrap_or(0);
    let content =
        read_all(file, size).map_err(|error| match error.downcast::<std::io::Error>() {
            Ok(error) => anyhow::Error::new(error).context("cannot be read"),
            Err(error) => error,
        })?;
    read_only::session_text(path, content)
}

/// Reads stdin.
pub fn read_stdin() -> anyhow::Result<Vec<u8>> {
    read_all(std::io::stdin().lock(), 0).map_err(|error| match error.downcast::<std::io::Error>() {
        Ok(error) => anyhow::Error::new(error).context("stdin cannot be read"),
        Err(error) => error,
    })
}

fn read_all(reader: impl Read, size: usize) -> anyhow::Result<Vec<u8>> {
    let limit = max_input_size();
    let mut content = Vec::with_capacity(size);
    reader.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        bail!(too_large_error(limit));
    }
    Ok(content)
}

/// Puts the path in front of an error.
pub fn with_path(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let shown = clean(&path.to_string_lossy());
    match error.downcast::<HelpfulError>() {
        Ok(error) => error.about(&shown).into(),
        Err(error) => error.context(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_units_are_parsed() {
        let table = [
            ("1", Some(1)),
            ("64k", Some(64 << 10)),
            (" 2 M ", Some(2 << 20)),
            ("4G", Some(4 << 30)),
            ("", None),
            ("G", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("99999999999G", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }

    #[test]
    fn endless_stream_is_read_up_to_the_limit() {
        assert!(read_all(std::io::repeat(0).take(10), 0).is_ok_and(|read| read.len() == 10));
        assert!(check(HARD_LIMIT + 1).is_err());
    }
}
