//! Who may come in: tokens, names we are called by, and pages that may ask.

use std::{net::SocketAddr, sync::Arc};

use super::{
    Access, Door, Entrance, Origin, Scope, Token, address,
    desk::{Desk, Part, Set, cut, told},
    secrets::{self, HIDDEN, Ways},
    values::quoted,
    world,
};
use crate::Secret;

/// Whose requests those with the token of this machine are.
const LOCAL: &str = "local";

/// A token that is shorter can be guessed.
const SHORT: usize = 16;

/// Reads `[access]` and every `[[token]]`.
pub(super) fn access(
    desk: &mut Desk<'_>,
    root: &mut Part<'_>,
    listen: &Set<SocketAddr>,
) -> (Access, Door) {
    let mut part = desk.table(root, "access");
    let hosts = exact(desk, &mut part, "hosts", address::host, HOSTS);
    let origins = exact(desk, &mut part, "origins", address::origin, ORIGINS);
    let file = desk.text(&mut part, "token_file");
    let parts = desk.tables(root, "token");
    let listed = !parts.is_empty();
    let mut tokens: Vec<Token> = Vec::new();
    let door = local(desk, &mut part, file, listed, &mut tokens);
    desk.close(part);
    for part in parts {
        token(desk, part, &mut tokens);
    }
    let all = listen.value.ip().is_unspecified();
    if all && hosts.is_empty() {
        desk.warn(
            &listen.origin,
            "access.hosts",
            "it listens at every address, and no name is allowed in `Host`",
            "clients that ask by another name get 403: `[access] hosts = [\"gateway.example\"]`",
        );
    }
    if door == Door::Open {
        open(desk, listen, listed || !tokens.is_empty());
    }
    (Access { tokens, hosts, origins }, door)
}

const HOSTS: (&str, &str) = (
    "this is no name of a host",
    "write names one by one, as \"gateway.example\" or \"gateway.example:8443\"; `*` is not allowed",
);

const ORIGINS: (&str, &str) = (
    "this is no origin",
    "write origins one by one, as \"https://chat.example\"; `*` is not allowed, nor a path",
);

fn exact(
    desk: &mut Desk<'_>,
    part: &mut Part<'_>,
    key: &'static str,
    read: fn(&str) -> Option<String>,
    (message, help): (&str, &str),
) -> Vec<String> {
    let mut values = Vec::new();
    let mut from = Origin::Default;
    for (text, origin) in desk.texts(part, key) {
        match read(&text) {
            Some(value) => values.push(value),
            None => {
                let message = format!("{}: {message}", quoted(&cut(&text)));
                desk.refuse(&origin, part.full(key), message, help);
            }
        }
        from = origin;
    }
    let shown: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    part.note(key, format!("[{}]", shown.join(", ")), &from);
    values
}

/// The token of this machine: a flag, a variable, the file's word, or the one that is made.
fn local(
    desk: &mut Desk<'_>,
    part: &mut Part<'_>,
    file: Option<(String, Origin)>,
    listed: bool,
    tokens: &mut Vec<Token>,
) -> Door {
    let variable = Origin::Variable("FOXWEDGE_TOKEN".into());
    // Set to nothing is not the same as not set: somebody meant to close the door with it.
    let given = desk.world.variable("FOXWEDGE_TOKEN");
    let flag = Origin::Flag("--token-file");
    let secret = match (&desk.flags.token_file.clone(), given, file) {
        (Some(path), _, _) => {
            part.note("token_file", quoted(&told(path)), &flag);
            secrets::from_file(desk, path, &flag, "")
        }
        (None, Some(text), _) => {
            part.note("token", HIDDEN.to_owned(), &variable);
            let text = text.into_string().unwrap_or_default();
            secrets::usable(desk, &variable, "", &text)
        }
        (None, None, Some((path, origin))) => {
            part.note("token_file", quoted(&path), &origin);
            let path = desk.path(path.as_ref());
            secrets::from_file(desk, &path, &origin, "access.token_file")
        }
        (None, None, None) => {
            return match desk.flags.entrance {
                Entrance::Open => Door::Open,
                Entrance::Token if listed => Door::Ready,
                Entrance::Token => usual(desk, part, tokens),
            };
        }
    };
    tokens.extend(secret.map(|secret| mine(desk, secret)));
    match desk.flags.entrance {
        Entrance::Open => Door::Open,
        Entrance::Token => Door::Ready,
    }
}

/// The token that was made at the first start, or is still to be made.
fn usual(desk: &mut Desk<'_>, part: &mut Part<'_>, tokens: &mut Vec<Token>) -> Door {
    let Some(path) = world::token_file(desk.world) else {
        let message = "there is no folder for a token";
        desk.refuse(&Origin::Default, "", message, "name one: `--token-file FILE`, or set HOME");
        return Door::Ready;
    };
    let shown = told(&path);
    part.note("token_file", quoted(&shown), &Origin::Default);
    let origin = Origin::File { path: Arc::clone(&shown), line: 0 };
    match desk.world.file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Door::Make(path),
        Ok(_) | Err(_) => {
            let secret = secrets::from_file(desk, &path, &origin, "");
            if secret.is_none()
                && let Some(complaint) = desk.complaints.last_mut()
            {
                complaint.help = Some(format!("remove {shown}, and a new one is made"));
            }
            tokens.extend(secret.map(|secret| mine(desk, secret)));
            Door::Ready
        }
    }
}

/// The operator's own: it may see everything.
fn mine(desk: &mut Desk<'_>, secret: Secret) -> Token {
    if secret.reveal().len() < SHORT {
        desk.warn(&Origin::Default, "token", "the token is short enough to be guessed", LONGER);
    }
    Token { owner: LOCAL.into(), secret, scope: Scope::Admin }
}

const LONGER: &str = "use 32 random bytes: `openssl rand -hex 32`";

fn token(desk: &mut Desk<'_>, mut part: Part<'_>, tokens: &mut Vec<Token>) {
    let origin = part.origin();
    let owner = desk.text(&mut part, "owner");
    let (owner, from) = owner.unwrap_or_else(|| {
        let help = "`owner = \"alice\"`: whose sessions and runs these are";
        desk.refuse(&origin, part.full("owner"), "it is missing", help);
        (String::new(), origin.clone())
    });
    let named = !owner.is_empty() && owner.len() <= 64 && owner.bytes().all(in_owner);
    if !named && !owner.is_empty() {
        let message = format!("{} is no name of an owner", quoted(&cut(&owner)));
        desk.refuse(&from, part.full("owner"), message, "use 1 to 64 of A-Z a-z 0-9 . _ @ -");
    }
    part.note("owner", quoted(&owner), &from);
    let ways = Ways::of(desk, &mut part, ("token", "token_file"));
    let named = desk.text(&mut part, "env");
    let secret = match (ways.is_empty(), named) {
        (true, Some((name, origin))) => secrets::variable(desk, &mut part, "token", &name, &origin),
        (false, Some((_, origin))) => {
            desk.refuse(
                &origin,
                part.full("env"),
                "the token is given, too",
                "keep one of the two",
            );
            None
        }
        (true, None) => {
            let help = "`token_file = \"path\"`, `env = \"NAME\"` or `token = \"…\"`";
            desk.refuse(&origin, part.full("token"), "it is missing", help);
            None
        }
        (false, None) => ways.read(desk, &mut part),
    };
    let scope = desk.set(&mut part, "scope", Scope::User).value;
    if let Some(secret) = secret {
        if secret.reveal().len() < SHORT {
            let message = "the token is short enough to be guessed";
            desk.warn(&origin, part.full("token"), message, LONGER);
        }
        if tokens.iter().any(|token| token.secret.is(secret.reveal())) {
            let message = "somebody else has the same token";
            desk.refuse(&origin, part.full("token"), message, LONGER);
        }
        tokens.push(Token { owner: owner.into(), secret, scope });
    }
    desk.close(part);
}

fn in_owner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@' | b'-')
}

/// Nobody comes in unseen, except from this machine and because somebody wants it so.
fn open(desk: &mut Desk<'_>, listen: &Set<SocketAddr>, tokens: bool) {
    let flag = Origin::Flag("--no-token");
    if tokens {
        desk.refuse(&flag, "", "tokens are configured", "leave the flag out, or the tokens");
    }
    if !listen.value.ip().is_loopback() {
        let message = format!("`{}` can be reached by others", listen.value);
        desk.refuse(&flag, "listen", message, "without a token, listen at 127.0.0.1 or [::1] only");
    }
}
