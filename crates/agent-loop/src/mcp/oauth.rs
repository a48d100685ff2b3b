//! Logins at MCP servers over HTTP (OAuth 2.1): the user agrees in the browser, the tokens are kept in
//! a file, and requests carry them.
//!
//! The SDK has such a client, too. It would bring a second HTTP client that knows neither our proxies
//! nor our certificates.
//!
//! Tokens, codes and secrets are in no error, no log and no `Debug` output.

mod callback;
mod discovery;
mod server_login;
mod token_endpoint;

use std::{collections::BTreeSet, fmt};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use tokio::time::timeout;

use self::{
    callback::{CallbackAnswer, CallbackListener},
    discovery::{AuthorizationServer, BearerChallenge, LoginTarget, discover},
    token_endpoint::{
        OauthHttp, TokenError, code_challenge, describe_error, encode_form, printable, random_text,
    },
};
use super::{
    McpEnvironment, McpServer, McpTransport, address,
    login_store::{LoginStore, OauthClient, SavedLogin},
};
use foxwedge_upstream::http::HttpRequest;

pub(super) use server_login::ServerLogin;

/// Why a login failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginError {
    message: String,
    help: Option<&'static str>,
}

impl LoginError {
    fn new(message: impl Into<String>) -> LoginError {
        LoginError { message: message.into(), help: None }
    }

    fn with_help(mut self, help: &'static str) -> LoginError {
        self.help = Some(help);
        self
    }

    /// What the user can do.
    pub fn help(&self) -> Option<&'static str> {
        self.help
    }
}

impl fmt::Display for LoginError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for LoginError {}

/// A finished login.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginReport {
    /// Who issued the tokens.
    pub issuer: String,
    /// The granted scopes, separated by blanks.
    pub scope: Option<String>,
    /// Whether it is renewed without the user.
    pub renews: bool,
}

/// What a logout did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogoutOutcome {
    /// There was no login.
    NotLoggedIn,
    /// The login is removed. The authorization server has no address to revoke it, or did not confirm.
    Removed,
    /// The login is removed, and its tokens are revoked.
    Revoked,
}

/// Logs in at an HTTP server. `show` gets the address that the user has to open in a browser.
///
/// # Errors
/// If the server supports no login, the user does not agree in time, or the tokens cannot be kept.
pub async fn login(
    server: &McpServer,
    environment: &McpEnvironment,
    show: impl FnOnce(&str),
) -> Result<LoginReport, LoginError> {
    let (url, logins) = login_place(server, environment)?;
    let http = OauthHttp::new(environment.client.clone(), url);
    let challenge = read_challenge(server, environment, url).await?;
    let target = discover(&http, url, &challenge).await?;
    let listener = CallbackListener::bind(server.oauth.callback_port).await?;
    let redirect_uri = listener.redirect_uri.clone();
    let issuer = &target.authorization_server;
    let client = match &server.oauth.client_id {
        Some(id) => {
            let secret = server.oauth.client_secret.as_ref().map(|it| it.reveal().to_owned());
            let methods = &issuer.token_endpoint_auth_methods_supported;
            let uses_basic = !methods.iter().any(|method| method == "client_secret_post");
            OauthClient { id: id.clone(), secret, uses_basic }
        }
        None => register_client(&http, issuer, &redirect_uri).await?,
    };
    let earlier = logins.find(url).map_err(|error| storage_error(&error))?;
    let scope = requested_scope(server, &target, earlier.as_ref());
    let (state, verifier) = (random_text()?, random_text()?);
    let challenge = code_challenge(&verifier);
    let mut fields = vec![
        ("response_type", "code"),
        ("client_id", &*client.id),
        ("redirect_uri", &*redirect_uri),
        ("state", &*state),
        ("code_challenge", &*challenge),
        ("code_challenge_method", "S256"),
        ("resource", &*target.resource),
    ];
    fields.extend(scope.as_deref().map(|scope| ("scope", scope)));
    if scope.as_deref().is_some_and(|scope| scope.split(' ').any(|it| it == OFFLINE_SCOPE)) {
        fields.push(("prompt", "consent"));
    }
    let page = &issuer.authorization_endpoint;
    let separator = if page.contains('?') { '&' } else { '?' };
    show(&format!("{page}{separator}{}", encode_form(&fields)));
    let answer = listener.wait(&state, environment.login_timeout).await?;
    let code = accept_answer(answer, issuer)?;
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("redirect_uri", &*redirect_uri),
        ("code_verifier", &*verifier),
        ("resource", &*target.resource),
    ];
    let requested = http.request_tokens(&issuer.token_endpoint, &client, &fields).await;
    let reply = requested.map_err(|error| match error {
        TokenError::InvalidGrant(why) => LoginError::new(format!("no token was issued: {why}")),
        TokenError::Failed(error) => error,
    })?;
    let mut saved = SavedLogin {
        server: url.to_owned(),
        issuer: issuer.issuer.clone(),
        resource: target.resource,
        token_endpoint: issuer.token_endpoint.clone(),
        revocation_endpoint: issuer.revocation_endpoint.clone(),
        client,
        access_token: String::new(),
        refresh_token: None,
        expires_at: None,
        scope,
        missing_scope: None,
    };
    reply.apply_to(&mut saved);
    let report = LoginReport {
        issuer: saved.issuer.clone(),
        scope: saved.scope.clone(),
        renews: saved.refresh_token.is_some(),
    };
    let lock = logins.lock().await.map_err(|error| storage_error(&error))?;
    logins.save(&lock, saved).map_err(|error| storage_error(&error))?;
    Ok(report)
}

/// Removes the login at a server, and revokes it if the authorization server supports that.
///
/// # Errors
/// If the file of logins cannot be used.
pub async fn logout(
    server: &McpServer,
    environment: &McpEnvironment,
) -> Result<LogoutOutcome, LoginError> {
    let (url, logins) = login_place(server, environment)?;
    let lock = logins.lock().await.map_err(|error| storage_error(&error))?;
    let Some(login) = logins.find(url).map_err(|error| storage_error(&error))? else {
        return Ok(LogoutOutcome::NotLoggedIn);
    };
    logins.remove(&lock, url).map_err(|error| storage_error(&error))?;
    drop(lock);
    let Some(endpoint) = &login.revocation_endpoint else { return Ok(LogoutOutcome::Removed) };
    let token = login.refresh_token.as_ref().unwrap_or(&login.access_token);
    let http = OauthHttp::new(environment.client.clone(), url);
    let what = "the revocation endpoint";
    match http.post_form(what, endpoint, &login.client, &[("token", token)]).await {
        Ok((status, _)) if status.is_success() => Ok(LogoutOutcome::Revoked),
        Ok(_) | Err(_) => Ok(LogoutOutcome::Removed),
    }
}

/// The scope with which many authorization servers issue refresh tokens.
const OFFLINE_SCOPE: &str = "offline_access";

fn login_place<'s>(
    server: &'s McpServer,
    environment: &'s McpEnvironment,
) -> Result<(&'s str, &'s LoginStore), LoginError> {
    let Some(url) = server.transport.url() else {
        return Err(LoginError::new("only servers over HTTP have logins")
            .with_help("a program reads its keys from variables: `env` in its configuration"));
    };
    let missing = || LoginError::new("there is no folder for logins");
    Ok((url, environment.logins.as_ref().ok_or_else(missing)?))
}

fn storage_error(error: &std::io::Error) -> LoginError {
    LoginError::new(format!("the file of logins cannot be used: {error}"))
        .with_help("check that the folder of FOXWEDGE_STATE_DIR can be written")
}

/// Asks the server without a token what it requires.
async fn read_challenge(
    server: &McpServer,
    environment: &McpEnvironment,
    url: &str,
) -> Result<BearerChallenge, LoginError> {
    let address = address::parse(url).map_err(LoginError::new)?;
    let accept = HeaderValue::from_static("application/json, text/event-stream");
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, accept);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let first = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "foxwedge", "version": env!("CARGO_PKG_VERSION") },
        },
    });
    let tries = match &server.transport {
        McpTransport::Sse { .. } => &[Method::GET][..],
        McpTransport::Http { .. } | McpTransport::Stdio { .. } => &[Method::POST, Method::GET],
    };
    for method in tries {
        let body = if method == Method::POST { first.to_string() } else { String::new() };
        let (method, body) = (method.clone(), Bytes::from(body));
        let request = HttpRequest { method, path: &address.path, headers: &headers, body };
        let sent =
            timeout(environment.start_timeout, environment.client.send(&address.target, request));
        let unreachable = |why: String| {
            LoginError::new(format!("the server cannot be reached: {why}"))
                .with_help("check that it is running and that the URL is complete")
        };
        let response = match sent.await {
            Ok(response) => response.map_err(|error| unreachable(error.to_string()))?,
            Err(_) => return Err(unreachable("it did not respond in time".to_owned())),
        };
        if response.status == StatusCode::UNAUTHORIZED {
            return Ok(BearerChallenge::read(&response.headers));
        }
        if response.status.is_success() {
            break;
        }
    }
    // Some servers require a login only for some requests. Their metadata says so.
    Ok(BearerChallenge::default())
}

/// Registers a client for this login (RFC 7591).
async fn register_client(
    http: &OauthHttp,
    issuer: &AuthorizationServer,
    redirect_uri: &str,
) -> Result<OauthClient, LoginError> {
    const BY_HAND: &str = "register a client there by hand, with the redirect address \
        http://127.0.0.1:PORT/callback, and set `\"oauth\": {\"clientId\": \"…\", \"callbackPort\": \
        PORT}` in the configuration, or `--client-id` and `--callback-port`";
    let Some(endpoint) = &issuer.registration_endpoint else {
        let error = LoginError::new("the authorization server does not register clients");
        return Err(error.with_help(BY_HAND));
    };
    let methods = &issuer.token_endpoint_auth_methods_supported;
    let supports = |wanted: &str| methods.iter().any(|method| method == wanted);
    let method = match methods.is_empty() || supports("none") {
        true => "none",
        false if supports("client_secret_post") => "client_secret_post",
        false => "client_secret_basic",
    };
    let body = json!({
        "client_name": "Foxwedge",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    });
    let (status, reply) = http.post_json("the registration of clients", endpoint, &body).await?;
    let text = |name: &str| reply.get(name).and_then(Value::as_str).map(str::to_owned);
    match text("client_id").filter(|_| status.is_success()) {
        Some(id) => {
            let granted = text("token_endpoint_auth_method");
            let uses_basic = granted.as_deref().unwrap_or(method) == "client_secret_basic";
            Ok(OauthClient { id, secret: text("client_secret"), uses_basic })
        }
        None => {
            let why = describe_error(status, &reply);
            let error = LoginError::new(format!("the client was not registered: {why}"));
            Err(error.with_help(BY_HAND))
        }
    }
}

/// The scopes to request: the configured ones, or those that the server names. Scopes of an earlier
/// login stay, so that more rights for one call take no others away.
fn requested_scope(
    server: &McpServer,
    target: &LoginTarget,
    earlier: Option<&SavedLogin>,
) -> Option<String> {
    let issuer = &target.authorization_server;
    let earlier = earlier.filter(|login| login.issuer == issuer.issuer);
    let missing = earlier.and_then(|login| login.missing_scope.as_deref());
    let kept = missing.and(earlier.and_then(|login| login.scope.as_deref()));
    let named = server.oauth.scopes.as_deref().or(target.scopes.as_deref());
    let all = [named, kept, missing].into_iter().flatten().flat_map(str::split_whitespace);
    let mut scopes: BTreeSet<&str> = all.collect();
    let offers_offline = issuer.scopes_supported.iter().any(|scope| scope == OFFLINE_SCOPE);
    if offers_offline && !scopes.is_empty() && server.oauth.scopes.is_none() {
        scopes.insert(OFFLINE_SCOPE);
    }
    (!scopes.is_empty()).then(|| scopes.into_iter().collect::<Vec<_>>().join(" "))
}

/// The code of an answer.
fn accept_answer(
    answer: CallbackAnswer,
    issuer: &AuthorizationServer,
) -> Result<String, LoginError> {
    let names_issuer = match &answer.issuer {
        Some(named) => *named == issuer.issuer,
        None => !issuer.authorization_response_iss_parameter_supported,
    };
    if !names_issuer {
        return Err(LoginError::new("the answer came from another authorization server")
            .with_help("nothing was sent to it; log in again"));
    }
    if let Some(error) = answer.error {
        return Err(LoginError::new(format!("the login was denied: {}", printable(&error)))
            .with_help("log in again to allow it"));
    }
    answer.code.ok_or_else(|| LoginError::new("the answer of the browser has no code"))
}
