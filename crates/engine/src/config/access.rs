//! Who may come in: tokens, names we are called by, and pages that may ask.

use std::{net::SocketAddr, sync::Arc};

use super::{
    AccessConfig, AccessToken, SettingOrigin, TokenRequirement, TokenScope, TokenState, address,
    config_reader::{ConfigReader, SectionReader, SettingValue, display_path, excerpt},
    environment,
    secrets::{self, REDACTED_SECRET, SecretSource},
    values::quote,
};
use crate::SecretText;

/// Whose requests those with the token of this machine are.
const LOCAL_OWNER: &str = "local";

/// A token that is shorter can be guessed.
const MIN_TOKEN_LENGTH: usize = 16;

/// Reads `[access]` and every `[[token]]`.
pub(super) fn read_access(
    desk: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
    listen: &SettingValue<SocketAddr>,
) -> (AccessConfig, TokenState) {
    let mut part = desk.open_section(root, "access");
    let hosts = read_exact_list(desk, &mut part, "hosts", address::parse_host, INVALID_HOST);
    let origins =
        read_exact_list(desk, &mut part, "origins", address::parse_origin, INVALID_ORIGIN);
    let file = desk.read_text(&mut part, "token_file");
    let parts = desk.open_sections(root, "token");
    let listed = !parts.is_empty();
    let mut tokens: Vec<AccessToken> = Vec::new();
    let door = read_local_token(desk, &mut part, file, listed, &mut tokens);
    desk.close_section(part);
    for part in parts {
        read_token(desk, part, &mut tokens);
    }
    let all = listen.value.ip().is_unspecified();
    if all && hosts.is_empty() {
        desk.report_warning(
            &listen.origin,
            "access.hosts",
            "it listens at every address, and no name is allowed in `Host`",
            "clients that ask by another name get 403: `[access] hosts = [\"gateway.example\"]`",
        );
    }
    if door == TokenState::Disabled {
        check_open_access(desk, listen, listed || !tokens.is_empty());
    }
    (AccessConfig { tokens, hosts, origins }, door)
}

const INVALID_HOST: (&str, &str) = (
    "this is no name of a host",
    "write names one by one, as \"gateway.example\" or \"gateway.example:8443\"; `*` is not allowed",
);

const INVALID_ORIGIN: (&str, &str) = (
    "this is no origin",
    "write origins one by one, as \"https://chat.example\"; `*` is not allowed, nor a path",
);

fn read_exact_list(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    key: &'static str,
    read: fn(&str) -> Option<String>,
    (message, help): (&str, &str),
) -> Vec<String> {
    let mut values = Vec::new();
    let mut from = SettingOrigin::Default;
    for (text, origin) in desk.read_texts(part, key) {
        match read(&text) {
            Some(value) => values.push(value),
            None => {
                let message = format!("{}: {message}", quote(&excerpt(&text)));
                desk.report_error(&origin, part.full_key(key), message, help);
            }
        }
        from = origin;
    }
    let shown: Vec<String> = values.iter().map(|value| quote(value)).collect();
    part.add_setting(key, format!("[{}]", shown.join(", ")), &from);
    values
}

/// The token of this machine: a flag, a variable, the file's word, or the one that is made.
fn read_local_token(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    file: Option<(String, SettingOrigin)>,
    listed: bool,
    tokens: &mut Vec<AccessToken>,
) -> TokenState {
    let variable = SettingOrigin::Variable("FOXWEDGE_TOKEN".into());
    // Set to nothing is not the same as not set: somebody meant to close the door with it.
    let given = desk.environment.variable("FOXWEDGE_TOKEN");
    let flag = SettingOrigin::Flag("--token-file");
    let secret = match (&desk.flags.token_file.clone(), given, file) {
        (Some(path), _, _) => {
            part.add_setting("token_file", quote(&display_path(path)), &flag);
            secrets::read_secret_file(desk, path, &flag, "")
        }
        (None, Some(text), _) => {
            part.add_setting("token", REDACTED_SECRET.to_owned(), &variable);
            let text = text.into_string().unwrap_or_default();
            secrets::check_secret(desk, &variable, "", &text)
        }
        (None, None, Some((path, origin))) => {
            part.add_setting("token_file", quote(&path), &origin);
            let path = desk.resolve_path(path.as_ref());
            secrets::read_secret_file(desk, &path, &origin, "access.token_file")
        }
        (None, None, None) => {
            return match desk.flags.token_requirement {
                TokenRequirement::NotRequired => TokenState::Disabled,
                TokenRequirement::Required if listed => TokenState::Ready,
                TokenRequirement::Required => read_default_token(desk, part, tokens),
            };
        }
    };
    tokens.extend(secret.map(|secret| admin_token(desk, secret)));
    match desk.flags.token_requirement {
        TokenRequirement::NotRequired => TokenState::Disabled,
        TokenRequirement::Required => TokenState::Ready,
    }
}

/// The token that was made at the first start, or is still to be made.
fn read_default_token(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    tokens: &mut Vec<AccessToken>,
) -> TokenState {
    let Some(path) = environment::token_file(desk.environment) else {
        let message = "there is no folder for a token";
        desk.report_error(
            &SettingOrigin::Default,
            "",
            message,
            "name one: `--token-file FILE`, or set HOME",
        );
        return TokenState::Ready;
    };
    let shown = display_path(&path);
    part.add_setting("token_file", quote(&shown), &SettingOrigin::Default);
    let origin = SettingOrigin::File { path: Arc::clone(&shown), line: 0 };
    match desk.environment.file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => TokenState::Missing(path),
        Ok(_) | Err(_) => {
            let secret = secrets::read_secret_file(desk, &path, &origin, "");
            if secret.is_none()
                && let Some(complaint) = desk.issues.last_mut()
            {
                complaint.help = Some(format!("remove {shown}, and a new one is made"));
            }
            tokens.extend(secret.map(|secret| admin_token(desk, secret)));
            TokenState::Ready
        }
    }
}

/// The operator's own: it may see everything.
fn admin_token(desk: &mut ConfigReader<'_>, secret: SecretText) -> AccessToken {
    if secret.reveal().len() < MIN_TOKEN_LENGTH {
        desk.report_warning(
            &SettingOrigin::Default,
            "token",
            "the token is short enough to be guessed",
            TOKEN_HELP,
        );
    }
    AccessToken { owner: LOCAL_OWNER.into(), secret, scope: TokenScope::Admin }
}

const TOKEN_HELP: &str = "use 32 random bytes: `openssl rand -hex 32`";

fn read_token(
    desk: &mut ConfigReader<'_>,
    mut part: SectionReader<'_>,
    tokens: &mut Vec<AccessToken>,
) {
    let origin = part.origin();
    let owner = desk.read_text(&mut part, "owner");
    let (owner, from) = owner.unwrap_or_else(|| {
        let help = "`owner = \"alice\"`: whose sessions and runs these are";
        desk.report_error(&origin, part.full_key("owner"), "it is missing", help);
        (String::new(), origin.clone())
    });
    let named = !owner.is_empty() && owner.len() <= 64 && owner.bytes().all(is_owner_byte);
    if !named && !owner.is_empty() {
        let message = format!("{} is no name of an owner", quote(&excerpt(&owner)));
        desk.report_error(
            &from,
            part.full_key("owner"),
            message,
            "use 1 to 64 of A-Z a-z 0-9 . _ @ -",
        );
    }
    part.add_setting("owner", quote(&owner), &from);
    let ways = SecretSource::of(desk, &mut part, ("token", "token_file"));
    let named = desk.read_text(&mut part, "env");
    let secret = match (ways.is_empty(), named) {
        (true, Some((name, origin))) => {
            secrets::read_secret_variable(desk, &mut part, "token", &name, &origin)
        }
        (false, Some((_, origin))) => {
            desk.report_error(
                &origin,
                part.full_key("env"),
                "the token is given, too",
                "keep one of the two",
            );
            None
        }
        (true, None) => {
            let help = "`token_file = \"path\"`, `env = \"NAME\"` or `token = \"…\"`";
            desk.report_error(&origin, part.full_key("token"), "it is missing", help);
            None
        }
        (false, None) => ways.read(desk, &mut part),
    };
    let scope = desk.read_setting(&mut part, "scope", TokenScope::User).value;
    if let Some(secret) = secret {
        if secret.reveal().len() < MIN_TOKEN_LENGTH {
            let message = "the token is short enough to be guessed";
            desk.report_warning(&origin, part.full_key("token"), message, TOKEN_HELP);
        }
        if tokens.iter().any(|token| token.secret.equals(secret.reveal())) {
            let message = "somebody else has the same token";
            desk.report_error(&origin, part.full_key("token"), message, TOKEN_HELP);
        }
        tokens.push(AccessToken { owner: owner.into(), secret, scope });
    }
    desk.close_section(part);
}

fn is_owner_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@' | b'-')
}

/// Nobody comes in unseen, except from this machine and because somebody wants it so.
fn check_open_access(desk: &mut ConfigReader<'_>, listen: &SettingValue<SocketAddr>, tokens: bool) {
    let flag = SettingOrigin::Flag("--no-token");
    if tokens {
        desk.report_error(&flag, "", "tokens are configured", "leave the flag out, or the tokens");
    }
    if !listen.value.ip().is_loopback() {
        let message = format!("`{}` can be reached by others", listen.value);
        desk.report_error(
            &flag,
            "listen",
            message,
            "without a token, listen at 127.0.0.1 or [::1] only",
        );
    }
}
