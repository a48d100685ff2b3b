//! Where the bytes come from: read piece by piece, as long as nobody knows what they are.

use std::{
    fs::{self, File},
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use foxwedge_sessions::SessionAgent;

use crate::{
    cli_output::{CliError, clean},
    disk::FileIdentity,
    size_limit,
    source::InputHint,
    target::{self, STDIN, SingleTarget},
};

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// An input that was opened, and what was read of it.
pub(crate) struct ConversionInput {
    /// As it is shown.
    pub(crate) display_name: String,
    pub(crate) hint: InputHint,
    /// The agent in whose folders it lies.
    pub(crate) agent: Option<SessionAgent>,
    path: Option<PathBuf>,
    reader: Box<dyn Read>,
    /// Everything that was read so far.
    pub(super) buffer: Vec<u8>,
    /// There is no more.
    pub(super) is_at_end: bool,
}

impl ConversionInput {
    /// Opens what was named; stdin, if nothing was.
    pub(crate) fn open(target: Option<&Path>) -> anyhow::Result<ConversionInput> {
        if target.is_none() && io::stdin().is_terminal() {
            bail!(CliError::new("a conversion needs the name of what is converted").help(
                "name a file or a session: `foxwedge convert --to anthropic request.json`, or pipe \
                 one in: `… | foxwedge convert --to anthropic -`"
            ));
        }
        let (path, agent) =
            match target.map(|path| target::resolve_single(Some(path), &[])).transpose()? {
                None | Some(SingleTarget::Stdin) => {
                    let manner = InputHint { is_json_lines: false, from_folder: false };
                    let reader = Box::new(io::stdin().lock());
                    return Ok(ConversionInput::new(STDIN.to_owned(), manner, None, reader));
                }
                Some(SingleTarget::File(path)) => (path, None),
                Some(SingleTarget::Session(entry)) => (entry.path, Some(entry.agent)),
            };
        let shown = path.to_string_lossy().into_owned();
        let unread = || format!("{}: cannot be read", clean(&shown));
        let metadata = fs::metadata(&path).with_context(unread)?;
        size_limit::check_kind(&path, &metadata)
            .map_err(|error| size_limit::with_path(&path, error))?;
        let file =
            File::open(&path).with_context(|| format!("{}: cannot be read", clean(&shown)))?;
        let manner = InputHint::of_file(&path, false);
        let input = ConversionInput::new(shown, manner, Some(path), Box::new(file));
        Ok(ConversionInput { agent, ..input })
    }

    fn new(
        shown: String,
        manner: InputHint,
        path: Option<PathBuf>,
        reader: Box<dyn Read>,
    ) -> ConversionInput {
        ConversionInput {
            display_name: shown,
            hint: manner,
            agent: None,
            path,
            reader,
            buffer: Vec::new(),
            is_at_end: false,
        }
    }

    /// Refuses to write a result over what is being read.
    pub(crate) fn check_output(&self, output: &Path) -> Result<(), CliError> {
        let input = match &self.path {
            Some(path) => FileIdentity::of(path),
            None => FileIdentity::of_stdin(),
        };
        if input.is_none() || FileIdentity::of(output) != input {
            return Ok(());
        }
        let shown = clean(&output.to_string_lossy());
        Err(CliError::new(format!("the result would be written over the input `{shown}`"))
            .help("nothing was written; give -o a name of its own"))
    }

    /// The file it lies in.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads another piece.
    pub(super) fn read_more(&mut self) -> anyhow::Result<()> {
        let start = self.buffer.len();
        self.buffer.resize(start + PIECE, 0);
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
            let room = (size_limit::max_input_size() + 1).saturating_sub(self.buffer.len() as u64);
            let read = self.reader.by_ref().take(room).read_to_end(&mut self.buffer);
            read.with_context(|| self.unreadable_message())?;
            self.is_at_end = true;
        }
        self.check_size(self.buffer.len() as u64)
    }

    /// Every piece in its turn, beginning with what was read already.
    pub(super) fn for_each_piece(
        &mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), super::StreamConversionError>,
    ) -> Result<(), super::StreamConversionError> {
        let mut piece = std::mem::take(&mut self.buffer);
        if !piece.is_empty() {
            each(&piece)?;
        }
        piece.resize(PIECE, 0);
        while !self.is_at_end {
            let length = read_some(&mut *self.reader, &mut piece[..PIECE])?;
            self.is_at_end = length == 0;
            if !self.is_at_end {
                each(&piece[..length])?;
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

/// Reads what is there, however little.
fn read_some(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
