//! Requests to an authorization server.

use std::time::Duration;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use super::LoginError;
use crate::mcp::{
    address,
    login_store::{OauthClient, SavedLogin},
};
use foxwedge_upstream::{
    http::{HttpClient, HttpRequest, HttpResponse},
    is_loopback_host,
};

/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum bytes of a response.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// Maximum characters of foreign text in an error.
const MAX_ERROR_CHARS: usize = 200;
/// Everything that is reserved in a form.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// New tokens.
#[derive(Deserialize)]
pub(super) struct TokenReply {
    access_token: String,
    #[serde(default)]
    token_type: String,
    refresh_token: Option<String>,
    expires_in: Option<Value>,
    scope: Option<String>,
}

impl TokenReply {
    /// Puts the tokens into a login. A refresh token stays until there is a new one.
    pub(super) fn apply_to(self, login: &mut SavedLogin) {
        // Some servers write the number as a text.
        login.set_lifetime(match &self.expires_in {
            Some(Value::String(text)) => text.parse().ok(),
            number => number.as_ref().and_then(Value::as_u64),
        });
        login.access_token = self.access_token;
        login.refresh_token = self.refresh_token.or_else(|| login.refresh_token.take());
        login.scope = self.scope.or_else(|| login.scope.take());
    }
}

/// Why a token endpoint gave no tokens.
pub(super) enum TokenError {
    /// The code or the refresh token is no longer valid.
    InvalidGrant(String),
    /// Anything else; the next try may work.
    Failed(LoginError),
}

/// Sends the requests of a login.
#[derive(Clone, Debug)]
pub(super) struct OauthHttp {
    client: HttpClient,
    /// Whether the MCP server is on this machine. Only then may others be there without TLS.
    is_local: bool,
}

impl OauthHttp {
    pub(super) fn new(client: HttpClient, server: &str) -> OauthHttp {
        let is_local =
            address::parse(server).is_ok_and(|address| is_loopback_host(&address.target.host));
        OauthHttp { client, is_local }
    }

    /// Reads a document; `None` if there is none at this address.
    pub(super) async fn get<D: DeserializeOwned>(
        &self,
        what: &str,
        url: &str,
    ) -> Result<Option<D>, LoginError> {
        let sent = self.send(what, url, Method::GET, HeaderMap::new(), Bytes::new()).await?;
        match sent {
            (StatusCode::OK, body) => {
                let read = serde_json::from_slice(&body);
                read.map(Some).map_err(|_| LoginError::new(format!("{what} cannot be read")))
            }
            (status, _) if status.is_client_error() => Ok(None),
            (status, _) => Err(LoginError::new(format!("{what} cannot be read: HTTP {status}"))),
        }
    }

    /// Posts JSON. Returns the status and the reply.
    pub(super) async fn post_json(
        &self,
        what: &str,
        url: &str,
        body: &Value,
    ) -> Result<(StatusCode, Value), LoginError> {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, json)]);
        let body = Bytes::from(body.to_string());
        let (status, body) = self.send(what, url, Method::POST, headers, body).await?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    /// Posts a form in the name of a client.
    pub(super) async fn post_form(
        &self,
        what: &str,
        url: &str,
        client: &OauthClient,
        fields: &[(&str, &str)],
    ) -> Result<(StatusCode, Value), LoginError> {
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, form)]);
        let mut fields = fields.to_vec();
        match &client.secret {
            Some(secret) if client.uses_basic => {
                let pair = STANDARD.encode(format!("{}:{}", encode(&client.id), encode(secret)));
                let value = HeaderValue::from_str(&format!("Basic {pair}"));
                let mut value =
                    value.map_err(|_| LoginError::new("the secret of the client is no header"))?;
                value.set_sensitive(true);
                headers.insert(header::AUTHORIZATION, value);
            }
            Some(secret) => fields.extend([("client_id", &*client.id), ("client_secret", secret)]),
            None => fields.push(("client_id", &client.id)),
        }
        let body = Bytes::from(encode_form(&fields));
        let (status, body) = self.send(what, url, Method::POST, headers, body).await?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    /// Exchanges a code or a refresh token for tokens.
    pub(super) async fn request_tokens(
        &self,
        url: &str,
        client: &OauthClient,
        fields: &[(&str, &str)],
    ) -> Result<TokenReply, TokenError> {
        let sent = self.post_form("the token endpoint", url, client, fields).await;
        let (status, reply) = sent.map_err(TokenError::Failed)?;
        if !status.is_success() {
            let why = describe_error(status, &reply);
            return Err(match reply.get("error").and_then(Value::as_str) {
                Some("invalid_grant" | "invalid_client" | "unauthorized_client") => {
                    TokenError::InvalidGrant(why)
                }
                _ => TokenError::Failed(LoginError::new(format!("no token was issued: {why}"))),
            });
        }
        // The error of the parser would repeat a part of the reply.
        match serde_json::from_value::<TokenReply>(reply) {
            Ok(reply)
                if reply.token_type.eq_ignore_ascii_case("bearer")
                    && !reply.access_token.is_empty() =>
            {
                Ok(reply)
            }
            Ok(_) | Err(_) => {
                let error = LoginError::new("the token endpoint did not return a bearer token");
                Err(TokenError::Failed(error))
            }
        }
    }

    /// Sends a request. Credentials cross no network without TLS.
    async fn send(
        &self,
        what: &str,
        url: &str,
        method: Method,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), LoginError> {
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let failed = |why: String| LoginError::new(format!("{what} cannot be reached: {why}"));
        let address = address::parse(url).map_err(|why| failed(why.to_owned()))?;
        let stays_here = self.is_local && is_loopback_host(&address.target.host);
        if !address.target.tls && !stays_here {
            return Err(failed("its address does not start with `https://`".to_owned()));
        }
        let request = HttpRequest { method, path: &address.path, headers: &headers, body };
        let exchange = async {
            let sent = self.client.send(&address.target, request).await;
            let HttpResponse { status, body, .. } = sent.map_err(|error| error.to_string())?;
            let body = body.read_all(MAX_RESPONSE_BYTES).await.map_err(|it| it.to_string())?;
            Ok((status, body))
        };
        match timeout(REQUEST_TIMEOUT, exchange).await {
            Ok(exchanged) => exchanged.map_err(failed),
            Err(_) => Err(failed("it did not respond in time".to_owned())),
        }
    }
}

/// The error of an authorization server in words.
pub(super) fn describe_error(status: StatusCode, reply: &Value) -> String {
    let text = |name: &str| reply.get(name).and_then(Value::as_str).map(printable);
    match (text("error"), text("error_description")) {
        (Some(error), Some(more)) => format!("{error} ({more})"),
        (Some(error), None) => error,
        (None, _) => format!("HTTP {status}"),
    }
}

/// Foreign text that is safe to show.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_ERROR_CHARS).collect()
}

/// Encodes the fields of a form or a query.
pub(super) fn encode_form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// A random text that cannot be guessed.
pub(super) fn random_text() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| LoginError::new("the system has no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The proof key (PKCE, S256) for a verifier.
pub(super) fn code_challenge(verifier: &str) -> String {
    use sha2::Digest as _;
    URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(verifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // The example of RFC 7636, appendix B.
        let challenge = code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn forms_are_encoded() {
        let form = encode_form(&[("a", "b c&d=é"), ("u", "http://x/y?z")]);
        assert_eq!(form, "a=b%20c%26d%3D%C3%A9&u=http%3A%2F%2Fx%2Fy%3Fz");
    }
}
