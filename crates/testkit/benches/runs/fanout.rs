//! What one more follower of a run costs: the processor time of the whole process for an event,
//! divided by those who hear it over a socket of their own.

use std::sync::Arc;

use foxwedge_run::encode::{EncoderOptions, UiFormat};
use foxwedge_store::{AnyStore, FeedItem, FeedRegistry, NewSession, Store, StoreUrl};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{disk::Writer, median};

const EVENTS: usize = 1_000;
const ROUNDS: usize = 5;

pub(crate) async fn print() {
    println!(
        "fan-out: processor time for an event and follower, median of {ROUNDS} rounds of {EVENTS} events\n"
    );
    for followers in [1, 10, 100] {
        let mut hub = Vec::new();
        let mut sockets = Vec::new();
        for round in 0..ROUNDS {
            hub.push(cost(followers, Way::Memory, round).await);
            sockets.push(cost(followers, Way::Socket, round).await);
        }
        let (hub, sockets) = (median(hub), median(sockets));
        println!(
            "  {followers:>4} followers: {hub:>8.2} µs in memory, {sockets:>8.2} µs over loopback"
        );
    }
    println!();
}

#[derive(Clone, Copy)]
enum Way {
    Memory,
    Socket,
}

async fn cost(followers: usize, way: Way, round: usize) -> f64 {
    let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await.expect("a store"));
    let session = format!("fan-{round}");
    let new = NewSession { id: session.clone(), ..NewSession::default() };
    store.create_session(new).await.expect("a session");
    let mut writer = Writer::new(&store, &session, 0).await;
    let feeds = FeedRegistry::new(store.clone());
    let mut tasks = Vec::new();
    for _ in 0..followers {
        let run = writer.run().id.clone();
        let mut follower = feeds
            .follow(&run, UiFormat::AgUi, EncoderOptions::default(), None)
            .await
            .expect("a follower");
        let mut socket = match way {
            Way::Memory => None,
            Way::Socket => Some(connected().await),
        };
        tasks.push(tokio::spawn(async move {
            let mut heard = 0;
            // The start, the text's start and a frame for each event.
            while heard < EVENTS + 2 {
                let FeedItem::Frame(frame) = follower.next().await.expect("a frame") else { break };
                if let Some(socket) = &mut socket {
                    socket.write_all(frame.sse.as_bytes()).await.expect("sent");
                }
                heard += 1;
            }
        }));
    }
    let before = processor_time();
    for _ in 0..EVENTS {
        writer.append().await;
    }
    for task in tasks {
        task.await.expect("a follower");
    }
    (processor_time() - before) * 1e6 / (EVENTS * followers) as f64
}

/// A connection whose other end reads and throws away.
async fn connected() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut other, _) = listener.accept().await.expect("a connection");
        let mut buffer = vec![0; 64 * 1_024];
        while other.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    });
    let socket = TcpStream::connect(address).await.expect("a connection");
    socket.set_nodelay(true).expect("no delay");
    socket
}

/// Seconds of processor time that this process has used.
fn processor_time() -> f64 {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let field = |place: usize| fields.get(place).and_then(|it| it.parse::<f64>().ok());
    (field(11).unwrap_or(0.0) + field(12).unwrap_or(0.0)) / TICKS
}
