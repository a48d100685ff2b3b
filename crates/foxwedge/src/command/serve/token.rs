//! The token that is made at the first start, and kept where only its owner can read it.

use std::{fs, io, path::Path};

use anyhow::Context;
use foxwedge_gateway::config::{self, LoadedConfig, TokenState};
use foxwedge_upstream::SecretText;

use crate::{cli_output::clean, disk::create_private};

/// Whether a token was made just now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenCreation {
    New,
    Existing,
}

/// Makes the token if there is none yet.
pub(crate) fn ensure_token(loaded: &mut LoadedConfig) -> anyhow::Result<TokenCreation> {
    let path = match &loaded.token_state {
        TokenState::Ready | TokenState::Disabled => return Ok(TokenCreation::Existing),
        TokenState::Missing(path) => path.clone(),
    };
    let shown = clean(&path.to_string_lossy());
    let secret = config::new_token()?;
    let made = create_token_file(&path, &secret)
        .with_context(|| format!("`{shown}` cannot be written"))?;
    match made {
        TokenCreation::New => loaded.add_local_token(secret),
        // Two starts at the same time: the first one's token is everybody's.
        TokenCreation::Existing => {
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("`{shown}` cannot be read"))?;
            loaded.add_local_token(SecretText::new(text.trim()));
        }
    }
    Ok(made)
}

fn create_token_file(path: &Path, secret: &SecretText) -> io::Result<TokenCreation> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    match create_private(path, |out| writeln!(out, "{}", secret.reveal())) {
        Ok(()) => Ok(TokenCreation::New),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(TokenCreation::Existing),
        Err(error) => Err(error),
    }
}
