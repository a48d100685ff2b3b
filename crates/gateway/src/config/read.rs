//! Reads a complete configuration from all layers.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    AccessToken, ConfigEnvironment, ConfigError, ConfigFlags, ConfigIssue, ConfigIssueSeverity,
    ConfigSection, ConsoleConfig, FileExposure, GatewayConfig, GuardConfig, RecordConfig,
    SettingOrigin, TokenScope,
    access::{TokenState, read_access},
    config_reader::{ConfigReader, SectionReader, display_path},
    document::ConfigDocument,
    environment, network,
    routes::read_routes,
    sections,
    table::{self, RootSettings},
    upstreams::read_upstreams,
};
use foxwedge_upstream::{SecretText, http::NetworkConfig};

/// A configuration, with its origins and warnings.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// The configuration.
    pub config: GatewayConfig,
    /// Whether there is a token.
    pub token_state: TokenState,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// Every value and its origin.
    pub sections: Vec<ConfigSection>,
    /// The warnings.
    pub warnings: Vec<ConfigIssue>,
}

impl LoadedConfig {
    /// Adds the newly created token: the operator's own, with access to everything.
    pub fn add_local_token(&mut self, secret: SecretText) {
        let token = AccessToken { owner: "local".into(), secret, scope: TokenScope::Admin };
        self.config.access.tokens.push(token);
        self.token_state = TokenState::Ready;
    }
}

/// Reads the file, the variables and the flags. Later layers override earlier ones.
///
/// # Errors
/// If the configuration has errors: all of them, not only the first.
pub fn read(
    flags: &ConfigFlags,
    environment: &dyn ConfigEnvironment,
) -> Result<LoadedConfig, ConfigError> {
    let mut reader = ConfigReader::new(environment, flags, table::sections());
    let found = open_file(&mut reader);
    let path = found.as_ref().map(|(path, _, _)| path.clone());
    reader.folder = path.as_deref().and_then(Path::parent).map(Path::to_owned);
    let document = found.as_ref().and_then(|(path, text, _)| parse_file(&mut reader, path, text));
    let mut root = reader.root(document.as_ref().map(ConfigDocument::root));
    let loaded = read_sections(&mut reader, &mut root);
    // The settings before the first header come first.
    let root_index = reader.sections.len();
    reader.close_section(root);
    if let Some(first) = reader.sections.get_mut(..=root_index) {
        first.rotate_right(1);
    }
    if let Some((path, _, exposure)) = &found {
        warn_if_exposed(&mut reader, path, *exposure);
    }
    let ConfigReader { mut issues, sections, .. } = reader;
    issues.sort_by(|left, right| left.origin.cmp(&right.origin));
    if issues.iter().any(|issue| issue.severity == ConfigIssueSeverity::Error) {
        return Err(ConfigError { complaints: issues });
    }
    let (config, token_state) = loaded;
    Ok(LoadedConfig { config, token_state, file: path, sections, warnings: issues })
}

/// Reads `[network]` alone, for a program that uses no other setting of the gateway.
///
/// # Errors
/// If this section has errors, or the file cannot be read.
pub fn read_network(
    flags: &ConfigFlags,
    environment: &dyn ConfigEnvironment,
) -> Result<NetworkConfig, ConfigError> {
    let mut reader = ConfigReader::new(environment, flags, table::sections());
    let found = open_file(&mut reader);
    reader.folder = found.as_ref().and_then(|(path, _, _)| path.parent()).map(Path::to_owned);
    let document = found.as_ref().and_then(|(path, text, _)| parse_file(&mut reader, path, text));
    let root = reader.root(document.as_ref().map(ConfigDocument::root));
    let network = network::network(&mut reader, &root);
    match reader.issues.iter().any(|issue| issue.severity == ConfigIssueSeverity::Error) {
        true => Err(ConfigError { complaints: reader.issues }),
        false => Ok(network),
    }
}

fn read_sections(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> (GatewayConfig, TokenState) {
    let RootSettings { listen } = RootSettings::read(reader, root, None);
    let store = sections::store(reader, root);
    let advertise = sections::advertise(reader, root, listen, &store);
    let (mut access, token_state) = read_access(reader, root, listen);
    // Requests of other nodes come with it.
    access.hosts.extend(advertise.clone());
    let limits = sections::limits(reader, root);
    let timeouts = sections::timeouts(reader, root);
    let network = network::network(reader, root);
    let guard = reader.read_section(root, "guard", GuardConfig::read);
    let sessions = sections::sessions(reader, root);
    let record = reader.read_section(root, "record", RecordConfig::read);
    let telemetry = sections::telemetry(reader, root);
    let console = reader.read_section(root, "console", ConsoleConfig::read);
    let upstream_list = read_upstreams(reader, root);
    let routes = read_routes(reader, root, &upstream_list, guard);
    let upstreams = upstream_list.entries.iter().map(|entry| Arc::clone(&entry.upstream)).collect();
    let config = GatewayConfig {
        listen,
        advertise,
        access,
        store,
        limits,
        timeouts,
        network,
        guard,
        sessions,
        record,
        telemetry,
        console,
        upstreams,
        routes,
    };
    (config, token_state)
}

/// Opens the configuration file, if there is one.
fn open_file(reader: &mut ConfigReader<'_>) -> Option<(PathBuf, String, FileExposure)> {
    let (path, origin) = match environment::file(reader.flags, reader.environment) {
        Ok(found) => found?,
        Err(origin) => {
            reader.report_error(&origin, "", "the path is relative", "use an absolute path");
            return None;
        }
    };
    match reader.environment.file(&path) {
        Ok(found) => Some((path, found.text, found.exposure)),
        // The default file is optional.
        Err(error)
            if origin == SettingOrigin::Default && error.kind() == std::io::ErrorKind::NotFound =>
        {
            None
        }
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}", display_path(&path));
            reader.report_error(&origin, "", message, "");
            None
        }
    }
}

fn parse_file<'t>(
    reader: &mut ConfigReader<'_>,
    path: &Path,
    text: &'t str,
) -> Option<ConfigDocument<'t>> {
    match ConfigDocument::parse(display_path(path), text) {
        Ok(document) => Some(document),
        Err(errors) => {
            for error in errors {
                reader.report_error(&error.origin, "", error.message, error.help);
            }
            None
        }
    }
}

/// Warns about file permissions: other users who may change the file could send our keys elsewhere,
/// and those who may read it get the secrets in it.
fn warn_if_exposed(reader: &mut ConfigReader<'_>, path: &Path, exposure: FileExposure) {
    let display = display_path(path);
    let file_origin = SettingOrigin::File { path: Arc::clone(&display), line: 0 };
    let help = format!("`chmod 600 {display}`");
    match (exposure, reader.inline_secret.clone()) {
        (FileExposure::Private, _) | (FileExposure::Readable, None) => {}
        (FileExposure::Readable, Some(origin)) => {
            let message = "other users can read the file, and it contains a secret";
            reader.report_warning(&origin, "", message, help);
        }
        (FileExposure::Writable, _) => {
            reader.report_warning(&file_origin, "", "other users can change the file", help);
        }
    }
}
