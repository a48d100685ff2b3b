//! Hostile connections against the accept loop alone: partial heads, too many connections, slow
//! readers, disconnects.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_gateway::{ConnectionAddresses, ConnectionRules, DrainReport, ResponseBody, accept};
use foxwedge_gateway::{
    config::{GatewayLimits, GatewayTimeouts},
    metrics::Metrics,
};
use http::{Request, Response};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Mutex, mpsc, oneshot},
    task::JoinHandle,
};

use crate::client::{Answer, closed, get, send};

/// A running accept loop.
pub(crate) struct AcceptLoop {
    pub(crate) address: SocketAddr,
    pub(crate) meter: Metrics,
    stop: oneshot::Sender<()>,
    task: JoinHandle<DrainReport>,
}

impl AcceptLoop {
    pub(crate) async fn start<F, R, B>(rules: ConnectionRules, answer: F) -> AcceptLoop
    where
        F: Fn(Request<Incoming>, ConnectionAddresses) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Response<B>> + Send + 'static,
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let meter = Metrics::new();
        let stopped = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(accept(listener, rules, meter.clone(), answer, stopped, || {}));
        AcceptLoop { address, meter, stop, task }
    }

    pub(crate) async fn end(self) -> DrainReport {
        let _ = self.stop.send(());
        self.task.await.expect("it does not panic")
    }
}

pub(crate) fn rules() -> ConnectionRules {
    ConnectionRules::from_config(&GatewayLimits::default(), &GatewayTimeouts::default())
}

async fn hello(_: Request<Incoming>, _: ConnectionAddresses) -> Response<ResponseBody> {
    Response::new(ResponseBody::full("hello"))
}

async fn half(to: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.expect("somebody listens");
    stream.write_all(b"GET / HTTP/1.1\r\nhost: loc").await.expect("it goes out");
    stream
}

/// Tests that need many open files run one at a time.
static OPEN_FILES_LOCK: Mutex<()> = Mutex::const_new(());

#[tokio::test]
async fn three_hundred_partial_heads_are_closed_and_block_no_other_client() {
    let _files = OPEN_FILES_LOCK.lock().await;
    let server =
        AcceptLoop::start(ConnectionRules { head: Duration::from_millis(300), ..rules() }, hello)
            .await;
    let mut sockets = Vec::new();
    for _ in 0..STREAMS {
        sockets.push(half(server.address).await);
    }
    assert_eq!(send(server.address, get("/", "")).await.status, 200);
    for socket in sockets {
        closed(socket).await;
    }
    server.end().await;
}

#[tokio::test]
async fn a_head_sent_byte_by_byte_times_out() {
    let server =
        AcceptLoop::start(ConnectionRules { head: Duration::from_millis(100), ..rules() }, hello)
            .await;
    let (mut reader, mut writer) = half(server.address).await.into_split();
    let drip = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if writer.write_all(b"x").await.is_err() {
                return;
            }
        }
    });
    let mut bytes = Vec::new();
    let _ = reader.read_to_end(&mut bytes).await;
    assert_eq!(bytes, b"");
    drip.abort();
    server.end().await;
}

#[tokio::test]
async fn a_connection_that_is_idle_too_long_is_closed() {
    let rules = ConnectionRules { keep_alive: Duration::from_millis(50), ..rules() };
    let server = AcceptLoop::start(rules, hello).await;
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("it goes out");
    // The reply, then the end of the connection.
    let answer = crate::client::rest(stream).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello"));
    server.end().await;
}

#[tokio::test]
async fn connections_above_the_limit_are_closed_and_places_become_free_again() {
    let server = AcceptLoop::start(ConnectionRules { connections: 2, ..rules() }, hello).await;
    let first = half(server.address).await;
    let second = half(server.address).await;
    // The kernel accepts the connection; the loop closes it.
    let third = TcpStream::connect(server.address).await.expect("the kernel listens");
    closed(third).await;
    drop((first, second));
    // Places become free when the loop has seen the disconnects. Until then it refuses connections.
    while Answer::read(&ask(server.address).await).status != 200 {}
    let refused = r#"foxwedge_connections_refused_total{why="total"}"#;
    assert!(server.meter.render().lines().any(|line| line.starts_with(refused)));
    server.end().await;
}

async fn ask(to: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut stream = TcpStream::connect(to).await.expect("the kernel listens");
    let _ = stream.write_all(get("/", "").as_bytes()).await;
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = AcceptLoop::start(rules(), |request: Request<Incoming>, _| async move {
        Response::new(ResponseBody::full(request.uri().path().to_owned()))
    })
    .await;
    let request = |path| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let all = [request("/one"), request("/two"), get("/three", "")].concat();
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    stream.write_all(all.as_bytes()).await.expect("it goes out");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("replies");
    let bodies: Vec<_> = text.split("\r\n\r\n").skip(1).map(|part| &part[..4]).collect();
    assert_eq!(bodies, ["/one", "/two", "/thr"]);
    server.end().await;
}

/// An endless body that reports when it is dropped.
struct EndlessBody {
    sent: Arc<AtomicUsize>,
    over: mpsc::UnboundedSender<()>,
}

impl Body for EndlessBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.sent.fetch_add(4096, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 4096])))))
    }
}

impl Drop for EndlessBody {
    fn drop(&mut self) {
        let _ = self.over.send(());
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected_and_uses_little_memory() {
    let (over, mut ended) = mpsc::unbounded_channel();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let rules = ConnectionRules { write: Duration::from_millis(200), ..rules() };
    let server = AcceptLoop::start(rules, move |_, _| {
        let body = EndlessBody { sent: counted.clone(), over: over.clone() };
        async { Response::new(body) }
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    stream.write_all(get("/", "").as_bytes()).await.expect("it goes out");
    ended.recv().await.expect("the reply is dropped");
    // The buffers of the kernel on both sides, and little of ours.
    assert!(sent.load(Ordering::Relaxed) < 32 << 20);
    drop(stream);
    server.end().await;
}

#[tokio::test]
async fn the_work_for_a_client_that_disconnects_is_dropped() {
    struct DropNotice(mpsc::UnboundedSender<&'static str>);
    impl Drop for DropNotice {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let (sender, mut events) = mpsc::unbounded_channel();
    let server = AcceptLoop::start(rules(), move |_, _| {
        let sender = sender.clone();
        async move {
            let _ = sender.send("began");
            let _notice = DropNotice(sender);
            std::future::pending::<()>().await;
            Response::new(ResponseBody::full(""))
        }
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    stream.write_all(get("/", "").as_bytes()).await.expect("it goes out");
    assert_eq!(events.recv().await, Some("began"));
    drop(stream);
    assert_eq!(events.recv().await, Some("dropped"));
    server.end().await;
}

#[tokio::test]
async fn three_hundred_streams_are_held_and_others_are_served() {
    let _files = OPEN_FILES_LOCK.lock().await;
    let (over, _ended) = mpsc::unbounded_channel::<()>();
    let server = AcceptLoop::start(rules(), move |request: Request<Incoming>, _| {
        let over = over.clone();
        async move {
            match request.uri().path() {
                "/held" => {
                    Response::new(ResponseBody::stream(StalledBody { first: true, _over: over }))
                }
                _ => Response::new(ResponseBody::full("hello")),
            }
        }
    })
    .await;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
        stream.write_all(get("/held", "").as_bytes()).await.expect("it goes out");
        streams.push(stream);
    }
    let mut first = [0; 15];
    for stream in &mut streams {
        stream.read_exact(&mut first).await.expect("a reply begins");
        assert_eq!(&first, b"HTTP/1.1 200 OK");
    }
    assert_eq!(send(server.address, get("/", "")).await.body, "hello");
    drop(streams);
    server.end().await;
}

/// Both ends of every connection are files of this process, whose limit is about a thousand.
const STREAMS: usize = 300;

/// One chunk, and then nothing.
struct StalledBody {
    first: bool,
    _over: mpsc::UnboundedSender<()>,
}

impl Body for StalledBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if std::mem::take(&mut self.first) {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"data: 1\n\n")))));
        }
        Poll::Pending
    }
}
