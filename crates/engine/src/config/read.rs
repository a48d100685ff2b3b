//! A whole configuration, from all layers.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    AccessToken, ConfigEnvironment, ConfigError, ConfigFlags, ConfigIssue, ConfigIssueSeverity,
    ConfigSection, FileExposure, GatewayConfig, SettingOrigin, TokenScope,
    access::read_access,
    config_reader::{ConfigReader, SectionReader, display_path},
    document::ConfigDocument,
    environment,
    routes::read_routes,
    sections,
    upstreams::read_upstreams,
};
use crate::SecretText;

/// A configuration, and what is to be told about it.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// What holds.
    pub config: GatewayConfig,
    /// Whether the door has a lock yet.
    pub token_state: TokenState,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// Every value and who set it.
    pub sections: Vec<ConfigSection>,
    /// What somebody should know.
    pub warnings: Vec<ConfigIssue>,
}

/// Whether the door has a lock yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenState {
    /// There are tokens.
    Ready,
    /// There is none yet: one has to be made, and kept in that file.
    Missing(PathBuf),
    /// There is none, and that is wished.
    Disabled,
}

impl LoadedConfig {
    /// Takes the token that was made: the operator's own, which may see everything.
    pub fn add_local_token(&mut self, secret: SecretText) {
        let token = AccessToken { owner: "local".into(), secret, scope: TokenScope::Admin };
        self.config.access.tokens.push(token);
        self.token_state = TokenState::Ready;
    }
}

/// Reads the file, the variables and the flags, each stronger than the one before.
///
/// # Errors
/// If anything stands in the way: all of it, not only the first.
pub fn read(
    flags: &ConfigFlags,
    world: &dyn ConfigEnvironment,
) -> Result<LoadedConfig, ConfigError> {
    let mut desk = ConfigReader::new(world, flags);
    let found = open_file(&mut desk);
    let path = found.as_ref().map(|(path, _, _)| path.clone());
    desk.folder = path.as_deref().and_then(Path::parent).map(Path::to_owned);
    let document = found.as_ref().and_then(|(path, text, _)| parse_file(&mut desk, path, text));
    let mut root =
        SectionReader::new("", String::new(), document.as_ref().map(ConfigDocument::root));
    let loaded = read_sections(&mut desk, &mut root);
    // What stands before all headers comes first.
    let at = desk.sections.len();
    desk.close_section(root);
    if let Some(first) = desk.sections.get_mut(..=at) {
        first.rotate_right(1);
    }
    if let Some((path, _, exposure)) = &found {
        warn_if_exposed(&mut desk, path, *exposure);
    }
    let ConfigReader { issues: mut complaints, sections: blocks, .. } = desk;
    complaints.sort_by(|one, two| one.origin.cmp(&two.origin));
    if complaints.iter().any(|complaint| complaint.severity == ConfigIssueSeverity::Error) {
        return Err(ConfigError { complaints });
    }
    let (config, door) = loaded;
    Ok(LoadedConfig {
        config,
        token_state: door,
        file: path,
        sections: blocks,
        warnings: complaints,
    })
}

fn read_sections(
    desk: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> (GatewayConfig, TokenState) {
    let listen = sections::listen(desk, root);
    let store = sections::store(desk, root);
    let (access, door) = read_access(desk, root, &listen);
    let limits = sections::limits(desk, root);
    let times = sections::times(desk, root);
    let guard = sections::guard(desk, root);
    let sessions = sections::sessions(desk, root);
    let record = sections::record(desk, root);
    let telemetry = sections::telemetry(desk, root);
    let console = sections::console(desk, root);
    let all = read_upstreams(desk, root);
    let routes = read_routes(desk, root, &all, guard);
    let upstreams = all.entries.iter().map(|made| Arc::clone(&made.upstream)).collect();
    let listen = listen.value;
    let config = GatewayConfig {
        listen,
        access,
        store,
        limits,
        times,
        guard,
        sessions,
        record,
        telemetry,
        console,
        upstreams,
        routes,
    };
    (config, door)
}

/// The file, if there is one.
fn open_file(desk: &mut ConfigReader<'_>) -> Option<(PathBuf, String, FileExposure)> {
    let (path, origin) = match environment::file(desk.flags, desk.environment) {
        Ok(found) => found?,
        Err(origin) => {
            let message = "the path depends on the current folder";
            desk.report_error(&origin, "", message, "name the file by its whole path");
            return None;
        }
    };
    match desk.environment.file(&path) {
        Ok(found) => Some((path, found.text, found.exposure)),
        // The usual file does not have to be there.
        Err(error)
            if origin == SettingOrigin::Default && error.kind() == std::io::ErrorKind::NotFound =>
        {
            None
        }
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}", display_path(&path));
            desk.report_error(&origin, "", message, "");
            None
        }
    }
}

fn parse_file<'t>(
    desk: &mut ConfigReader<'_>,
    path: &Path,
    text: &'t str,
) -> Option<ConfigDocument<'t>> {
    match ConfigDocument::parse(display_path(path), text) {
        Ok(document) => Some(document),
        Err(torn) => {
            for torn in torn {
                desk.report_error(&torn.origin, "", torn.message, "the file has to be TOML");
            }
            None
        }
    }
}

/// Others who may change the file may send our keys elsewhere; others who may read it have those
/// that stand in it.
fn warn_if_exposed(desk: &mut ConfigReader<'_>, path: &Path, exposure: FileExposure) {
    let shown = display_path(path);
    let whole = SettingOrigin::File { path: Arc::clone(&shown), line: 0 };
    let help = format!("`chmod 600 {shown}`");
    match (exposure, desk.inline_secret.clone()) {
        (FileExposure::Private, _) | (FileExposure::Readable, None) => {}
        (FileExposure::Readable, Some(origin)) => {
            desk.report_warning(
                &origin,
                "",
                "others may read the file, and a secret stands in it",
                help,
            );
        }
        (FileExposure::Writable, _) => {
            desk.report_warning(&whole, "", "others may change the file", help);
        }
    }
}
