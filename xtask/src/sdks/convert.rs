//! The program under test, as a user runs it: `foxwedge convert`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_core::Format;

use super::fixture::{Fixture, Kind};
use crate::ci;

/// The binary.
pub(super) struct Foxwedge {
    binary: PathBuf,
}

impl Foxwedge {
    /// The binary that was named, or the one of this workspace.
    pub(super) fn find(named: Option<PathBuf>) -> Result<Foxwedge, String> {
        let binary = named.map_or_else(ci::binary, Ok)?;
        Ok(Foxwedge { binary })
    }

    /// Converts a fixture; where the result is, or what the binary complains about.
    pub(super) fn convert(
        &self,
        fixture: &Fixture,
        target: Format,
        folder: &Path,
    ) -> Result<PathBuf, String> {
        let mut command = Command::new(&self.binary);
        command.args(["convert", "--from", fixture.wire.name(), "--to", target.name()]);
        let output = command.arg(&fixture.path).output();
        let output = output.map_err(|error| format!("{}: {error}", self.binary.display()))?;
        // A stream that failed or was cut off is converted, and the exit code says so.
        let is_whole = fixture.kind == Kind::Response || fixture.says["stop"].is_string();
        if output.status.code() != Some(if is_whole { 0 } else { 1 }) {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {}", output.status, complaint.trim()));
        }
        let (what, from, to) = (&fixture.what, fixture.wire.name(), target.name());
        let path = folder.join(format!("{what}.{from}.to.{to}.{}", fixture.kind.ending(target)));
        fs::write(&path, output.stdout).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}
