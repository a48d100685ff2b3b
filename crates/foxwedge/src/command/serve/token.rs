//! The token that is made at the first start, and kept where only its owner can read it.

use std::{fs, io, path::Path};

use anyhow::Context;
use foxwedge_engine::{
    Secret,
    config::{self, Door, Loaded},
};

use crate::{disk::create_private, say::clean};

/// Whether a token was made just now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Made {
    Now,
    Before,
}

/// Makes the token if there is none yet.
pub(crate) fn ensure(loaded: &mut Loaded) -> anyhow::Result<Made> {
    let path = match &loaded.door {
        Door::Ready | Door::Open => return Ok(Made::Before),
        Door::Make(path) => path.clone(),
    };
    let shown = clean(&path.to_string_lossy());
    let secret = config::fresh_token()?;
    let made = make(&path, &secret).with_context(|| format!("`{shown}` cannot be written"))?;
    match made {
        Made::Now => loaded.lock(secret),
        // Two starts at the same time: the first one's token is everybody's.
        Made::Before => {
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("`{shown}` cannot be read"))?;
            loaded.lock(Secret::new(text.trim()));
        }
    }
    Ok(made)
}

fn make(path: &Path, secret: &Secret) -> io::Result<Made> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    match create_private(path, |out| writeln!(out, "{}", secret.reveal())) {
        Ok(()) => Ok(Made::Now),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Made::Before),
        Err(error) => Err(error),
    }
}
