//! Files and streams are read up to a size, and what is no file is not waited for.

use std::{
    fs::{File, Metadata},
    io::Read,
    path::Path,
};

use anyhow::{Context, bail};

use crate::cli_output::{CliError, clean};

/// The variable that raises or lowers the limit: bytes, or a number with `K`, `M` or `G`.
pub(crate) const VARIABLE: &str = "FOXWEDGE_MAX_INPUT";
/// Bytes that are read of one file or stream, if nothing is said.
const LARGEST: u64 = 1 << 30;
/// Four gigabytes is the largest input that can be read at all.
const ALL: u64 = u32::MAX as u64;

/// Bytes that are read of one file or stream.
pub(crate) fn max_input_size() -> u64 {
    let said = std::env::var(VARIABLE).ok();
    said.as_deref().and_then(parse).map_or(LARGEST, |said| said.min(ALL))
}

/// A number of bytes, as people write it.
fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (text.get(..text.len() - 1)?, 1 << 10),
        'M' => (text.get(..text.len() - 1)?, 1 << 20),
        'G' => (text.get(..text.len() - 1)?, 1 << 30),
        _ => (text, 1),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

/// Refuses what has more bytes than are read.
pub(crate) fn check(bytes: u64) -> anyhow::Result<()> {
    if bytes > ALL {
        bail!("{bytes} bytes are more than the four gigabytes we read");
    }
    let most = max_input_size();
    if bytes > most {
        bail!(too_large_error(most));
    }
    Ok(())
}

fn too_large_error(most: u64) -> CliError {
    let most = match most {
        most if most % (1 << 20) == 0 => format!("{} MiB", most >> 20),
        most => format!("{most} bytes"),
    };
    CliError::new(format!("it has more than {most}, and no more is read"))
        .help(format!("nothing was changed; `{VARIABLE}=4G` reads up to four gigabytes"))
}

/// Refuses what is neither a file nor the pipe of a command: it may never end, or never begin.
pub(crate) fn check_kind(path: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    if metadata.is_file() || metadata.is_dir() || is_pipe(path, metadata) {
        return Ok(());
    }
    bail!(
        CliError::new("this is no regular file")
            .help("pipes and devices are read from stdin: `… | foxwedge check -`")
    )
}

/// Whether a name means a pipe that a shell has opened, as `<(command)` does.
#[cfg(unix)]
fn is_pipe(path: &Path, metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let handed = ["/dev/fd/", "/proc/self/fd/", "/dev/stdin"];
    let handed = path.to_str().is_some_and(|path| handed.iter().any(|it| path.starts_with(it)));
    handed && (metadata.file_type().is_fifo() || metadata.file_type().is_socket())
}

/// Whether a name means a pipe that a shell has opened: not here.
#[cfg(not(unix))]
fn is_pipe(_: &Path, _: &Metadata) -> bool {
    false
}

/// Reads a file, or the pipe of a command.
pub(crate) fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path).context("cannot be read")?;
    check_kind(path, &metadata)?;
    check(metadata.len())?;
    let file = File::open(path).context("cannot be read")?;
    let size = usize::try_from(metadata.len()).unwrap_or(0);
    read_all(file, size).map_err(|error| match error.downcast::<std::io::Error>() {
        Ok(error) => anyhow::Error::new(error).context("cannot be read"),
        Err(error) => error,
    })
}

/// Reads stdin.
pub(crate) fn read_stdin() -> anyhow::Result<Vec<u8>> {
    read_all(std::io::stdin().lock(), 0).map_err(|error| match error.downcast::<std::io::Error>() {
        Ok(error) => anyhow::Error::new(error).context("stdin cannot be read"),
        Err(error) => error,
    })
}

fn read_all(reader: impl Read, size: usize) -> anyhow::Result<Vec<u8>> {
    let most = max_input_size();
    let mut content = Vec::with_capacity(size);
    reader.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        bail!(too_large_error(most));
    }
    Ok(content)
}

/// What to say about a file, with its name before it.
pub(crate) fn with_path(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let shown = clean(&path.to_string_lossy());
    match error.downcast::<CliError>() {
        Ok(trouble) => trouble.about(&shown).into(),
        Err(error) => error.context(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
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
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_stream_without_end_is_read_no_further_than_allowed() {
        assert!(read_all(std::io::repeat(0).take(10), 0).is_ok_and(|read| read.len() == 10));
        assert!(check(ALL + 1).is_err());
    }
}
