//! The program under test, as a user runs it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use foxwedge_core::Format;
use foxwedge_testkit::violations;
use serde_json::Value;

use super::{folder::AgentFolder, history::text_of};

/// The binary.
pub(super) struct FoxwedgeBinary {
    pub(super) path: PathBuf,
}

impl FoxwedgeBinary {
    /// What `foxwedge list` says about a session.
    pub(super) fn health(&self, folder: &AgentFolder, file: &Path) -> Result<String, String> {
        let mut command = self.command(folder, &["list", "--output-format", "json"]);
        let output =
            command.output().map_err(|error| format!("{}: {error}", self.path.display()))?;
        let listed: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("`foxwedge list`: {error}"))?;
        let mut sessions = listed["sessions"].as_array().into_iter().flatten();
        let own = sessions.find(|session| Path::new(text_of(session, "path")) == file);
        let own = own.ok_or_else(|| format!("`foxwedge list` has no {}", file.display()))?;
        Ok(text_of(own, "health").to_owned())
    }

    /// What is wrong with a session: the code of each finding, and the calls it is about.
    pub(super) fn check(&self, folder: &AgentFolder, file: &Path) -> Result<Vec<String>, String> {
        self.findings(folder, file, &[])
    }

    /// Repairs a session in place, with everything that belongs to it: the check that nothing writes,
    /// the backup, the check afterwards.
    pub(super) fn fix(&self, folder: &AgentFolder, file: &Path) -> Result<(), String> {
        let output = self.run(folder, &["fix", "--for-api"], file)?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("`foxwedge fix`: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }

    /// The history of a session, as `foxwedge resume` tells it.
    pub(super) fn history(&self, folder: &AgentFolder, file: &Path) -> Result<Value, String> {
        let output = self.run(folder, &["resume"], file)?;
        serde_json::from_slice(&output.stdout).map_err(|error| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            format!("`foxwedge resume`: {error}: {}", complaint.trim())
        })
    }

    /// What is wrong with the calls and answers of a request, by the engine and by the oracle.
    pub(super) fn pairs(
        &self,
        folder: &AgentFolder,
        file: &Path,
        format: Format,
        request: &Value,
    ) -> Result<Vec<String>, String> {
        let name = format.name();
        let select = ["--select", "FW1", "--format", name, "--profile", name];
        let found = self.findings(folder, file, &select)?;
        let opinion = violations(name, name, false, request);
        let pairs = opinion.iter().filter(|violation| violation.code / 100 == 1);
        let opinion: Vec<String> = pairs.map(|it| format!("FW{} at {}", it.code, it.at)).collect();
        if found.is_empty() && !opinion.is_empty() {
            return Err(format!("{}: sound, but for the oracle: {opinion:?}", file.display()));
        }
        Ok(found)
    }

    fn findings(
        &self,
        folder: &AgentFolder,
        file: &Path,
        more: &[&str],
    ) -> Result<Vec<String>, String> {
        let arguments = [&["check", "--for-api", "--output-format", "json"], more].concat();
        let output = self.run(folder, &arguments, file)?;
        let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            format!("`foxwedge check`: {error}: {}", complaint.trim())
        })?;
        let describe = |finding: &Value| {
            let ids = finding["call_ids"].as_array().into_iter().flatten();
            let ids: Vec<&str> = ids.filter_map(Value::as_str).collect();
            format!("{} {}", text_of(finding, "code"), ids.join(" ")).trim().to_owned()
        };
        Ok(report["findings"].as_array().into_iter().flatten().map(describe).collect())
    }

    fn run(&self, folder: &AgentFolder, arguments: &[&str], file: &Path) -> Result<Output, String> {
        let mut command = self.command(folder, arguments);
        command.arg(file);
        command.output().map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn command(&self, folder: &AgentFolder, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments).env_clear();
        command.env("HOME", folder.home()).env("FOXWEDGE_STATE_DIR", folder.record("state"));
        command
    }
}
