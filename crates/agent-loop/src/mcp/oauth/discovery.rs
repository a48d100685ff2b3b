//! Where a server says that its users log in: the challenge of a refusal, the metadata of the
//! protected resource (RFC 9728) and of the authorization server (RFC 8414, OpenID Connect).

use http::{HeaderMap, header};
use serde::{Deserialize, Deserializer};

use super::{LoginError, token_endpoint::OauthHttp};
use crate::mcp::address::{self, ServerAddress};
use foxwedge_upstream::format_base_url;

const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource";
const SERVER_PATH: &str = "/.well-known/oauth-authorization-server";
const OPENID_PATH: &str = "/.well-known/openid-configuration";

/// The parameters of a `Bearer` challenge.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct BearerChallenge {
    pub(super) error: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) resource_metadata: Option<String>,
}

impl BearerChallenge {
    /// Reads the `WWW-Authenticate` headers of a response.
    pub(super) fn read(headers: &HeaderMap) -> BearerChallenge {
        let mut challenge = BearerChallenge::default();
        for value in headers.get_all(header::WWW_AUTHENTICATE) {
            let Ok(value) = value.to_str() else { continue };
            for (name, value) in bearer_parameters(value) {
                let place = match name.to_ascii_lowercase().as_str() {
                    "error" => &mut challenge.error,
                    "scope" => &mut challenge.scope,
                    "resource_metadata" => &mut challenge.resource_metadata,
                    _ => continue,
                };
                place.get_or_insert(value);
            }
        }
        challenge
    }
}

/// The parameters of the `Bearer` challenges in a header, which may hold others.
fn bearer_parameters(header: &str) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    let mut in_bearer = false;
    let mut rest = header.trim_start();
    while !rest.is_empty() {
        let end = rest.find(['=', ' ', ',']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = match after.strip_prefix('=') {
            Some(after) => {
                let (value, after) = read_value(after);
                if in_bearer {
                    parameters.push((word.to_owned(), value));
                }
                after
            }
            None => {
                if !word.is_empty() {
                    in_bearer = word.eq_ignore_ascii_case("bearer");
                }
                after
            }
        };
        rest = rest.trim_start_matches([' ', ',', '\t']);
    }
    parameters
}

/// A token or a quoted string, and what follows it.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

/// What a server says about itself.
#[derive(Deserialize)]
struct ResourceMetadata {
    resource: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    authorization_servers: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    scopes_supported: Vec<String>,
}

/// What an authorization server says about itself.
#[derive(Deserialize)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) scopes_supported: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) token_endpoint_auth_methods_supported: Vec<String>,
    /// Whether the answer of the browser names the issuer.
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// Some servers write `null` for what they do not have.
fn null_as_default<'d, D: Deserializer<'d>, T: Default + Deserialize<'d>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Where and for what to log in.
pub(super) struct LoginTarget {
    pub(super) authorization_server: AuthorizationServer,
    /// What the tokens are for.
    pub(super) resource: String,
    /// The scopes that the server names, separated by blanks.
    pub(super) scopes: Option<String>,
}

/// Finds out where to log in at a server.
pub(super) async fn discover(
    http: &OauthHttp,
    server: &str,
    challenge: &BearerChallenge,
) -> Result<LoginTarget, LoginError> {
    let address = address::parse(server).map_err(LoginError::new)?;
    let origin = format_base_url(&address.target, "");
    let metadata = read_resource_metadata(http, &address, &origin, challenge).await?;
    let (resource, issuer, scopes) = match metadata {
        Some(metadata) => {
            let resource = metadata.resource.unwrap_or_else(|| server.to_owned());
            check_resource(&resource, &address)?;
            let issuer = metadata.authorization_servers.into_iter().next();
            (resource, issuer.unwrap_or(origin), metadata.scopes_supported)
        }
        // Servers of an earlier protocol are their own authorization servers.
        None => (server.to_owned(), origin, Vec::new()),
    };
    let Some(authorization_server) = read_authorization_server(http, &issuer).await? else {
        return Err(LoginError::new("the server does not say where to log in").with_help(
            "it may need a key instead: set it in `headers` of its configuration, as \
             `Authorization`",
        ));
    };
    if !authorization_server.code_challenge_methods_supported.iter().any(|it| it == "S256") {
        return Err(LoginError::new("the authorization server does not support PKCE with S256")
            .with_help("such a login would not be safe; ask the operator of the server"));
    }
    let scopes = challenge
        .scope
        .clone()
        .or_else(|| Some(scopes.join(" ")).filter(|scopes| !scopes.is_empty()));
    Ok(LoginTarget { authorization_server, resource, scopes })
}

async fn read_resource_metadata(
    http: &OauthHttp,
    address: &ServerAddress,
    origin: &str,
    challenge: &BearerChallenge,
) -> Result<Option<ResourceMetadata>, LoginError> {
    let what = "the server's metadata about logins";
    if let Some(url) = &challenge.resource_metadata {
        return http.get(what, url).await;
    }
    let path = address.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let mut found = http.get(what, &format!("{origin}{RESOURCE_PATH}{path}")).await?;
    if found.is_none() && !path.is_empty() {
        found = http.get(what, &format!("{origin}{RESOURCE_PATH}")).await?;
    }
    Ok(found)
}

/// Checks that tokens for a resource are for the server: it is the server, or a part of its path.
fn check_resource(resource: &str, server: &ServerAddress) -> Result<(), LoginError> {
    let plain = |path: &str| {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        format!("{path}/")
    };
    let fits = address::parse(resource).is_ok_and(|resource| {
        resource.target == server.target && plain(&server.path).starts_with(&plain(&resource.path))
    });
    if fits {
        return Ok(());
    }
    Err(LoginError::new("the server asks for a token for another server")
        .with_help("check its URL; if it is right, ask the operator of the server"))
}

async fn read_authorization_server(
    http: &OauthHttp,
    issuer: &str,
) -> Result<Option<AuthorizationServer>, LoginError> {
    let what = "the metadata of the authorization server";
    let address =
        address::parse(issuer).map_err(|why| LoginError::new(format!("{what}: {why}")))?;
    let origin = format_base_url(&address.target, "");
    let path = address.path.trim_end_matches('/');
    let mut places =
        vec![format!("{origin}{SERVER_PATH}{path}"), format!("{origin}{OPENID_PATH}{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}{path}{OPENID_PATH}"));
    }
    for place in places {
        let Some(found) = http.get::<AuthorizationServer>(what, &place).await? else { continue };
        if found.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err(LoginError::new(format!("{what} is that of another server")));
        }
        // The browser is sent there, so it has to be an address of the web.
        address::parse(&found.authorization_endpoint)
            .map_err(|why| LoginError::new(format!("the address of its login page: {why}")))?;
        return Ok(Some(found));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_among_others() {
        let table = [
            ("Bearer", (None, None, None)),
            ("Basic realm=\"a, b\"", (None, None, None)),
            (
                "Bearer realm=\"x\", error=\"invalid_token\", resource_metadata=\"https://a/b?c=d\"",
                (Some("invalid_token"), None, Some("https://a/b?c=d")),
            ),
            (
                "Basic scope=\"no\", bearer error=insufficient_scope, scope=\"a \\\"b\\\" c\"",
                (Some("insufficient_scope"), Some("a \"b\" c"), None),
            ),
            ("Bearer scope=\"a\", Digest error=\"no\"", (None, Some("a"), None)),
            ("Bearer scope=\"open", (None, Some("open"), None)),
            ("=,= \"", (None, None, None)),
        ];
        for (text, (error, scope, resource_metadata)) in table {
            let mut headers = HeaderMap::new();
            headers.insert(header::WWW_AUTHENTICATE, text.parse().expect("a header"));
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let expected = BearerChallenge {
                error: owned(error),
                scope: owned(scope),
                resource_metadata: owned(resource_metadata),
            };
            assert_eq!(BearerChallenge::read(&headers), expected, "{text}");
        }
    }

    #[test]
    fn a_token_for_another_server_is_not_requested() {
        let server = address::parse("https://mcp.example/a/mcp?x=y").expect("an address");
        for fine in ["https://mcp.example/a/mcp", "https://mcp.example/a", "https://mcp.example"] {
            assert!(check_resource(fine, &server).is_ok(), "{fine}");
        }
        for wrong in [
            "https://mcp.example/b",
            "https://mcp.example/a/mc",
            "https://mcp.example/a/mcp/more",
            "https://bank.example/a/mcp",
            "http://mcp.example/a/mcp",
            "mcp.example",
        ] {
            assert!(check_resource(wrong, &server).is_err(), "{wrong}");
        }
    }
}
