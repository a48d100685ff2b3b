//! `[network]`: proxies and trusted certificates.
//!
//! The variables belong to all programs of a machine, so the file overrides them here.

use std::{env, path::Path, sync::Arc};

use foxwedge_upstream::http::{
    ClientIdentity, NO_PROXY_VARIABLES, NetworkConfig, NoProxyRule, ProxyRules, ProxyServer,
    TrustedRoots, proxy_variable,
};

use super::{
    SettingOrigin,
    config_reader::{ConfigReader, SectionReader, display_path, excerpt},
    secrets::warn_if_exposed,
    table::NetworkSettings,
    values::quote,
};

/// The variable with the file of certificates that are trusted instead of the system's.
const CERTIFICATE_VARIABLE: &str = "SSL_CERT_FILE";

/// The variable with folders of such files. Both variables may be set.
const CERTIFICATE_FOLDERS_VARIABLE: &str = "SSL_CERT_DIR";

/// The word for no proxy, whatever the variables say.
const NO_PROXY_AT_ALL: &str = "none";

pub(super) fn network(reader: &mut ConfigReader<'_>, root: &SectionReader<'_>) -> NetworkConfig {
    let mut section = reader.open_section(root, "network");
    let (https, http) = read_proxies(reader, &mut section);
    let no_proxy = read_no_proxy(reader, &mut section);
    let NetworkSettings { proxy_loopback } = NetworkSettings::read(reader, &mut section, None);
    let roots = read_roots(reader, &mut section);
    reader.close_section(section);
    NetworkConfig { proxies: ProxyRules { https, http, no_proxy, proxy_loopback }, roots }
}

/// The proxies for `https` and `http` targets.
fn read_proxies(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
) -> (Option<Arc<ProxyServer>>, Option<Arc<ProxyServer>>) {
    if let Some((text, origin)) = reader.read_text(section, "proxy") {
        if text == NO_PROXY_AT_ALL {
            section.add_setting("proxy", quote(&text), &origin);
            return (None, None);
        }
        let is_inline = !text.starts_with("env:");
        let full_key = section.full_key("proxy");
        let Some(text) = reader.resolve_env(text, &origin, &full_key) else { return (None, None) };
        let proxy = parse_proxy(reader, section, &text, &origin);
        if is_inline && proxy.as_ref().is_some_and(|proxy| proxy.has_credentials()) {
            reader.inline_secret.get_or_insert_with(|| origin.clone());
        }
        return (proxy.clone(), proxy);
    }
    let found = [true, false]
        .map(|tls| proxy_variable(tls, |name| reader.read_variable(name).map(|(text, _)| text)));
    let [https, http] = found;
    let is_same = https == http;
    let mut read = |found: Option<(&'static str, String)>| {
        let (name, text) = found?;
        parse_proxy(reader, section, &text, &SettingOrigin::Variable(name.into()))
    };
    let https = read(https);
    let http = if is_same { https.clone() } else { read(http) };
    (https, http)
}

fn parse_proxy(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    text: &str,
    origin: &SettingOrigin,
) -> Option<Arc<ProxyServer>> {
    match ProxyServer::parse(text) {
        Ok(proxy) => {
            let url = proxy.url();
            let shown = match proxy.has_credentials() {
                true => url.replacen("://", "://[secret]@", 1),
                false => url,
            };
            section.add_setting("proxy", quote(&shown), origin);
            Some(Arc::new(proxy))
        }
        Err((what, help)) => {
            let help = format!("{help}; `proxy = \"{NO_PROXY_AT_ALL}\"` in `[network]` uses none");
            let key = match origin {
                SettingOrigin::File { .. } => section.full_key("proxy"),
                _ => String::new(),
            };
            reader.report_error(origin, key, format!("the URL of the proxy: {what}"), help);
            None
        }
    }
}

fn read_no_proxy(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
) -> Vec<NoProxyRule> {
    if section.has("no_proxy") {
        let mut rules = Vec::new();
        let texts = reader.read_text_or_texts(section, "no_proxy");
        for (text, origin) in &texts {
            let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            for entry in entries {
                match NoProxyRule::parse(entry) {
                    Some(rule) => rules.push(rule),
                    None => {
                        let message = format!("{} is not a host", quote(&excerpt(entry)));
                        let help = "expected a name, an address, a network such as \
                                    \"10.0.0.0/8\", or \"*\"; each with an optional port";
                        reader.report_error(origin, section.full_key("no_proxy"), message, help);
                    }
                }
            }
        }
        let shown: Vec<String> = texts.iter().map(|(text, _)| quote(text)).collect();
        let origin = texts.first().map_or(section.origin(), |(_, origin)| origin.clone());
        section.add_setting("no_proxy", format!("[{}]", shown.join(", ")), &origin);
        return rules;
    }
    let found = NO_PROXY_VARIABLES.iter().find_map(|name| reader.read_variable(name));
    let Some((text, origin)) = found else { return Vec::new() };
    section.add_setting("no_proxy", format!("[{}]", quote(&text)), &origin);
    NoProxyRule::parse_list(&text)
}

fn read_roots(reader: &mut ConfigReader<'_>, section: &mut SectionReader<'_>) -> TrustedRoots {
    let mut roots = TrustedRoots::default();
    if let Some((path, origin)) = reader.read_variable(CERTIFICATE_VARIABLE) {
        let path = Path::new(&path).to_owned();
        let load = |pem: &[u8]| TrustedRoots::default().with_system(pem);
        if let Some(read) = read_certificates(reader, &path, &origin, "", load) {
            roots = read;
        }
    }
    if let Some((folders, _)) = reader.read_variable(CERTIFICATE_FOLDERS_VARIABLE) {
        let folders = env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty());
        roots = roots.with_system_folders(folders.collect());
    }
    if let Some((text, origin)) = reader.read_text(section, "ca_file") {
        section.add_setting("ca_file", quote(&text), &origin);
        let path = reader.resolve_path(Path::new(&text));
        let full_key = section.full_key("ca_file");
        let load = |pem: &[u8]| roots.clone().with_added(pem);
        if let Some(read) = read_certificates(reader, &path, &origin, &full_key, load) {
            roots = read;
        }
    }
    roots
}

/// Reads the certificate that an upstream is shown, and its key.
pub(super) fn read_identity(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
) -> Option<ClientIdentity> {
    let [certificate, key] = ["client_cert", "client_key"].map(|name| {
        let (text, origin) = reader.read_text(section, name)?;
        section.add_setting(name, quote(&text), &origin);
        let path = reader.resolve_path(Path::new(&text));
        let full_key = section.full_key(name);
        match reader.environment.file(&path) {
            Ok(file) => {
                if name == "client_key" {
                    warn_if_exposed(reader, &path, &origin, &full_key, file.exposure);
                }
                Some((file.text, origin))
            }
            Err(error) => {
                let message = format!("`{}` cannot be read: {error}", display_path(&path));
                reader.report_error(&origin, full_key, message, "expected a PEM file");
                None
            }
        }
    });
    for (name, other) in [("client_cert", "client_key"), ("client_key", "client_cert")] {
        if section.has(other) && !section.has(name) {
            reader.report_missing(section, name, &format!("it belongs to `{other}`"));
        }
    }
    let ((certificate, origin), (key, _)) = (certificate?, key?);
    let identity = ClientIdentity::from_pem(certificate.as_bytes(), key.as_bytes());
    if let Err(message) = identity {
        let help = "expected PEM files with a certificate, and with its key";
        reader.report_error(&origin, section.full_key("client_cert"), message, help);
    }
    identity.ok()
}

fn read_certificates(
    reader: &mut ConfigReader<'_>,
    path: &Path,
    origin: &SettingOrigin,
    key: &str,
    load: impl FnOnce(&[u8]) -> Result<TrustedRoots, &'static str>,
) -> Option<TrustedRoots> {
    let shown = display_path(path);
    let loaded = match reader.environment.file(path) {
        Ok(found) => load(found.text.as_bytes()).map_err(|what| format!("`{shown}`: {what}")),
        Err(error) => Err(format!("`{shown}` cannot be read: {error}")),
    };
    match loaded {
        Ok(roots) => Some(roots),
        Err(message) => {
            let help = "expected a PEM file with the certificates of authorities";
            reader.report_error(origin, key, message, help);
            None
        }
    }
}
