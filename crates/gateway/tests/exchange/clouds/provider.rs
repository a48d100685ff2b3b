//! A provider that sends canned replies in order, and records the requests.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Mutex, mpsc},
    task::JoinHandle,
    time::timeout,
};

/// Longer than any correct wait.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A reply that is sent as it is.
#[derive(Clone)]
pub(crate) struct CannedReply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// More headers, each with its line end.
    pub(crate) headers: &'static str,
    pub(crate) body: Vec<u8>,
}

impl CannedReply {
    pub(crate) fn json(status: u16, body: &str) -> CannedReply {
        let content_type = "application/json";
        CannedReply { status, content_type, headers: "", body: body.into() }
    }

    pub(crate) fn stream(body: &str) -> CannedReply {
        CannedReply { content_type: "text/event-stream", ..CannedReply::json(200, body) }
    }

    pub(crate) fn bytes(body: &[u8]) -> CannedReply {
        CannedReply { body: body.to_vec(), ..CannedReply::json(200, "") }
    }
}

/// A request that was received.
pub(crate) struct CloudRequest {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The JSON of the body; a string if it is a form.
    pub(crate) body: Value,
}

/// A running provider.
pub(crate) struct CloudProvider {
    pub(crate) url: String,
    requests: Mutex<mpsc::UnboundedReceiver<CloudRequest>>,
    task: JoinHandle<()>,
}

impl CloudProvider {
    /// Starts a provider that sends each reply once, on a connection of its own.
    pub(crate) async fn start(replies: Vec<CannedReply>) -> CloudProvider {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (sender, requests) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            for reply in replies {
                let (stream, _) = listener.accept().await.expect("a connection");
                let _ = sender.send(serve_once(stream, reply).await);
            }
        });
        CloudProvider { url, requests: Mutex::new(requests), task }
    }

    /// The next request.
    pub(crate) async fn next(&self) -> CloudRequest {
        let mut requests = self.requests.lock().await;
        timeout(TIMEOUT, requests.recv()).await.expect("a request in time").expect("a request")
    }
}

impl Drop for CloudProvider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve_once(mut stream: TcpStream, reply: CannedReply) -> CloudRequest {
    let mut bytes = Vec::new();
    let request = loop {
        assert!(stream.read_buf(&mut bytes).await.expect("bytes") > 0, "the request was cut");
        if let Some(request) = parse(&bytes) {
            break request;
        }
    };
    let CannedReply { status, content_type, headers, body } = reply;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\
         connection: close\r\n{headers}\r\n"
    );
    stream.write_all(&[head.as_bytes(), &body].concat()).await.expect("it goes out");
    request
}

/// A request, once it is complete.
fn parse(bytes: &[u8]) -> Option<CloudRequest> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).expect("text");
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: HeaderMap = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| {
            (name.parse::<HeaderName>().expect("a name"), value.parse().expect("a value"))
        })
        .collect();
    let length = headers.get("content-length").map_or("0", |it| it.to_str().expect("text"));
    let length: usize = length.parse().expect("a length");
    let body = bytes.get(end..end + length)?;
    let text = || Value::String(String::from_utf8_lossy(body).into_owned());
    let body = serde_json::from_slice(body).unwrap_or_else(|_| text());
    Some(CloudRequest { path, headers, body })
}

/// Checks the form with which a service account asks for a token, and its signature.
pub(crate) fn check_assertion(request: &CloudRequest, url: &str) {
    assert_eq!(request.headers["content-type"], "application/x-www-form-urlencoded");
    let form = request.body.as_str().expect("a form");
    let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let assertion = form.strip_prefix(start).expect(form);
    let (signed, signature) = assertion.rsplit_once('.').expect("three parts");
    let (head, claims) = signed.split_once('.').expect("three parts");
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).expect("base64");
    let json = |part| serde_json::from_slice::<Value>(&decode(part)).expect("JSON");
    assert_eq!(json(head), serde_json::json!({"alg": "RS256", "typ": "JWT", "kid": "kid-1"}));
    let claims = json(claims);
    assert_eq!(claims["iss"], "fox@p.iam.gserviceaccount.com");
    assert_eq!(claims["aud"], format!("{url}/token"));
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
    let lifetime = claims["exp"].as_u64().zip(claims["iat"].as_u64()).map(|(exp, iat)| exp - iat);
    assert_eq!(lifetime, Some(3_600));
    let key = include_bytes!("public.der");
    let key =
        ring::signature::UnparsedPublicKey::new(&ring::signature::RSA_PKCS1_2048_8192_SHA256, key);
    key.verify(signed.as_bytes(), &decode(signature)).expect("the account's signature");
}
