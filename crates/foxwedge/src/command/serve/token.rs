//! The token that is created at the first start, in a file that only its owner can read.

use std::{fs, io, path::Path};

use anyhow::Context;
use foxwedge_gateway::config::{self, LoadedConfig, TokenState};
use foxwedge_upstream::SecretText;

use foxwedge_local::{disk::create_private, output::clean};

/// Whether the token was created by this start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenCreation {
    New,
    Existing,
}

/// Creates the token if there is none yet.
pub(crate) fn ensure_token(loaded: &mut LoadedConfig) -> anyhow::Result<TokenCreation> {
    let path = match &loaded.token_state {
        TokenState::Ready | TokenState::Disabled => return Ok(TokenCreation::Existing),
        TokenState::Missing(path) => path.clone(),
    };
    let display_name = clean(&path.to_string_lossy());
    let secret = config::new_token()?;
    let creation = create_token_file(&path, &secret)
        .with_context(|| format!("`{display_name}` cannot be written"))?;
    match creation {
        TokenCreation::New => loaded.add_local_token(secret),
        // Two processes started at the same time: both use the token of the first.
        TokenCreation::Existing => {
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("`{display_name}` cannot be read"))?;
            loaded.add_local_token(SecretText::new(text.trim()));
        }
    }
    Ok(creation)
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
