//! The input of a conversion. It is read in chunks, because a stream must not be read to its end.

use std::{
    fs::{self, File},
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use foxwedge_sessions::SessionAgent;

use crate::target::{self, SingleTarget};
use foxwedge_local::outcome::STDIN;
use foxwedge_local::{
    disk::FileIdentity,
    output::{HelpfulError, clean},
    size_limit,
    source::InputHint,
};

/// Bytes per read.
const CHUNK_SIZE: usize = 1 << 16;

/// An open input with the bytes read so far.
pub(crate) struct ConversionInput {
    /// Path or name in messages.
    pub(crate) display_name: String,
    pub(crate) hint: InputHint,
    /// The agent whose session folder contains it.
    pub(crate) agent: Option<SessionAgent>,
    path: Option<PathBuf>,
    reader: Box<dyn Read>,
    /// All bytes read so far.
    pub(super) buffer: Vec<u8>,
    /// The input was read completely.
    pub(super) is_at_end: bool,
}

impl ConversionInput {
    /// Opens the target, or stdin without one.
    pub(crate) fn open(target: Option<&Path>) -> anyhow::Result<ConversionInput> {
        if target.is_none() && io::stdin().is_terminal() {
            bail!(HelpfulError::new("nothing to convert was given").help(
                "name a file or a session: `foxwedge convert --to anthropic request.json`, or pipe \
                 one in: `… | foxwedge convert --to anthropic -`"
            ));
        }
        let (path, agent) =
            match target.map(|path| target::resolve_single(Some(path), &[])).transpose()? {
                None | Some(SingleTarget::Stdin) => {
                    let hint = InputHint { is_json_lines: false, from_folder: false };
                    let reader = Box::new(io::stdin().lock());
                    return Ok(ConversionInput::new(STDIN.to_owned(), hint, None, reader));
                }
                Some(SingleTarget::File(path)) => (path, None),
                Some(SingleTarget::Session(entry)) => (entry.path, Some(entry.agent)),
            };
        let display_name = path.to_string_lossy().into_owned();
        let unreadable = || format!("{}: cannot be read", clean(&display_name));
        let metadata = fs::metadata(&path).with_context(unreadable)?;
        size_limit::check_kind(&path, &metadata)
            .map_err(|error| size_limit::with_path(&path, error))?;
        let file = File::open(&path)
            .with_context(|| format!("{}: cannot be read", clean(&display_name)))?;
        let hint = InputHint::of_file(&path, false);
        let input = ConversionInput::new(display_name, hint, Some(path), Box::new(file));
        Ok(ConversionInput { agent, ..input })
    }

    fn new(
        display_name: String,
        hint: InputHint,
        path: Option<PathBuf>,
        reader: Box<dyn Read>,
    ) -> ConversionInput {
        ConversionInput {
            display_name,
            hint,
            agent: None,
            path,
            reader,
            buffer: Vec::new(),
            is_at_end: false,
        }
    }

    /// Refuses to write the result over the input.
    pub(crate) fn check_output(&self, output: &Path) -> Result<(), HelpfulError> {
        let input = match &self.path {
            Some(path) => FileIdentity::of(path),
            None => FileIdentity::of_stdin(),
        };
        if input.is_none() || FileIdentity::of(output) != input {
            return Ok(());
        }
        let shown = clean(&output.to_string_lossy());
        Err(HelpfulError::new(format!("the result would be written over the input `{shown}`"))
            .help("nothing was written; give -o a name of its own"))
    }

    /// Path of the input, if it is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads another chunk.
    pub(super) fn read_more(&mut self) -> anyhow::Result<()> {
        let start = self.buffer.len();
        self.buffer.resize(start + CHUNK_SIZE, 0);
        let read = read_some(&mut *self.reader, &mut self.buffer[start..]);
        self.buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        self.is_at_end = read.with_context(|| self.unreadable_message())? == 0;
        Ok(())
    }

    /// Reads to the end.
    pub(super) fn read_all(&mut self) -> anyhow::Result<()> {
        let size = self.path.as_ref().and_then(|path| fs::metadata(path).ok());
        self.check_size(size.map_or(0, |metadata| metadata.len()))?;
        if !self.is_at_end {
            let limit = (size_limit::max_input_size() + 1).saturating_sub(self.buffer.len() as u64);
            let read = self.reader.by_ref().take(limit).read_to_end(&mut self.buffer);
            read.with_context(|| self.unreadable_message())?;
            self.is_at_end = true;
        }
        self.check_size(self.buffer.len() as u64)
    }

    /// Calls `each` for every chunk, starting with the bytes read already.
    pub(super) fn for_each_piece(
        &mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), super::StreamConversionError>,
    ) -> Result<(), super::StreamConversionError> {
        let mut chunk = std::mem::take(&mut self.buffer);
        if !chunk.is_empty() {
            each(&chunk)?;
        }
        chunk.resize(CHUNK_SIZE, 0);
        while !self.is_at_end {
            let length = read_some(&mut *self.reader, &mut chunk[..CHUNK_SIZE])?;
            self.is_at_end = length == 0;
            if !self.is_at_end {
                each(&chunk[..length])?;
            }
        }
        Ok(())
    }

    fn check_size(&self, bytes: u64) -> anyhow::Result<()> {
        size_limit::check(bytes)
            .map_err(|error| size_limit::with_path(Path::new(&self.display_name), error))
    }

    pub(crate) fn unreadable_message(&self) -> String {
        format!("{}: cannot be read", clean(&self.display_name))
    }
}

/// Reads the available bytes.
fn read_some(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
