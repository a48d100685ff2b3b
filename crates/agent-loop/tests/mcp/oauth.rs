//! Logins at MCP servers, with a scripted authorization server on loopback.

pub(crate) mod issuer;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use foxwedge_agent_loop::mcp::{
    self, LoginError, LoginReport, LoginStore, LogoutOutcome, McpEnvironment, McpError, McpServer,
    McpTransport,
};
use serde_json::json;
use tokio::time::timeout;

use self::issuer::{IssuerScript, IssuerServer, USUAL, get, open_page};
use crate::support::{LONG, call, connect, describe};

/// A folder for one test, removed afterwards.
pub(crate) struct StateFolder(PathBuf);

impl StateFolder {
    pub(crate) fn new() -> StateFolder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("foxwedge-mcp-login-{}-{count}", std::process::id());
        StateFolder(std::env::temp_dir().join(name))
    }

    pub(crate) fn environment(&self) -> McpEnvironment {
        let logins = Some(LoginStore::in_folder(&self.0));
        McpEnvironment { logins, login_timeout: LONG, ..McpEnvironment::default() }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.0.join("mcp-logins.json")).unwrap_or_default()
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Logs in with a browser whose user agrees.
pub(crate) async fn log_in(
    server: &McpServer,
    folder: &StateFolder,
) -> Result<LoginReport, LoginError> {
    log_in_with(server, &folder.environment(), |back| back).await
}

/// Logs in with a browser. `change` gets the address that the login page sends it back to.
async fn log_in_with(
    server: &McpServer,
    environment: &McpEnvironment,
    change: impl FnOnce(String) -> String + Send + 'static,
) -> Result<LoginReport, LoginError> {
    let show = |page: &str| {
        let page = page.to_owned();
        tokio::spawn(async move {
            let back = change(open_page(&page).await);
            get(&back).await;
        });
    };
    timeout(LONG, mcp::login(server, environment, show)).await.expect("it hangs")
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_login_opens_the_server_until_the_logout() {
    for script in [USUAL, IssuerScript { names_metadata: false, ..USUAL }] {
        let (issuer, folder) = (IssuerServer::start(script).await, StateFolder::new());
        let (server, environment) = (issuer.server(), folder.environment());
        let error = connect(&server, &environment).await.expect_err("no login");
        assert!(matches!(error, McpError::LoginRequired { .. }), "{error:?}");
        assert_eq!(error.to_string(), "MCP server `far` cannot be used: it requires a login");

        let report = log_in(&server, &folder).await.unwrap();
        assert_eq!(report.issuer, format!("{}/as", issuer.origin));
        assert_eq!(report.scope.as_deref(), Some("offline_access read"));
        assert!(report.renews);
        let fields = issuer.lock().authorizations[0].clone();
        assert_eq!(fields["tenant"], "1");
        assert_eq!(fields["resource"], format!("{}/mcp", issuer.origin));
        assert_eq!(fields["code_challenge_method"], "S256");
        assert_eq!(fields["prompt"], "consent");
        assert!(fields["redirect_uri"].starts_with("http://127.0.0.1:"), "{fields:?}");
        let registration = issuer.lock().registrations[0].clone();
        assert_eq!(registration["redirect_uris"], json!([fields["redirect_uri"]]));
        #[cfg(unix)]
        {
            assert_eq!(mode(&folder.0), 0o700);
            assert_eq!(mode(&folder.0.join("mcp-logins.json")), 0o600);
        }
        let files = fs::read_dir(&folder.0).unwrap().count();
        assert_eq!(files, 2, "the logins and their lock");

        let connected = connect(&server, &environment).await.unwrap();
        assert_eq!(describe(&call(&connected, "echo", json!({})).await), "Done: fine");
        connected.close().await;
        // A configured key takes the place of the login.
        let headers = vec![("authorization".to_owned(), "Bearer other".to_owned())];
        let url = server.transport.url().unwrap().to_owned();
        let keyed = McpServer::new("far", McpTransport::Http { url, headers });
        let error = connect(&keyed, &environment).await.expect_err("another key").to_string();
        assert!(error.contains("it requires another key"), "{error}");

        assert_eq!(mcp::logout(&server, &environment).await, Ok(LogoutOutcome::Revoked));
        assert_eq!(issuer.lock().revoked, ["canary-refresh-1"]);
        assert!(!folder.text().contains("canary"), "{}", folder.text());
        assert_eq!(mcp::logout(&server, &environment).await, Ok(LogoutOutcome::NotLoggedIn));
        let error = connect(&server, &environment).await.expect_err("logged out");
        assert!(matches!(error, McpError::LoginRequired { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_with_the_older_transport_requires_a_login_too() {
    let (issuer, folder) = (IssuerServer::start(USUAL).await, StateFolder::new());
    let url = format!("{}/mcp", issuer.origin);
    let server = McpServer::new("far", McpTransport::Sse { url, headers: Vec::new() });
    let error = connect(&server, &folder.environment()).await.expect_err("no login");
    assert!(matches!(error, McpError::LoginRequired { .. }), "{error:?}");
    log_in(&server, &folder).await.unwrap();
    let error = connect(&server, &folder.environment()).await.expect_err("no stream");
    assert!(error.to_string().contains("HTTP 405"), "{error}");
    assert_eq!(
        issuer.lock().seen_headers.last().unwrap().as_deref(),
        Some("Bearer canary-access-1")
    );
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_by_all() {
    let (issuer, folder) = (IssuerServer::start(USUAL).await, StateFolder::new());
    let (server, environment) = (issuer.server(), folder.environment());
    log_in(&server, &folder).await.unwrap();
    let one = connect(&server, &environment).await.unwrap();
    let other = connect(&server, &environment).await.unwrap();
    issuer.lock().valid = 0;
    let empty = json!({});
    let (a, b, c) = tokio::join!(
        call(&one, "echo", empty.clone()),
        call(&one, "echo", empty.clone()),
        call(&other, "echo", empty.clone()),
    );
    assert_eq!([&a, &b, &c].map(describe), ["Done: fine"; 3]);
    let requests = issuer.lock().token_requests.clone();
    assert_eq!(requests.len(), 2, "one for the login, one for all three calls");
    assert_eq!(requests[1]["refresh_token"], "canary-refresh-1");
    assert_eq!(requests[1]["client_id"], "registered");
    assert_eq!(requests[1]["resource"], format!("{}/mcp", issuer.origin));
    let text = folder.text();
    assert!(text.contains("canary-access-2") && text.contains("canary-refresh-2"), "{text}");
    assert!(!text.contains("canary-access-1") && !text.contains("canary-refresh-1"), "{text}");
    #[cfg(unix)]
    assert_eq!(mode(&folder.0.join("mcp-logins.json")), 0o600);

    // A refresh token that is refused is forgotten, and the user is told.
    issuer.lock().valid = 0;
    issuer.lock().refuses_refresh = true;
    for _ in 0..2 {
        let result = describe(&call(&one, "echo", empty.clone()).await);
        assert!(result.starts_with("Failed: "), "{result}");
        assert!(result.contains("the login has expired"), "{result}");
    }
    assert_eq!(issuer.lock().token_requests.len(), 3);
    // A new login, as by another process, is used by open connections.
    issuer.lock().refuses_refresh = false;
    log_in(&server, &folder).await.unwrap();
    assert_eq!(describe(&call(&one, "echo", empty.clone()).await), "Done: fine");
    assert_eq!(describe(&call(&other, "echo", empty).await), "Done: fine");
}

#[tokio::test]
async fn a_token_that_expires_is_renewed_before_it_is_used() {
    let script = IssuerScript { expires_in: Some(1), ..USUAL };
    let (issuer, folder) = (IssuerServer::start(script).await, StateFolder::new());
    let server = issuer.server();
    log_in(&server, &folder).await.unwrap();
    issuer.lock().statuses.clear();
    let connected = connect(&server, &folder.environment()).await.unwrap();
    assert_eq!(describe(&call(&connected, "echo", json!({})).await), "Done: fine");
    let state = issuer.lock();
    assert!(!state.statuses.contains(&401), "{:?}", state.statuses);
    assert!(state.token_requests.len() > 1);
}

#[tokio::test]
async fn without_a_refresh_token_the_user_logs_in_again() {
    let script = IssuerScript { expires_in: None, refreshes: false, ..USUAL };
    let (issuer, folder) = (IssuerServer::start(script).await, StateFolder::new());
    let server = issuer.server();
    assert!(!log_in(&server, &folder).await.unwrap().renews);
    issuer.lock().valid = 0;
    let error = connect(&server, &folder.environment()).await.expect_err("an old token");
    assert!(matches!(error, McpError::LoginRequired { .. }), "{error:?}");
    assert!(error.to_string().contains("the login has expired"), "{error}");
}

#[tokio::test]
async fn an_answer_with_another_state_changes_nothing() {
    let (issuer, folder) = (IssuerServer::start(USUAL).await, StateFolder::new());
    let (server, environment) = (issuer.server(), folder.environment());
    let statuses = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&statuses);
    let show = |page: &str| {
        let page = page.to_owned();
        tokio::spawn(async move {
            let back = open_page(&page).await;
            let (start, _) = back.split_once("&state=").unwrap();
            let (place, _) = back.split_once('?').unwrap();
            for wrong in [
                format!("{start}&state=guessed"),
                start.to_owned(),
                format!("{place}?error=access_denied&state=guessed"),
                place.to_owned(),
                place.replace("/callback", "/favicon.ico"),
                back.clone(),
            ] {
                let response = get(&wrong).await;
                noted.lock().unwrap().push(response[9..12].to_owned());
            }
        });
    };
    timeout(LONG, mcp::login(&server, &environment, show)).await.expect("it hangs").unwrap();
    assert_eq!(issuer.lock().token_requests.len(), 1);
    for _ in 0..500 {
        if statuses.lock().unwrap().len() == 6 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(*statuses.lock().unwrap(), ["400", "400", "400", "400", "404", "200"]);
}

#[tokio::test]
async fn a_denied_or_foreign_answer_ends_the_login() {
    type Change = fn(String) -> String;
    let table: [(Change, &str); 3] = [
        (
            |back| {
                back.replace(
                    "code=canary-code",
                    "error=access_denied&error_description=no%20thanks",
                )
            },
            "the login was denied: access_denied (no thanks)",
        ),
        (|back| back.replace("/as", "/other"), "the answer came from another authorization server"),
        (
            |back| back.split_once("&iss=").unwrap().0.to_owned(),
            "the answer came from another authorization server",
        ),
    ];
    for (change, expected) in table {
        let (issuer, folder) = (IssuerServer::start(USUAL).await, StateFolder::new());
        let environment = folder.environment();
        let error = log_in_with(&issuer.server(), &environment, change).await.expect_err(expected);
        assert_eq!(error.to_string(), expected);
        assert!(error.help().is_some());
        assert!(issuer.lock().token_requests.is_empty());
        assert_eq!(folder.text(), "");
    }
}

#[tokio::test]
async fn a_login_that_nobody_finishes_ends_in_time() {
    let (issuer, folder) = (IssuerServer::start(USUAL).await, StateFolder::new());
    let login_timeout = Duration::from_millis(300);
    let environment = McpEnvironment { login_timeout, ..folder.environment() };
    let login = mcp::login(&issuer.server(), &environment, |_| {}).await;
    let error = login.expect_err("nobody agreed").to_string();
    assert_eq!(error, "no answer came from the browser within 0.3 s");
}

#[tokio::test]
async fn a_client_can_be_registered_by_hand() {
    let script = IssuerScript { registers_clients: false, ..USUAL };
    let (issuer, folder) = (IssuerServer::start(script).await, StateFolder::new());
    let mut server = issuer.server();
    let error = log_in(&server, &folder).await.expect_err("no registration");
    assert_eq!(error.to_string(), "the authorization server does not register clients");
    assert!(error.help().is_some_and(|help| help.contains("clientId")), "{error:?}");
    server.oauth.client_id = Some("by-hand".to_owned());
    server.oauth.scopes = Some("write".to_owned());
    log_in(&server, &folder).await.unwrap();
    let state = issuer.lock();
    assert_eq!(state.authorizations[0]["client_id"], "by-hand");
    assert_eq!(state.authorizations[0]["scope"], "write");
    assert_eq!(state.token_requests[0]["client_id"], "by-hand");
    assert!(state.registrations.is_empty());
}

#[tokio::test]
async fn a_client_with_a_secret_proves_it_as_the_server_wants() {
    let basic = "Basic cmVnaXN0ZXJlZDpjYW5hcnktc2VjcmV0";
    let table: [(&'static [&'static str], _, _); 2] = [
        (&["client_secret_post"], Some("canary-secret"), None),
        (&["client_secret_basic"], None, Some(basic)),
    ];
    for (auth_methods, in_form, in_header) in table {
        let issuer = IssuerServer::start(IssuerScript { auth_methods, ..USUAL }).await;
        log_in(&issuer.server(), &StateFolder::new()).await.unwrap();
        let request = issuer.lock().token_requests[0].clone();
        let header = request.get("header").map(|it| it.replace("%2D", "-"));
        assert_eq!(request.get("client_secret").map(String::as_str), in_form);
        assert_eq!(header.as_deref(), in_header);
    }
}

#[tokio::test]
async fn servers_that_cannot_be_trusted_get_no_login() {
    let table = [
        (
            IssuerScript { supports_pkce: false, ..USUAL },
            "the authorization server does not support PKCE with S256",
        ),
        (
            IssuerScript { wrong_issuer: Some("https://elsewhere.example"), ..USUAL },
            "the metadata of the authorization server is that of another server",
        ),
        (
            IssuerScript { wrong_resource: Some("https://bank.example/mcp"), ..USUAL },
            "the server asks for a token for another server",
        ),
        (IssuerScript { has_metadata: false, ..USUAL }, "the server does not say where to log in"),
    ];
    for (script, expected) in table {
        let (issuer, folder) = (IssuerServer::start(script).await, StateFolder::new());
        let error = log_in(&issuer.server(), &folder).await.expect_err(expected);
        assert_eq!(error.to_string(), expected);
        assert!(issuer.lock().authorizations.is_empty(), "{expected}");
    }
    let stdio = crate::support::server("usual");
    let error = log_in(&stdio, &StateFolder::new()).await.expect_err("a process");
    assert_eq!(error.to_string(), "only servers over HTTP have logins");
}

#[tokio::test]
async fn more_rights_are_requested_with_the_next_login() {
    let (issuer, folder) = (IssuerServer::start(USUAL).await, StateFolder::new());
    let (server, environment) = (issuer.server(), folder.environment());
    log_in(&server, &folder).await.unwrap();
    let connected = connect(&server, &environment).await.unwrap();
    let result = describe(&call(&connected, "admin", json!({})).await);
    assert!(result.starts_with("Failed: "), "{result}");
    assert!(result.contains("it requires a login with more rights (`admin`)"), "{result}");
    assert_eq!(describe(&call(&connected, "echo", json!({})).await), "Done: fine");
    let report = log_in(&server, &folder).await.unwrap();
    assert_eq!(report.scope.as_deref(), Some("admin offline_access read"));
    assert_eq!(describe(&call(&connected, "admin", json!({})).await), "Done: fine");
    assert!(!folder.text().contains("\"missing_scope\": \"admin\""), "{}", folder.text());
}

#[tokio::test]
async fn a_broken_file_of_logins_is_reported_and_kept() {
    let (issuer, folder) = (IssuerServer::start(USUAL).await, StateFolder::new());
    fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("mcp-logins.json");
    fs::write(&file, "canary, not a list").unwrap();
    let error = connect(&issuer.server(), &folder.environment()).await.expect_err("broken file");
    assert!(error.to_string().contains("it is not a list of logins"), "{error}");
    let login = log_in(&issuer.server(), &folder).await.expect_err("broken file");
    for text in [error.to_string(), login.to_string()] {
        assert!(!text.contains("canary"), "{text}");
    }
    assert_eq!(folder.text(), "canary, not a list");
}

/// Collects everything that is logged.
struct LogCollector(Arc<Mutex<String>>);

impl tracing::Subscriber for LogCollector {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        attributes.record(&mut FieldWriter(&mut self.0.lock().unwrap()));
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut FieldWriter(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut FieldWriter(&mut self.0.lock().unwrap()));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

struct FieldWriter<'t>(&'t mut String);

impl tracing::field::Visit for FieldWriter<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let _ = writeln!(self.0, "{field}={value:?}");
    }
}

#[tokio::test]
async fn no_token_is_logged_or_shown() {
    let log = Arc::new(Mutex::new(String::new()));
    let _guard = tracing::subscriber::set_default(LogCollector(Arc::clone(&log)));
    let (issuer, folder) = (IssuerServer::start(USUAL).await, StateFolder::new());
    let (server, environment) = (issuer.server(), folder.environment());
    let mut shown = String::new();
    let page = Arc::new(Mutex::new(String::new()));
    let noted = Arc::clone(&page);
    let show = |address: &str| {
        *noted.lock().unwrap() = address.to_owned();
        let address = address.to_owned();
        tokio::spawn(async move { get(&open_page(&address).await).await });
    };
    let report = timeout(LONG, mcp::login(&server, &environment, show)).await.unwrap().unwrap();
    let connected = connect(&server, &environment).await.unwrap();
    issuer.lock().valid = 0;
    for tool in ["echo", "admin"] {
        shown += &describe(&call(&connected, tool, json!({})).await);
    }
    issuer.lock().valid = 0;
    issuer.lock().refuses_refresh = true;
    shown += &describe(&call(&connected, "echo", json!({})).await);
    let error = connect(&server, &environment).await.expect_err("expired");
    shown += &format!(
        "{error} {error:?} {report:?} {connected:?} {environment:?} {:?}",
        connected.notes()
    );
    shown += &page.lock().unwrap();
    assert!(!shown.contains("canary"), "{shown}");
    let log = log.lock().unwrap();
    assert!(!log.is_empty(), "the SDK logs something");
    assert!(!log.contains("canary"), "{log}");
}
