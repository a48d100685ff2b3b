//! The cases of all rules, repaired, must fit the types of the official SDKs.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_core::Format;
use serde_json::{Value, json};

use crate::{acceptance::script::ScriptJob, workspace};

/// The cases of the rules.
const CASES: &str = "crates/core/tests/cases";

/// A repaired case.
pub(super) struct RequestJob {
    pub(super) format: Format,
    path: PathBuf,
    original: PathBuf,
}

impl RequestJob {
    /// Repairs every broken case, as a user does, into `folder`.
    pub(super) fn repair_all(binary: &Path, folder: &Path) -> Result<Vec<RequestJob>, String> {
        let mut jobs = Vec::new();
        for original in broken_cases()? {
            let Some((format, profile)) = format_and_profile(&original) else { continue };
            let mut command = Command::new(binary);
            command.args(["fix", "--unsafe-fixes", "--format", format.name()]);
            command.args(profile.map(|profile| format!("--profile={profile}"))).arg("-");
            let complain = |error: std::io::Error| format!("{}: {error}", original.display());
            let output = command.stdin(File::open(&original).map_err(complain)?).output();
            let repaired = output.map_err(complain)?.stdout;
            if repaired.is_empty() {
                return Err(format!("{}: nothing was written", original.display()));
            }
            let path = folder.join(format!("repaired-{}.json", jobs.len()));
            fs::write(&path, repaired).map_err(complain)?;
            jobs.push(RequestJob { format, path, original });
        }
        Ok(jobs)
    }

    /// Whether everything that the repair wrote fits.
    pub(super) fn judge(result: &Value) -> Result<(), String> {
        match result["refused"].as_array().map(Vec::as_slice) {
            Some([]) => Ok(()),
            Some([first, ..]) => Err(first.as_str().unwrap_or_default().to_owned()),
            None => Err(result.to_string()),
        }
    }
}

impl ScriptJob for RequestJob {
    fn line(&self) -> Value {
        json!({
            "format": self.format.name(),
            "kind": "request",
            "path": self.path,
            "original": self.original,
        })
    }

    fn label(&self) -> String {
        format!("{} repaired request {}", self.format.name(), self.original.display())
    }
}

fn broken_cases() -> Result<Vec<PathBuf>, String> {
    let root = workspace::root().join(CASES);
    let list = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries =
            fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    let mut cases = Vec::new();
    for folder in list(&root)?.into_iter().filter(|path| path.is_dir()) {
        cases.extend(list(&folder)?.into_iter().filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("broken_") && name.ends_with(".json")
        }));
    }
    cases.sort();
    Ok(cases)
}

/// `broken_what.format[.profile].json`
fn format_and_profile(case: &Path) -> Option<(Format, Option<&str>)> {
    let mut parts = case.file_stem()?.to_str()?.split('.').skip(1);
    Some((Format::parse(parts.next()?)?, parts.next()))
}
