//! One conversation with a server, from its first word to its end.

use std::{
    collections::BTreeSet,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
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
    How, McpError, Server, Surroundings, address,
    answer::bounded,
    asker::{Asker, Patience},
    lines::MOST,
    list::{Listed, Reader},
    manners::Manners,
    pipe::Pipe,
    process::Process,
    watched::{Ear, Watched},
};

/// Bytes of what a server says in an error.
const LONGEST: usize = 4 << 10;
/// Pages of a list of tools.
const MOST_PAGES: usize = 100;
/// How long saying good-bye may take.
const GOODBYE: Duration = Duration::from_secs(5);

/// A server that has begun. Dropping it kills its process, with everything that it started.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) peer: Peer<RoleClient>,
    pub(super) ear: Arc<Ear>,
    running: Mutex<Option<RunningService<RoleClient, Manners>>>,
    process: Option<Arc<Process>>,
}

/// Why something did not work.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server says so.
    Said(String),
    /// The server is gone.
    Gone(String),
}

impl Session {
    /// Begins. A server that does not know the usual beginning is tried with the newest one.
    pub(super) async fn open(
        server: &Server,
        around: &Surroundings,
        deadline: Instant,
    ) -> Result<Session, McpError> {
        let usual = ClientLifecycleMode::Initialize;
        let error = match Session::begin(server, around, usual, deadline).await {
            Err(error @ McpError::Refused { .. }) => error,
            other => return other,
        };
        let newest =
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
        Session::begin(server, around, newest, deadline).await.map_err(|_| error)
    }

    async fn begin(
        server: &Server,
        around: &Surroundings,
        mode: ClientLifecycleMode,
        deadline: Instant,
    ) -> Result<Session, McpError> {
        let start = |why: String| McpError::Start { server: server.name.clone(), why };
        let ear = Arc::new(Ear::default());
        match &server.how {
            How::Stdio { command, env, folder } => {
                let secrets = server.how.secrets();
                let (process, pipes) = Process::start(command, env, folder.as_deref(), secrets)
                    .map_err(|error| {
                        let program = command.first().map_or("", String::as_str);
                        start(format!("`{program}`: {error}"))
                    })?;
                let process = Arc::new(process);
                let way = Pipe::new(Arc::clone(&process), pipes);
                Beginning { server, around, mode, deadline, ear, process: Some(process) }
                    .run(way)
                    .await
            }
            How::Http { url, headers } => {
                let address = address::parse(url).map_err(|why| start(why.to_owned()))?;
                let read = headers.iter().map(|(name, value)| address::header(name, value));
                let headers: HeaderMap =
                    read.collect::<Result<_, _>>().map_err(|why| start(why.to_owned()))?;
                let asker = Asker {
                    client: around.client.clone(),
                    address: Arc::new(address),
                    headers: Arc::new(headers),
                };
                let mut config = StreamableHttpClientTransportConfig::with_uri("");
                config.max_sse_event_size = MOST;
                config.retry_config = Arc::new(Patience);
                let way = StreamableHttpClientTransport::with_client(asker, config);
                Beginning { server, around, mode, deadline, ear, process: None }.run(way).await
            }
        }
    }

    /// Whether nothing can be asked any more.
    pub(super) fn is_over(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// The tools that it has, page by page; and what there is to say about those that are left out.
    pub(super) async fn tools(
        &self,
        server: &Server,
    ) -> Result<(Vec<Listed>, Vec<String>), Trouble> {
        let mut reader = Reader::new(server);
        let mut cursor: Option<String> = None;
        let mut seen = BTreeSet::new();
        loop {
            let page = match self.page(cursor.take()).await {
                Ok(page) => page,
                Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                    reader.note("it has no tools".to_owned());
                    break;
                }
                Err(error) => return Err(self.trouble(error).await),
            };
            let Value::Object(mut page) = page else {
                return Err(Trouble::Said("its list of tools cannot be read".to_owned()));
            };
            let Some(Value::Array(tools)) = page.remove("tools") else {
                return Err(Trouble::Said("its list of tools cannot be read".to_owned()));
            };
            let more = reader.take(tools);
            match page.remove("nextCursor") {
                Some(Value::String(next)) if !next.is_empty() && more => {
                    if seen.len() >= MOST_PAGES || next.len() > LONGEST {
                        reader.note(format!("its list has more than {MOST_PAGES} pages"));
                        break;
                    }
                    if !seen.insert(next.clone()) {
                        reader.note("its list of tools goes round in a circle".to_owned());
                        break;
                    }
                    cursor = Some(next);
                }
                Some(_) | None => break,
            }
        }
        Ok(reader.finish())
    }

    async fn page(&self, cursor: Option<String>) -> Result<Value, ServiceError> {
        let params =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = ListToolsRequest { params, ..ListToolsRequest::default() };
        let request = ClientRequest::ListToolsRequest(request);
        let options = PeerRequestOptions::no_options();
        let asked = self.peer.send_request_with_option(request, options).await?;
        asked.await_response().await.map(value)
    }

    /// What went wrong, in words. Waits a moment for the last ones of a process.
    pub(super) async fn trouble(&self, error: ServiceError) -> Trouble {
        match (&error, &self.process) {
            (ServiceError::TransportClosed | ServiceError::TransportSend(_), Some(process)) => {
                return Trouble::Gone(process.obituary().await);
            }
            (ServiceError::TransportClosed, None) if self.is_over() => {
                return Trouble::Gone("the connection was closed".to_owned());
            }
            _ => {}
        }
        let words = match error {
            ServiceError::McpError(error) => error.message.into_owned(),
            ServiceError::TransportSend(error) => chain(error.error.as_ref()),
            ServiceError::TransportClosed => {
                "the connection was closed before the whole answer came".to_owned()
            }
            other => other.to_string(),
        };
        Trouble::Said(bounded(&words, LONGEST))
    }

    /// Ends it: says good-bye, waits a little, and then by force.
    pub(super) async fn end(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running {
            let _ = running.close_with_timeout(GOODBYE).await;
        }
        if let Some(process) = &self.process {
            process.end().await;
        }
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        drop(self.running.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(process) = &self.process {
            process.kill();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Everything that a beginning needs, whatever the way.
struct Beginning<'b> {
    server: &'b Server,
    around: &'b Surroundings,
    mode: ClientLifecycleMode,
    deadline: Instant,
    ear: Arc<Ear>,
    process: Option<Arc<Process>>,
}

impl Beginning<'_> {
    async fn run(self, way: impl Transport<RoleClient> + 'static) -> Result<Session, McpError> {
        let Beginning { server, around, mode, deadline, ear, process } = self;
        let manners = Manners { root: around.root.clone() };
        let watched = Watched { way, ear: Arc::clone(&ear) };
        let error = match timeout_at(deadline, manners.serve_with_lifecycle(watched, mode)).await {
            Ok(Ok(running)) => {
                let peer = running.peer().clone();
                let running = Mutex::new(Some(running));
                return Ok(Session { peer, ear, running, process });
            }
            Ok(Err(error)) => error,
            Err(_) => return Err(late(server, around, process.as_deref())),
        };
        let server = server.name.clone();
        let why = match (error, process) {
            (ClientInitializeError::JsonRpcError(error), _) => {
                let why = bounded(&error.message, LONGEST);
                return Err(McpError::Refused { server, why });
            }
            (
                ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. },
                Some(process),
            ) => return Err(McpError::Gone { server, why: process.obituary().await }),
            (ClientInitializeError::TransportError { error, .. }, None) => {
                let why = bounded(&chain(error.error.as_ref()), LONGEST);
                return Err(McpError::Start { server, why });
            }
            (ClientInitializeError::ConnectionClosed(_), None) => {
                "its answer to the first question cannot be read".to_owned()
            }
            (
                ClientInitializeError::ConflictInitResponseId(..)
                | ClientInitializeError::UncorrelatedErrorResponse { .. },
                _,
            ) => "it answers a question that nobody asked".to_owned(),
            // Others hold whole messages, however long.
            (_, _) => "it does not answer the first question as MCP servers do".to_owned(),
        };
        Err(McpError::Refused { server, why })
    }
}

/// It took too long; what it said meanwhile may tell why.
fn late(server: &Server, around: &Surroundings, process: Option<&Process>) -> McpError {
    let words = process.map(Process::words).unwrap_or_default();
    let said = if words.is_empty() { words } else { format!("; it said: {words}") };
    McpError::Late { server: server.name.clone(), within: around.start, said }
}

/// Opens a session and reads its tools, in the time for both.
pub(super) async fn open_with_tools(
    server: &Server,
    around: &Surroundings,
) -> Result<(Session, Vec<Listed>, Vec<String>), McpError> {
    let deadline = Instant::now() + around.start;
    let session = Session::open(server, around, deadline).await?;
    let (tools, notes) = tools_of(&session, server, around, deadline).await?;
    Ok((session, tools, notes))
}

/// Reads the tools of a session, in time.
pub(super) async fn tools_of(
    session: &Session,
    server: &Server,
    around: &Surroundings,
    deadline: Instant,
) -> Result<(Vec<Listed>, Vec<String>), McpError> {
    let name = || server.name.clone();
    match timeout_at(deadline, session.tools(server)).await {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(Trouble::Said(why))) => Err(McpError::Refused { server: name(), why }),
        Ok(Err(Trouble::Gone(why))) => Err(McpError::Gone { server: name(), why }),
        Err(_) => Err(late(server, around, session.process.as_deref())),
    }
}

/// What was answered, whatever it was taken for.
pub(super) fn value(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(CustomResult(value)) => value,
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// An error with everything beneath it.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let words = error.to_string();
        if !told.contains(&words) {
            told.push_str(": ");
            told.push_str(&words);
        }
        source = error.source();
    }
    told
}
