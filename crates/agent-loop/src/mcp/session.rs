//! One session with a server, from its handshake to its end.

use std::{
    collections::BTreeSet,
    error::Error,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use http::HeaderMap;
use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient,
    model::{
        ClientRequest, CustomResult, ErrorCode, ListToolsRequest, PaginatedRequestParams,
        ProtocolVersion, ServerResult,
    },
    service::{ClientInitializeError, PeerRequestOptions, RunningService, ServiceError},
    transport::{
        StreamableHttpClientTransport, Transport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{
    McpEnvironment, McpError, McpServer, McpTransport, address,
    client_handler::McpClientHandler,
    http_client::{McpHttpClient, StreamRetryPolicy},
    notifications::{ServerNotifications, TappedTransport},
    oauth::ServerLogin,
    pipe::{MAX_LINE, McpPipe},
    process::McpProcess,
    sse_transport::{SseOpenError, SseTransport},
    tool_list::{ListedTool, ToolListReader},
    tool_result::truncate_middle,
};

/// Maximum bytes of server text in an error.
const MAX_ERROR_TEXT: usize = 4 << 10;
/// Maximum pages of a tool list.
const MAX_PAGES: usize = 100;
/// How long a server that refused a first request is asked for the older transport.
const OLDER_TRANSPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a graceful close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// An initialized server. Dropping it kills its process group.
#[derive(Debug)]
pub(super) struct McpSession {
    pub(super) peer: Peer<RoleClient>,
    pub(super) notifications: Arc<ServerNotifications>,
    running: Mutex<Option<RunningService<RoleClient, McpClientHandler>>>,
    process: Option<Arc<McpProcess>>,
    login: Option<Arc<ServerLogin>>,
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum McpCallError {
    /// The server returned an error.
    Reported(String),
    /// The server is gone.
    Exited(String),
}

impl McpSession {
    /// Initializes a session. A server that rejects the usual handshake gets the newest one.
    pub(super) async fn open(
        server: &McpServer,
        environment: &McpEnvironment,
        deadline: Instant,
    ) -> Result<McpSession, McpError> {
        let initialize = ClientLifecycleMode::Initialize;
        let error = match McpSession::start(server, environment, initialize, deadline).await {
            Err(error @ McpError::Refused { .. }) => error,
            other => return other,
        };
        let discover =
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
        McpSession::start(server, environment, discover, deadline).await.map_err(|_| error)
    }

    async fn start(
        server: &McpServer,
        environment: &McpEnvironment,
        mode: ClientLifecycleMode,
        deadline: Instant,
    ) -> Result<McpSession, McpError> {
        let notifications = Arc::new(ServerNotifications::default());
        let mut start = SessionStart {
            server,
            environment,
            mode,
            deadline,
            notifications,
            process: None,
            login: None,
        };
        match &server.transport {
            McpTransport::Stdio { command, env, folder } => {
                let secrets = server.transport.secret_values();
                let (folder, max_unread) = (folder.as_deref(), environment.max_unread_input);
                let (process, pipes) = McpProcess::start(command, env, folder, secrets, max_unread)
                    .map_err(|error| {
                        let program = command.first().map_or("", String::as_str);
                        start.error(format!("`{program}`: {error}"))
                    })?;
                let process = Arc::new(process);
                start.process = Some(Arc::clone(&process));
                start.run(McpPipe::new(process, pipes)).await
            }
            McpTransport::Http { url, headers } => {
                let client = start.http_client(url, headers)?;
                let may_be_older = Arc::clone(&client.may_be_older);
                let (older_client, older_start) = (client.clone(), start.clone());
                let mut config = StreamableHttpClientTransportConfig::with_uri("");
                config.max_sse_event_size = MAX_LINE;
                config.retry_config = Arc::new(StreamRetryPolicy);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                let started = start.run(transport).await;
                let is_initialize = matches!(older_start.mode, ClientLifecycleMode::Initialize);
                if started.is_ok() || !is_initialize || !may_be_older.load(Ordering::Relaxed) {
                    return started;
                }
                let limit = deadline.min(Instant::now() + OLDER_TRANSPORT_TIMEOUT);
                match SseTransport::open(older_client, limit).await {
                    Ok(transport) => older_start.run(transport).await,
                    Err(_) => started,
                }
            }
            McpTransport::Sse { url, headers } => {
                let client = start.http_client(url, headers)?;
                match SseTransport::open(client, deadline).await {
                    Ok(transport) => start.run(transport).await,
                    Err(SseOpenError::Unusable(why)) => Err(start.error(why)),
                    Err(SseOpenError::TimedOut) => {
                        Err(start_timeout_error(server, environment, None))
                    }
                }
            }
        }
    }

    /// Whether the session is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Reads the tools page by page, with notes about those that are left out.
    pub(super) async fn list_tools(
        &self,
        server: &McpServer,
    ) -> Result<(Vec<ListedTool>, Vec<String>), McpCallError> {
        let mut reader = ToolListReader::new(server);
        let mut cursor: Option<String> = None;
        let mut seen = BTreeSet::new();
        loop {
            let page = match self.list_tools_page(cursor.take()).await {
                Ok(page) => page,
                Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                    reader.add_note("it has no tools".to_owned());
                    break;
                }
                Err(error) => return Err(self.call_error(error).await),
            };
            let Value::Object(mut page) = page else {
                return Err(McpCallError::Reported("its list of tools cannot be read".to_owned()));
            };
            let Some(Value::Array(tools)) = page.remove("tools") else {
                return Err(McpCallError::Reported("its list of tools cannot be read".to_owned()));
            };
            let more = reader.add_page(tools);
            match page.remove("nextCursor") {
                Some(Value::String(next)) if !next.is_empty() && more => {
                    if seen.len() >= MAX_PAGES || next.len() > MAX_ERROR_TEXT {
                        reader.add_note(format!("its list has more than {MAX_PAGES} pages"));
                        break;
                    }
                    if !seen.insert(next.clone()) {
                        reader.add_note("its tool list repeats a page".to_owned());
                        break;
                    }
                    cursor = Some(next);
                }
                Some(_) | None => break,
            }
        }
        Ok(reader.finish())
    }

    async fn list_tools_page(&self, cursor: Option<String>) -> Result<Value, ServiceError> {
        let params =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = ListToolsRequest { params, ..ListToolsRequest::default() };
        let request = ClientRequest::ListToolsRequest(request);
        let options = PeerRequestOptions::no_options();
        let handle = self.peer.send_request_with_option(request, options).await?;
        handle.await_response().await.map(result_value)
    }

    /// Describes an error. Waits a moment for the last output of a process.
    pub(super) async fn call_error(&self, error: ServiceError) -> McpCallError {
        match (&error, &self.process) {
            (ServiceError::TransportClosed | ServiceError::TransportSend(_), Some(process)) => {
                return McpCallError::Exited(process.describe_exit().await);
            }
            (ServiceError::TransportClosed, None) if self.is_closed() => {
                return McpCallError::Exited("the connection was closed".to_owned());
            }
            _ => {}
        }
        let message = match error {
            ServiceError::McpError(error) => error.message.into_owned(),
            ServiceError::TransportSend(error) => error_chain(error.error.as_ref()),
            ServiceError::TransportClosed => {
                "the connection was closed before the whole answer came".to_owned()
            }
            other => other.to_string(),
        };
        McpCallError::Reported(truncate_middle(&message, MAX_ERROR_TEXT))
    }

    /// Stops the server: closes gracefully, waits briefly, then kills it.
    pub(super) async fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running {
            let _ = running.close_with_timeout(CLOSE_TIMEOUT).await;
        }
        if let Some(process) = &self.process {
            process.stop().await;
        }
    }

    /// Kills the server.
    pub(super) fn kill(&self) {
        drop(self.running.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(process) = &self.process {
            process.kill();
        }
    }
}

impl Drop for McpSession {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Inputs of a session start, for any transport.
#[derive(Clone)]
struct SessionStart<'b> {
    server: &'b McpServer,
    environment: &'b McpEnvironment,
    mode: ClientLifecycleMode,
    deadline: Instant,
    notifications: Arc<ServerNotifications>,
    process: Option<Arc<McpProcess>>,
    login: Option<Arc<ServerLogin>>,
}

impl SessionStart<'_> {
    /// The client of an HTTP server. A configured key takes the place of a login.
    fn http_client(
        &mut self,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<McpHttpClient, McpError> {
        let address = address::parse(url).map_err(|why| self.error(why.to_owned()))?;
        let read = headers.iter().map(|(name, value)| address::parse_header(name, value));
        let headers: HeaderMap =
            read.collect::<Result<_, _>>().map_err(|why| self.error(why.to_owned()))?;
        let logins = self.environment.logins.as_ref();
        self.login =
            logins.filter(|_| !headers.contains_key(http::header::AUTHORIZATION)).map(|logins| {
                Arc::new(ServerLogin::new(logins.clone(), url, &self.environment.client))
            });
        Ok(McpHttpClient {
            client: self.environment.client.clone(),
            address: Arc::new(address),
            headers: Arc::new(headers),
            login: self.login.clone(),
            may_be_older: Arc::default(),
        })
    }

    /// An error before the session began.
    fn error(&self, why: String) -> McpError {
        let server = self.server.name.clone();
        match self.login.as_ref().and_then(|login| login.required()) {
            Some(why) => McpError::LoginRequired { server, why },
            None => McpError::Start { server, why },
        }
    }

    async fn run(
        self,
        transport: impl Transport<RoleClient> + 'static,
    ) -> Result<McpSession, McpError> {
        let SessionStart { server, environment, mode, deadline, notifications, process, .. } =
            self.clone();
        let handler = McpClientHandler { root: environment.root.clone() };
        let tapped = TappedTransport { transport, notifications: Arc::clone(&notifications) };
        let error = match timeout_at(deadline, handler.serve_with_lifecycle(tapped, mode)).await {
            Ok(Ok(running)) => {
                let peer = running.peer().clone();
                let running = Mutex::new(Some(running));
                let login = self.login;
                return Ok(McpSession { peer, notifications, running, process, login });
            }
            Ok(Err(error)) => error,
            Err(_) => return Err(start_timeout_error(server, environment, process.as_deref())),
        };
        let server = server.name.clone();
        let why = match (error, process) {
            (ClientInitializeError::JsonRpcError(error), _) => {
                let why = truncate_middle(&error.message, MAX_ERROR_TEXT);
                return Err(McpError::Refused { server, why });
            }
            (
                ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. },
                Some(process),
            ) => return Err(McpError::Exited { server, why: process.describe_exit().await }),
            (ClientInitializeError::TransportError { error, .. }, None) => {
                let why = truncate_middle(&error_chain(error.error.as_ref()), MAX_ERROR_TEXT);
                return Err(self.error(why));
            }
            (ClientInitializeError::ConnectionClosed(_), None) => {
                "its response to `initialize` cannot be read".to_owned()
            }
            (
                ClientInitializeError::ConflictInitResponseId(..)
                | ClientInitializeError::UncorrelatedErrorResponse { .. },
                _,
            ) => "it responds to a request that was not sent".to_owned(),
            // Other errors hold whole messages of any length.
            (_, _) => "its response to `initialize` is not that of an MCP server".to_owned(),
        };
        Err(McpError::Refused { server, why })
    }
}

/// The timeout error, with the output of the server.
fn start_timeout_error(
    server: &McpServer,
    environment: &McpEnvironment,
    process: Option<&McpProcess>,
) -> McpError {
    let stderr = process.map(McpProcess::stderr_tail).unwrap_or_default();
    let said = if stderr.is_empty() { stderr } else { format!("; stderr: {stderr}") };
    McpError::StartTimeout { server: server.name.clone(), within: environment.start_timeout, said }
}

/// Opens a session and reads its tools, with one timeout for both.
pub(super) async fn open_with_tools(
    server: &McpServer,
    environment: &McpEnvironment,
) -> Result<(McpSession, Vec<ListedTool>, Vec<String>), McpError> {
    let deadline = Instant::now() + environment.start_timeout;
    let session = McpSession::open(server, environment, deadline).await?;
    let (tools, notes) = read_tools(&session, server, environment, deadline).await?;
    Ok((session, tools, notes))
}

/// Reads the tools of a session, until a deadline.
pub(super) async fn read_tools(
    session: &McpSession,
    server: &McpServer,
    environment: &McpEnvironment,
    deadline: Instant,
) -> Result<(Vec<ListedTool>, Vec<String>), McpError> {
    let name = || server.name.clone();
    let listed = timeout_at(deadline, session.list_tools(server)).await;
    if let (Ok(Err(_)), Some(why)) = (&listed, session.login.as_ref().and_then(|it| it.required()))
    {
        return Err(McpError::LoginRequired { server: name(), why });
    }
    match listed {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(McpCallError::Reported(why))) => Err(McpError::Refused { server: name(), why }),
        Ok(Err(McpCallError::Exited(why))) => Err(McpError::Exited { server: name(), why }),
        Err(_) => Err(start_timeout_error(server, environment, session.process.as_deref())),
    }
}

/// The result as JSON, whichever type rmcp parsed it as.
pub(super) fn result_value(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(CustomResult(value)) => value,
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// An error with all its sources.
fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        source = error.source();
    }
    text
}
