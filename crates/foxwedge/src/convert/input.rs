//! Where the bytes come from: read piece by piece, as long as nobody knows what they are.

use std::{
    fs::{self, File},
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use foxwedge_dialect::session::Agent;

use crate::{
    disk::Identity,
    say::{Trouble, clean},
    size_limit,
    source::Manner,
    target::{self, One, STDIN},
};

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// An input that was opened, and what was read of it.
pub(crate) struct Input {
    /// As it is shown.
    pub(crate) shown: String,
    pub(crate) manner: Manner,
    /// The agent in whose folders it lies.
    pub(crate) agent: Option<Agent>,
    path: Option<PathBuf>,
    reader: Box<dyn Read>,
    /// Everything that was read so far.
    pub(super) head: Vec<u8>,
    /// There is no more.
    pub(super) ended: bool,
}

impl Input {
    /// Opens what was named; stdin, if nothing was.
    pub(crate) fn open(target: Option<&Path>) -> anyhow::Result<Input> {
        if target.is_none() && io::stdin().is_terminal() {
            bail!(Trouble::new("a conversion needs the name of what is converted").help(
                "name a file or a session: `foxwedge convert --to anthropic request.json`, or pipe \
                 one in: `… | foxwedge convert --to anthropic -`"
            ));
        }
        let (path, agent) = match target.map(|path| target::one(Some(path), &[])).transpose()? {
            None | Some(One::Stdin) => {
                let manner = Manner { lines: false, walked: false };
                let reader = Box::new(io::stdin().lock());
                return Ok(Input::new(STDIN.to_owned(), manner, None, reader));
            }
            Some(One::File(path)) => (path, None),
            Some(One::Session(entry)) => (entry.path, Some(entry.agent)),
        };
        let shown = path.to_string_lossy().into_owned();
        let unread = || format!("{}: cannot be read", clean(&shown));
        let metadata = fs::metadata(&path).with_context(unread)?;
        size_limit::check_kind(&path, &metadata)
            .map_err(|error| size_limit::named(&path, error))?;
        let file =
            File::open(&path).with_context(|| format!("{}: cannot be read", clean(&shown)))?;
        let manner = Manner::of_file(&path, false);
        let input = Input::new(shown, manner, Some(path), Box::new(file));
        Ok(Input { agent, ..input })
    }

    fn new(shown: String, manner: Manner, path: Option<PathBuf>, reader: Box<dyn Read>) -> Input {
        Input { shown, manner, agent: None, path, reader, head: Vec::new(), ended: false }
    }

    /// Refuses to write a result over what is being read.
    pub(crate) fn check_output(&self, output: &Path) -> Result<(), Trouble> {
        let input = match &self.path {
            Some(path) => Identity::of(path),
            None => Identity::of_stdin(),
        };
        if input.is_none() || Identity::of(output) != input {
            return Ok(());
        }
        let shown = clean(&output.to_string_lossy());
        Err(Trouble::new(format!("the result would be written over the input `{shown}`"))
            .help("nothing was written; give -o a name of its own"))
    }

    /// The file it lies in.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads another piece.
    pub(super) fn more(&mut self) -> anyhow::Result<()> {
        let start = self.head.len();
        self.head.resize(start + PIECE, 0);
        let read = read(&mut *self.reader, &mut self.head[start..]);
        self.head.truncate(start + *read.as_ref().unwrap_or(&0));
        self.ended = read.with_context(|| self.unreadable())? == 0;
        Ok(())
    }

    /// Reads to the end.
    pub(super) fn whole(&mut self) -> anyhow::Result<()> {
        let size = self.path.as_ref().and_then(|path| fs::metadata(path).ok());
        self.check_size(size.map_or(0, |metadata| metadata.len()))?;
        if !self.ended {
            let room = (size_limit::largest() + 1).saturating_sub(self.head.len() as u64);
            let read = self.reader.by_ref().take(room).read_to_end(&mut self.head);
            read.with_context(|| self.unreadable())?;
            self.ended = true;
        }
        self.check_size(self.head.len() as u64)
    }

    /// Every piece in its turn, beginning with what was read already.
    pub(super) fn pieces(
        &mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), super::Broken>,
    ) -> Result<(), super::Broken> {
        let mut piece = std::mem::take(&mut self.head);
        if !piece.is_empty() {
            each(&piece)?;
        }
        piece.resize(PIECE, 0);
        while !self.ended {
            let length = read(&mut *self.reader, &mut piece[..PIECE])?;
            self.ended = length == 0;
            if !self.ended {
                each(&piece[..length])?;
            }
        }
        Ok(())
    }

    fn check_size(&self, bytes: u64) -> anyhow::Result<()> {
        size_limit::check(bytes).map_err(|error| size_limit::named(Path::new(&self.shown), error))
    }

    pub(crate) fn unreadable(&self) -> String {
        format!("{}: cannot be read", clean(&self.shown))
    }
}

/// Reads what is there, however little.
fn read(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
