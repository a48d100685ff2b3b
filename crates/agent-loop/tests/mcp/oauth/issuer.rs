//! A scripted authorization server and the MCP server that it protects, at one address on loopback,
//! and a browser whose user always agrees.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use foxwedge_agent_loop::mcp::{McpServer, McpTransport};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use sha2::Digest as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::loopback::{HttpRequest, read_request, send};

/// What differs between the servers of the tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IssuerScript {
    pub(crate) registers_clients: bool,
    pub(crate) supports_pkce: bool,
    /// Whether a refusal names the metadata.
    pub(crate) names_metadata: bool,
    pub(crate) has_metadata: bool,
    pub(crate) expires_in: Option<u64>,
    pub(crate) refreshes: bool,
    /// The issuer and the resource in the metadata, if they are wrong.
    pub(crate) wrong_issuer: Option<&'static str>,
    pub(crate) wrong_resource: Option<&'static str>,
    pub(crate) auth_methods: &'static [&'static str],
}

pub(crate) const USUAL: IssuerScript = IssuerScript {
    registers_clients: true,
    supports_pkce: true,
    names_metadata: true,
    has_metadata: true,
    expires_in: Some(3_600),
    refreshes: true,
    wrong_issuer: None,
    wrong_resource: None,
    auth_methods: &["none"],
};

/// A form or a query.
pub(crate) type Fields = HashMap<String, String>;

#[derive(Default)]
pub(crate) struct IssuerState {
    /// The number of the only valid access token; 0 if there is none.
    pub(crate) valid: usize,
    issued: usize,
    /// Whether refresh tokens are refused.
    pub(crate) refuses_refresh: bool,
    /// The scope of the valid token.
    scope: String,
    /// The request of the login page that is open.
    authorization: Option<Fields>,
    pub(crate) registrations: Vec<Value>,
    pub(crate) authorizations: Vec<Fields>,
    pub(crate) token_requests: Vec<Fields>,
    pub(crate) revoked: Vec<String>,
    /// `Authorization` headers at the MCP server.
    pub(crate) seen_headers: Vec<Option<String>>,
    /// Statuses of the MCP server.
    pub(crate) statuses: Vec<u16>,
}

pub(crate) struct IssuerServer {
    pub(crate) origin: String,
    pub(crate) state: Arc<Mutex<IssuerState>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for IssuerServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl IssuerServer {
    pub(crate) async fn start(script: IssuerScript) -> IssuerServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(IssuerState::default()));
        let (shared, shared_origin) = (Arc::clone(&state), origin.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (state, origin) = (Arc::clone(&shared), shared_origin.clone());
                connections.spawn(async move {
                    let mut buffer = Vec::new();
                    while let Some(request) = read_request(&mut stream, &mut buffer).await {
                        let (status, headers, body) =
                            respond(&request, script, &mut state.lock().unwrap(), &origin);
                        send(&mut stream, &status, "application/json", &headers, &body).await;
                    }
                });
            }
        });
        IssuerServer { origin, state, task }
    }

    pub(crate) fn server(&self) -> McpServer {
        let url = format!("{}/mcp", self.origin);
        McpServer::new("far", McpTransport::Http { url, headers: Vec::new() })
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, IssuerState> {
        self.state.lock().unwrap()
    }
}

type Response = (String, String, String);

fn respond(
    request: &HttpRequest,
    script: IssuerScript,
    state: &mut IssuerState,
    origin: &str,
) -> Response {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let found = |body: Value| ("200 OK".to_owned(), String::new(), body.to_string());
    let missing = ("404 Not Found".to_owned(), String::new(), "{}".to_owned());
    match (request.method.as_str(), path) {
        ("GET", "/.well-known/oauth-protected-resource/mcp") if script.has_metadata => {
            let resource = script.wrong_resource.map_or(format!("{origin}/mcp"), str::to_owned);
            found(json!({"resource": resource, "authorization_servers": [format!("{origin}/as")],
                "scopes_supported": ["read"]}))
        }
        // The first two places of its metadata are empty.
        ("GET", "/as/.well-known/openid-configuration") => {
            let issuer = script.wrong_issuer.map_or(format!("{origin}/as"), str::to_owned);
            let mut metadata = json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{origin}/authorize?tenant=1"),
                "token_endpoint": format!("{origin}/token"),
                "revocation_endpoint": format!("{origin}/revoke"),
                "registration_endpoint": null,
                "code_challenge_methods_supported": null,
                "scopes_supported": ["read", "offline_access"],
                "token_endpoint_auth_methods_supported": script.auth_methods,
                "authorization_response_iss_parameter_supported": true,
            });
            if script.registers_clients {
                metadata["registration_endpoint"] = json!(format!("{origin}/register"));
            }
            if script.supports_pkce {
                metadata["code_challenge_methods_supported"] = json!(["plain", "S256"]);
            }
            found(metadata)
        }
        ("POST", "/register") => {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let mut reply = json!({"client_id": "registered"});
            if body["token_endpoint_auth_method"] != "none" {
                reply["client_secret"] = json!("canary-secret");
                reply["token_endpoint_auth_method"] = body["token_endpoint_auth_method"].clone();
            }
            state.registrations.push(body);
            ("201 Created".to_owned(), String::new(), reply.to_string())
        }
        ("GET", "/authorize") => {
            let fields = read_fields(query);
            let place = format!(
                "{}?code=canary-code&state={}&iss={origin}/as",
                fields["redirect_uri"], fields["state"]
            );
            state.authorizations.push(fields.clone());
            state.authorization = Some(fields);
            ("302 Found".to_owned(), format!("location: {place}\r\n"), String::new())
        }
        ("POST", "/token") => issue_tokens(request, script, state, origin),
        ("POST", "/revoke") => {
            let fields = read_fields(std::str::from_utf8(&request.body).unwrap());
            state.revoked.push(fields["token"].clone());
            found(json!({}))
        }
        (_, "/mcp") => {
            let header = request.headers.get("authorization").cloned();
            state.seen_headers.push(header.clone());
            let (status, headers, body) = serve_mcp(request, script, state, origin, header);
            state.statuses.push(status[..3].parse().unwrap());
            (status, headers, body)
        }
        _ => missing,
    }
}

fn issue_tokens(
    request: &HttpRequest,
    script: IssuerScript,
    state: &mut IssuerState,
    origin: &str,
) -> Response {
    let mut fields = read_fields(std::str::from_utf8(&request.body).unwrap());
    if let Some(header) = request.headers.get("authorization") {
        fields.insert("header".to_owned(), header.clone());
    }
    state.token_requests.push(fields.clone());
    let refused = |error: &str| {
        let body = json!({"error": error, "error_description": "not so"}).to_string();
        ("400 Bad Request".to_owned(), String::new(), body)
    };
    let get = |name: &str| fields.get(name).cloned().unwrap_or_default();
    if get("resource") != format!("{origin}/mcp") {
        return refused("invalid_target");
    }
    match get("grant_type").as_str() {
        "authorization_code" => {
            let Some(authorization) = state.authorization.take() else {
                return refused("invalid_grant");
            };
            let proof = URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(get("code_verifier")));
            let fits = get("code") == "canary-code"
                && proof == authorization["code_challenge"]
                && get("redirect_uri") == authorization["redirect_uri"];
            if !fits {
                return refused("invalid_grant");
            }
            state.scope = authorization.get("scope").cloned().unwrap_or_default();
        }
        "refresh_token" => {
            let expected = format!("canary-refresh-{}", state.issued);
            if state.refuses_refresh || get("refresh_token") != expected {
                return refused("invalid_grant");
            }
        }
        _ => return refused("unsupported_grant_type"),
    }
    state.issued += 1;
    state.valid = state.issued;
    let mut reply = json!({
        "access_token": format!("canary-access-{}", state.issued),
        "token_type": "bearer",
        "scope": state.scope,
    });
    if let Some(seconds) = script.expires_in {
        // A text, as some servers write it.
        reply["expires_in"] = json!(seconds.to_string());
    }
    if script.refreshes {
        reply["refresh_token"] = json!(format!("canary-refresh-{}", state.issued));
    }
    ("200 OK".to_owned(), String::new(), reply.to_string())
}

fn serve_mcp(
    request: &HttpRequest,
    script: IssuerScript,
    state: &IssuerState,
    origin: &str,
    header: Option<String>,
) -> Response {
    let expected = format!("Bearer canary-access-{}", state.valid);
    if state.valid == 0 || header != Some(expected) {
        let mut challenge = "Bearer error=\"invalid_token\"".to_owned();
        if script.names_metadata {
            let place = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            challenge = format!("{challenge}, resource_metadata=\"{place}\", scope=\"read\"");
        }
        let headers = format!("www-authenticate: {challenge}\r\n");
        return ("401 Unauthorized".to_owned(), headers, String::new());
    }
    let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "far", "version": "1"}}),
        "tools/list" => {
            let tools = ["echo", "admin"]
                .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            json!({ "tools": tools })
        }
        "tools/call" => {
            let is_admin = message["params"]["name"] == "admin";
            if is_admin && !state.scope.split(' ').any(|scope| scope == "admin") {
                let challenge = "Bearer error=\"insufficient_scope\", scope=\"admin\"";
                let headers = format!("www-authenticate: {challenge}\r\n");
                return ("403 Forbidden".to_owned(), headers, String::new());
            }
            json!({"content": [{"type": "text", "text": "fine"}]})
        }
        _ if request.method == "GET" => {
            return ("405 Method Not Allowed".to_owned(), String::new(), String::new());
        }
        _ => return ("202 Accepted".to_owned(), String::new(), String::new()),
    };
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    ("200 OK".to_owned(), String::new(), body.to_string())
}

fn read_fields(text: &str) -> Fields {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let decode = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    pairs.map(|(name, value)| (name.to_owned(), decode(value))).collect()
}

/// Gets an address. Returns the head and the body of the response.
pub(crate) async fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let exchange = async {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        // One of the servers keeps its connections open; both send short responses.
        let mut chunk = [0; 4096];
        while !String::from_utf8_lossy(&response).contains("\r\n\r\n") {
            match stream.read(&mut chunk).await.unwrap() {
                0 => break,
                count => response.extend_from_slice(&chunk[..count]),
            }
        }
        String::from_utf8(response).unwrap()
    };
    tokio::time::timeout(Duration::from_secs(30), exchange).await.expect("a response")
}

/// Opens a login page. Returns the address that it sends the browser back to.
pub(crate) async fn open_page(url: &str) -> String {
    let response = get(url).await;
    let location = response.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then_some(value)
    });
    location.unwrap_or_else(|| panic!("no redirect: {response}")).to_owned()
}
