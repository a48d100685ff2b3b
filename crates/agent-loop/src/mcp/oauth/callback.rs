//! The address on this machine that the browser is sent back to after a login.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::LoginError;

const CALLBACK_PATH: &str = "/callback";
/// Maximum bytes of a request.
const MAX_REQUEST_BYTES: usize = 16 << 10;
/// Maximum connections at once: browsers open some that they never use.
const MAX_CONNECTIONS: usize = 32;
/// How long a connection may take.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Waits for the browser.
pub(super) struct CallbackListener {
    listener: TcpListener,
    /// The address that the browser is sent back to.
    pub(super) redirect_uri: String,
}

/// The answer of the authorization server, whose `state` is ours.
pub(super) struct CallbackAnswer {
    pub(super) code: Option<String>,
    pub(super) error: Option<String>,
    pub(super) issuer: Option<String>,
}

impl CallbackListener {
    pub(super) async fn bind(port: Option<u16>) -> Result<CallbackListener, LoginError> {
        let bound = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await;
        let listener = bound.map_err(|error| {
            LoginError::new(format!("the port for the browser's answer is not free: {error}"))
                .with_help("choose another one with `callbackPort`, or end the other program")
        })?;
        let port = listener.local_addr().map(|address| address.port());
        let port = port.map_err(|error| LoginError::new(error.to_string()))?;
        let redirect_uri = format!("http://127.0.0.1:{port}{CALLBACK_PATH}");
        Ok(CallbackListener { listener, redirect_uri })
    }

    /// Waits for the answer with this `state`. All other requests are refused and change nothing: any
    /// web page can send them.
    pub(super) async fn wait(
        self,
        state: &str,
        within: Duration,
    ) -> Result<CallbackAnswer, LoginError> {
        let answer = self.wait_for_answer(state);
        timeout(within, answer).await.map_err(|_| {
            let seconds = within.as_secs_f32();
            LoginError::new(format!("no answer came from the browser within {seconds} s"))
                .with_help("log in again, and follow the login page in the browser to its end")
        })
    }

    async fn wait_for_answer(self, state: &str) -> CallbackAnswer {
        let (sender, mut answers) = mpsc::channel(1);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(answer) = answers.recv() => return answer,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if connections.len() < MAX_CONNECTIONS => {
                        let (state, sender) = (state.to_owned(), sender.clone());
                        connections.spawn(async move {
                            let served = serve_connection(stream, &state);
                            if let Ok(Some(answer)) = timeout(CONNECTION_TIMEOUT, served).await {
                                let _ = sender.send(answer).await;
                            }
                        });
                    }
                    Ok(_) => {}
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// Reads one request and responds. Returns the answer, if it is one.
async fn serve_connection(mut stream: TcpStream, state: &str) -> Option<CallbackAnswer> {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() > MAX_REQUEST_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or("");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let answer = (path == CALLBACK_PATH).then(|| read_answer(query, state));
    let (status, text) = match &answer {
        None => ("404 Not Found", "Nothing is here."),
        Some(None) => ("400 Bad Request", "This answer does not belong to the open login."),
        Some(Some(CallbackAnswer { code: Some(_), error: None, .. })) => {
            ("200 OK", "Foxwedge got the answer. Go back to the terminal.")
        }
        Some(Some(_)) => ("200 OK", "You are not logged in. The terminal says why."),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>foxwedge</title><p>{text}\n");
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    // The answer counts even if the browser does not wait for the page.
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
    answer.flatten()
}

/// Reads the answer in a query; `None` if its `state` is not ours.
fn read_answer(query: &str, state: &str) -> Option<CallbackAnswer> {
    let value = |wanted: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.into_iter().find(|(name, _)| *name == wanted)?;
        let value = value.replace('+', " ");
        Some(percent_decode_str(&value).decode_utf8_lossy().into_owned())
    };
    value("state").filter(|given| given == state)?;
    let error = match (value("error"), value("error_description")) {
        (Some(error), Some(more)) => Some(format!("{error} ({more})")),
        (error, _) => error,
    };
    Some(CallbackAnswer { code: value("code"), error, issuer: value("iss") })
}
