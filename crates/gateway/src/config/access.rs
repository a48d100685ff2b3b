//! Access control: tokens, allowed hosts and allowed web origins.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use super::{
    AccessConfig, AccessToken, SettingOrigin, TokenRequirement, TokenScope, address,
    config_reader::{ConfigReader, SectionReader, display_path, excerpt, invalid},
    environment,
    secrets::{self, REDACTED_SECRET, SecretSource},
    table::TokenSettings,
    values::quote,
};
use foxwedge_upstream::SecretText;

/// Whether there is a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenState {
    /// There are tokens.
    Ready,
    /// There is none yet: one has to be created and stored in this file.
    Missing(PathBuf),
    /// There is none, on explicit request.
    Disabled,
}

/// The owner of requests with the token of this machine.
const LOCAL_OWNER: &str = "local";

/// Shorter tokens can be guessed.
const MIN_TOKEN_LENGTH: usize = 16;

/// Reads `[access]` and every `[[token]]`.
pub(super) fn read_access(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
    listen: SocketAddr,
) -> (AccessConfig, TokenState) {
    let mut section = reader.open_section(root, "access");
    let hosts = read_exact_list(reader, &mut section, "hosts", address::parse_host, INVALID_HOST);
    let origins =
        read_exact_list(reader, &mut section, "origins", address::parse_origin, INVALID_ORIGIN);
    let file = reader.read_text(&section, "token_file");
    let token_sections = reader.open_sections(root, "token");
    let listed = !token_sections.is_empty();
    let mut tokens: Vec<AccessToken> = Vec::new();
    let token_state = read_local_token(reader, &mut section, file, listed, &mut tokens);
    reader.close_section(section);
    for section in token_sections {
        read_token(reader, section, &mut tokens);
    }
    if listen.ip().is_unspecified() && hosts.is_empty() {
        let message = "the gateway listens on every address, but no host name is allowed";
        let help = "requests to a host name get 403 without `hosts = [\"gateway.example\"]`";
        reader.report_warning(&root.setting_origin("listen"), "access.hosts", message, help);
    }
    if token_state == TokenState::Disabled {
        check_open_access(reader, listen, listed || !tokens.is_empty());
    }
    (AccessConfig { tokens, hosts, origins }, token_state)
}

const INVALID_HOST: (&str, &str) = (
    "is not a host name",
    "list every name, such as \"gateway.example\" or \"gateway.example:8443\", without `*`",
);

const INVALID_ORIGIN: (&str, &str) = (
    "is not a web origin",
    "list every origin, such as \"https://chat.example\", without `*` and without a path",
);

fn read_exact_list(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    key: &'static str,
    read: fn(&str) -> Option<String>,
    (message, help): (&str, &str),
) -> Vec<String> {
    let mut values = Vec::new();
    let mut from = SettingOrigin::Default;
    for (text, origin) in reader.read_texts(section, key) {
        match read(&text) {
            Some(value) => values.push(value),
            None => {
                let message = format!("{} {message}", quote(&excerpt(&text)));
                reader.report_error(&origin, section.full_key(key), message, help);
            }
        }
        from = origin;
    }
    let quoted: Vec<String> = values.iter().map(|value| quote(value)).collect();
    section.add_setting(key, format!("[{}]", quoted.join(", ")), &from);
    values
}

/// Reads the token of this machine: from a flag, a variable, the file, or the default token file.
fn read_local_token(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    file: Option<(String, SettingOrigin)>,
    listed: bool,
    tokens: &mut Vec<AccessToken>,
) -> TokenState {
    let variable = SettingOrigin::Variable("FOXWEDGE_TOKEN".into());
    // An empty variable is not the same as a missing one: the operator meant to set a token.
    let given = reader.environment.variable("FOXWEDGE_TOKEN");
    let flag = SettingOrigin::Flag("--token-file");
    let secret = match (&reader.flags.token_file.clone(), given, file) {
        (Some(path), _, _) => {
            section.add_setting("token_file", quote(&display_path(path)), &flag);
            secrets::read_secret_file(reader, path, &flag, "")
        }
        (None, Some(text), _) => {
            section.add_setting("token", REDACTED_SECRET.to_owned(), &variable);
            let text = text.into_string().unwrap_or_default();
            secrets::check_secret(reader, &variable, "", &text)
        }
        (None, None, Some((path, origin))) => {
            section.add_setting("token_file", quote(&path), &origin);
            let path = reader.resolve_path(path.as_ref());
            secrets::read_secret_file(reader, &path, &origin, "access.token_file")
        }
        (None, None, None) => {
            return match reader.flags.token_requirement {
                TokenRequirement::NotRequired => TokenState::Disabled,
                TokenRequirement::Required if listed => TokenState::Ready,
                TokenRequirement::Required => read_default_token(reader, section, tokens),
            };
        }
    };
    tokens.extend(secret.map(|secret| admin_token(reader, secret)));
    match reader.flags.token_requirement {
        TokenRequirement::NotRequired => TokenState::Disabled,
        TokenRequirement::Required => TokenState::Ready,
    }
}

/// Reads the token that was created at the first start, if there is one.
fn read_default_token(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    tokens: &mut Vec<AccessToken>,
) -> TokenState {
    let Some(path) = environment::token_file(reader.environment) else {
        let message = "there is no default folder for the token";
        let help = "use `--token-file FILE`, or set HOME";
        reader.report_error(&SettingOrigin::Default, "", message, help);
        return TokenState::Ready;
    };
    let display = display_path(&path);
    section.add_setting("token_file", quote(&display), &SettingOrigin::Default);
    let origin = SettingOrigin::File { path: Arc::clone(&display), line: 0 };
    match reader.environment.file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => TokenState::Missing(path),
        Ok(_) | Err(_) => {
            let secret = secrets::read_secret_file(reader, &path, &origin, "");
            if secret.is_none()
                && let Some(issue) = reader.issues.last_mut()
            {
                issue.help = Some(format!("remove {display} to create a new token"));
            }
            tokens.extend(secret.map(|secret| admin_token(reader, secret)));
            TokenState::Ready
        }
    }
}

/// The operator's own token, with access to everything.
fn admin_token(reader: &mut ConfigReader<'_>, secret: SecretText) -> AccessToken {
    if secret.reveal().len() < MIN_TOKEN_LENGTH {
        reader.report_warning(&SettingOrigin::Default, "token", SHORT_TOKEN, TOKEN_HELP);
    }
    AccessToken { owner: LOCAL_OWNER.into(), secret, scope: TokenScope::Admin }
}

const SHORT_TOKEN: &str = "the token is short and can be guessed";

const TOKEN_HELP: &str = "use 32 random bytes: `openssl rand -hex 32`";

fn read_token(
    reader: &mut ConfigReader<'_>,
    mut section: SectionReader<'_>,
    tokens: &mut Vec<AccessToken>,
) {
    let origin = section.origin();
    let owner = reader.read_text(&section, "owner");
    let (owner, from) = owner.unwrap_or_else(|| {
        reader.report_missing(&section, "owner", "`owner = \"alice\"`");
        (String::new(), origin.clone())
    });
    let is_valid = !owner.is_empty() && owner.len() <= 64 && owner.bytes().all(is_owner_byte);
    if !is_valid && !owner.is_empty() {
        let help = "use 1 to 64 characters of A-Z a-z 0-9 . _ @ -";
        reader.report_error(&from, section.full_key("owner"), invalid(&owner), help);
    }
    section.add_setting("owner", quote(&owner), &from);
    let source = SecretSource::of(reader, &mut section, ("token", "token_file"));
    let variable = reader.read_text(&section, "env");
    let secret = match (source.is_empty(), variable) {
        (true, Some((name, origin))) => {
            secrets::read_secret_variable(reader, &mut section, "token", &name, &origin)
        }
        (false, Some((_, origin))) => {
            let message = "the token is set twice";
            reader.report_error(&origin, section.full_key("env"), message, "keep one of the two");
            None
        }
        (true, None) => {
            let help = "`token_file = \"path\"`, `env = \"NAME\"` or `token = \"…\"`";
            reader.report_missing(&section, "token", help);
            None
        }
        (false, None) => source.read(reader, &mut section),
    };
    let TokenSettings { scope } = TokenSettings::read(reader, &mut section, None);
    if let Some(secret) = secret {
        if secret.reveal().len() < MIN_TOKEN_LENGTH {
            reader.report_warning(&origin, section.full_key("token"), SHORT_TOKEN, TOKEN_HELP);
        }
        if tokens.iter().any(|token| token.secret.equals(secret.reveal())) {
            let message = "another owner has the same token";
            reader.report_error(&origin, section.full_key("token"), message, TOKEN_HELP);
        }
        tokens.push(AccessToken { owner: owner.into(), secret, scope });
    }
    reader.close_section(section);
}

fn is_owner_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@' | b'-')
}

/// Without tokens, only loopback addresses are allowed, and only on explicit request.
fn check_open_access(reader: &mut ConfigReader<'_>, listen: SocketAddr, tokens: bool) {
    let flag = SettingOrigin::Flag("--no-token");
    if tokens {
        let help = "remove the flag, or the tokens";
        reader.report_error(&flag, "", "tokens are configured", help);
    }
    if !listen.ip().is_loopback() {
        let message = format!("other machines can reach `{listen}`");
        let help = "without a token, listen on 127.0.0.1 or [::1] only";
        reader.report_error(&flag, "listen", message, help);
    }
}
