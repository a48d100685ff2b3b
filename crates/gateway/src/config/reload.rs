//! Which settings a new configuration changes, and which of them only a start can change.

use foxwedge_upstream::{SecretText, UpstreamConfig, UpstreamKey};

use super::{AccessToken, ConfigSection, LoadedConfig, values::quote};

/// Settings that only a start can change: a section, and its keys; no keys mean all.
pub(crate) const FIXED_SETTINGS: [(&str, &[&str]); 7] = [
    ("", &["listen", "advertise", "store"]),
    ("[limits]", &["request_head", "connections", "connections_per_address", "requests_per_owner"]),
    ("[timeouts]", &["request_head", "keep_alive", "client_write", "shutdown", "shutdown_delay"]),
    ("[sessions]", &[]),
    ("[record]", &[]),
    ("[telemetry]", &[]),
    ("[console]", &[]),
];

/// How a new configuration differs from the running one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigChanges {
    /// Settings that apply from now on, and sections that were added or removed.
    pub applied: Vec<String>,
    /// Settings that apply after the next start.
    pub after_restart: Vec<String>,
}

impl LoadedConfig {
    /// How this configuration differs from the one before.
    pub fn changes_since(&self, before: &LoadedConfig) -> ConfigChanges {
        let mut changes = ConfigChanges::default();
        let mut earlier: Vec<&ConfigSection> = before.sections.iter().collect();
        for section in &self.sections {
            let found = earlier.iter().position(|other| is_same_section(other, section));
            match found.map(|at| earlier.remove(at)) {
                Some(other) => changes.add_settings(section, other),
                None => changes.applied.push(section_name(section)),
            }
        }
        changes.applied.extend(earlier.into_iter().map(section_name));
        changes.add_secrets(self, before);
        changes
    }
}

impl ConfigChanges {
    /// Adds keys and tokens with another value. The settings do not show it.
    fn add_secrets(&mut self, now: &LoadedConfig, before: &LoadedConfig) {
        let upstreams = now.config.upstreams.iter().filter(|upstream| {
            let mut others = before.config.upstreams.iter();
            let other = others.find(|other| other.name == upstream.name);
            other.is_some_and(|other| configured_key(other) != configured_key(upstream))
        });
        let keys = upstreams.map(|upstream| format!("upstream {}.key", quote(&upstream.name)));
        let known = &before.config.access.tokens;
        let tokens = now.config.access.tokens.iter().filter(|token| {
            let has_owner = |other: &AccessToken| other.owner == token.owner;
            known.iter().any(has_owner) && !known.iter().any(|other| other.secret == token.secret)
        });
        let tokens = tokens.map(|token| format!("token of {}", quote(&token.owner)));
        for name in keys.chain(tokens) {
            if !self.applied.contains(&name) {
                self.applied.push(name);
            }
        }
    }

    fn add_settings(&mut self, section: &ConfigSection, before: &ConfigSection) {
        let value = |section: &ConfigSection, key: &str| {
            let mut settings = section.settings.iter();
            settings.find(|setting| setting.key == key).map(|setting| setting.value.clone())
        };
        let mut keys: Vec<&str> = Vec::new();
        for setting in section.settings.iter().chain(&before.settings) {
            if !keys.contains(&&*setting.key) {
                keys.push(&setting.key);
            }
        }
        for key in keys.into_iter().filter(|key| value(section, key) != value(before, key)) {
            let name = match section_name(section) {
                header if header.is_empty() => key.to_owned(),
                header => format!("{header}.{key}"),
            };
            let is_fixed = FIXED_SETTINGS.iter().any(|(header, keys)| {
                *header == section.header && (keys.is_empty() || keys.contains(&key))
            });
            match is_fixed {
                true => self.after_restart.push(name),
                false => self.applied.push(name),
            }
        }
    }
}

fn configured_key(upstream: &UpstreamConfig) -> Option<&SecretText> {
    match &upstream.key {
        UpstreamKey::Configured(secret) => Some(secret),
        UpstreamKey::FromCaller
        | UpstreamKey::Token(_)
        | UpstreamKey::Signature(_)
        | UpstreamKey::None => None,
    }
}

/// Sections of a list are the same if their first setting is: the name of an upstream, the model of
/// a route, the owner of a token.
fn is_same_section(one: &ConfigSection, other: &ConfigSection) -> bool {
    let first = |section: &ConfigSection| section.settings.first().map(|it| it.value.clone());
    one.header == other.header && (!one.header.starts_with("[[") || first(one) == first(other))
}

/// The name in messages: `limits`, `route "fast"`.
fn section_name(section: &ConfigSection) -> String {
    let header = section.header.trim_matches(['[', ']']);
    match section.settings.first().filter(|_| section.header.starts_with("[[")) {
        Some(first) => format!("{header} {}", first.value),
        None => header.to_owned(),
    }
}
