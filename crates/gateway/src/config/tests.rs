//! Complete configurations: file text, variables and flags in; a configuration or issues out.

mod agents;
mod clouds;
mod complaints;
mod layers;
mod manual;
mod network;
mod nodes;
mod secret_text;
mod where_models_go;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use foxwedge_core::Format;
use foxwedge_upstream::{AddressPolicy, UpstreamKey, UpstreamTransport};

use super::*;

/// The path of the configuration file.
const FILE: &str = "/home/fox/.config/foxwedge/foxwedge.toml";

/// A simulated machine.
#[derive(Default)]
struct Here {
    variables: BTreeMap<&'static str, String>,
    files: BTreeMap<PathBuf, (String, FileExposure)>,
    flags: ConfigFlags,
}

impl ConfigEnvironment for Here {
    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(name).map(OsString::from)
    }

    fn file(&self, path: &Path) -> io::Result<ConfigFile> {
        let found = self.files.get(path).cloned();
        let (text, exposure) = found.ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        Ok(ConfigFile { text, exposure })
    }
}

impl Here {
    /// A user's machine without files.
    fn new() -> Here {
        Here::default().with("HOME", "/home/fox")
    }

    fn with(mut self, name: &'static str, value: &str) -> Here {
        self.variables.insert(name, value.to_owned());
        self
    }

    /// Sets the content of the default file.
    fn saying(self, text: &str) -> Here {
        self.holding(FILE, text)
    }

    fn holding(mut self, path: &str, text: &str) -> Here {
        self.files.insert(path.into(), (text.to_owned(), FileExposure::Private));
        self
    }

    fn exposed(mut self, path: &str, exposure: FileExposure) -> Here {
        if let Some((_, found)) = self.files.get_mut(Path::new(path)) {
            *found = exposure;
        }
        self
    }

    fn typed(mut self, type_in: impl FnOnce(&mut ConfigFlags)) -> Here {
        type_in(&mut self.flags);
        self
    }

    fn read(&self) -> Result<LoadedConfig, ConfigError> {
        read(&self.flags, self)
    }

    fn loaded(&self) -> LoadedConfig {
        self.read().unwrap_or_else(|error| panic!("{error}"))
    }

    /// All issues, one per line, each with its help.
    fn complaints(&self) -> Vec<String> {
        let issues = match self.read() {
            Ok(loaded) => loaded.warnings,
            Err(error) => error.complaints,
        };
        issues.iter().map(line).collect()
    }
}

fn line(issue: &ConfigIssue) -> String {
    let severity = match issue.severity {
        ConfigIssueSeverity::Error => "",
        ConfigIssueSeverity::Warning => "warning: ",
    };
    let help = issue.help.as_ref().map(|help| format!(" | {help}")).unwrap_or_default();
    let text = format!("{severity}{issue}{help}");
    text.replace("/home/fox/.config/foxwedge/", "")
}

/// A setting: its value and its origin.
fn setting(loaded: &LoadedConfig, header: &str, key: &str) -> String {
    let section = loaded.sections.iter().find(|section| section.header == header);
    let found = section.and_then(|section| section.settings.iter().find(|it| it.key == key));
    let line = found.map(|it| format!("{} # {}", it.value, it.origin));
    line.unwrap_or_default().replace("/home/fox/.config/foxwedge/", "")
}
