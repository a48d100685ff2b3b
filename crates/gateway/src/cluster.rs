//! Several gateways on one store. They share state through the store only: each of them renews an
//! entry that says it is alive, takes the session of a request, and releases it with its new state.
//!
//! A release follows what the request recorded, so that the next node finds its run. A node that was
//! killed holds nothing after [`NODE_LEASE_MILLIS`].

mod publication;
mod store_answers;
mod uncertain_hold;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use foxwedge_agents::AgentPool;
use foxwedge_store::{
    AnyStore, EntryTake, EntryWrite, Result, SharedEntry, Store, StoreError, node_key,
};
use tokio::{
    sync::{
        broadcast,
        mpsc::{self, UnboundedReceiver, UnboundedSender},
    },
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at},
};

use store_answers::{ANSWER_TIMEOUT, StoreAnswers};
use uncertain_hold::{HoldAnswer, HoldCounts};

use crate::{
    config::BusyPolicy,
    node_forward::NodeClient,
    record::GatewayRecorder,
    session::{
        SessionGuard, SessionIndex, SessionMatch, SessionQuery, SharedClaim, SharedFacts,
        SharedGuardQuery, SharedPlan, SharedRelease, lookup_keys, session_key,
    },
};

/// How long a node counts as alive without showing it.
const NODE_LEASE_MILLIS: u64 = 6_000;
/// How often a node shows that it is alive.
const BEAT_INTERVAL: Duration = Duration::from_millis(1_500);
/// After how many beats expired entries are deleted.
const PRUNE_EVERY_BEATS: u32 = 20;
/// How long a session is held at most, unless it has been used before.
const HOLD_MILLIS: u64 = 86_400_000;
/// How often a waiting request looks again: the shortest and the longest pause.
const LOOK_PAUSES: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(100));
/// How long a request waits for a response that it refers to and no node says that it has: that is
/// written when the request of the response is released.
const CONTENT_PATIENCE: Duration = Duration::from_secs(2);
/// How many releases a waiting request may miss before it looks again.
const RELEASE_BACKLOG: usize = 256;
/// How many sessions are released at the same time.
const PARALLEL_RELEASES: usize = 8;
/// How long to wait before a release is tried again.
const RELEASE_PAUSE: Duration = Duration::from_secs(1);
/// How long shutdown waits for the last releases.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// This gateway among others on its store.
pub(crate) struct GatewayCluster {
    shared: Arc<ClusterShared>,
    client: NodeClient,
    releases: Mutex<Option<UnboundedSender<SharedRelease>>>,
    tasks: Mutex<Option<(JoinHandle<()>, JoinHandle<()>)>>,
}

struct ClusterShared {
    store: Arc<AnyStore>,
    answers: StoreAnswers,
    node: String,
    /// Where other nodes reach this one, if that is configured.
    advertised: Option<String>,
    /// Where other nodes reach this one; empty if they cannot.
    address: Mutex<String>,
    sessions: SessionIndex,
    recorder: GatewayRecorder,
    agents: AgentPool,
    /// The keys of sessions that are released here. A request waits for those that concern it: looks of
    /// all that wait, at every release, would be what the store is busy with.
    released: broadcast::Sender<Arc<str>>,
    hold_counts: Mutex<HoldCounts>,
    /// Waits for answers to holds that came too late for their requests.
    uncertain_holds: Mutex<JoinSet<()>>,
    /// Held while what was done without the store is published: who finds it held waits for that.
    publishing: tokio::sync::Mutex<()>,
}

impl GatewayCluster {
    /// Joins the other nodes.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub(crate) async fn join(
        store: Arc<AnyStore>,
        node: String,
        sessions: SessionIndex,
        recorder: GatewayRecorder,
        agents: AgentPool,
        advertised: Option<String>,
    ) -> Result<GatewayCluster> {
        let client = NodeClient::new(store.clone());
        sessions.share();
        let shared = Arc::new(ClusterShared {
            store,
            answers: StoreAnswers::new(recorder.notices().clone()),
            node,
            advertised,
            address: Mutex::default(),
            sessions,
            recorder,
            agents,
            released: broadcast::Sender::new(RELEASE_BACKLOG),
            hold_counts: Mutex::default(),
            uncertain_holds: Mutex::default(),
            publishing: tokio::sync::Mutex::default(),
        });
        shared.beat(NODE_LEASE_MILLIS).await?;
        let (releases, receiver) = mpsc::unbounded_channel();
        let beats = tokio::spawn(beat(shared.clone()));
        let publisher = tokio::spawn(publish(shared.clone(), receiver));
        Ok(GatewayCluster {
            shared,
            client,
            releases: Mutex::new(Some(releases)),
            tasks: Mutex::new(Some((beats, publisher))),
        })
    }

    /// Finds the session of a request, and takes it for this node. `references`: the entries of what the
    /// request refers to and this node does not have.
    ///
    /// # Errors
    /// If the store fails, or does not answer within some seconds. Then other requests get an error at
    /// once for a while.
    pub(crate) async fn claim(
        &self,
        query: SessionQuery<'_>,
        may_forward: bool,
        references: &[String],
    ) -> Result<SessionMatch> {
        let shared = &self.shared;
        // Without the time that the store takes: while it is away, no node can release anything.
        let mut waited = Duration::ZERO;
        let mut pause = LOOK_PAUSES.0;
        let mut released = shared.released.subscribe();
        let keys = [lookup_keys(&query), references.to_vec()].concat();
        let mut has_published = false;
        loop {
            let facts = SharedFacts::new(shared.entries(keys.clone()).await?);
            if !has_published && shared.sessions.has_unpublished() {
                // The store answers again, and does not know the newest replies of this node yet.
                has_published = true;
                self.publish().await;
                continue;
            }
            if may_forward
                && let Some((node, address)) = facts.content_node(references, &shared.node)
            {
                self.client.note_node(node, &address);
                return Ok(SessionMatch::Elsewhere(address));
            }
            let is_busy = match shared.sessions.plan_shared(
                &query,
                &facts,
                &shared.node,
                may_forward,
                waited,
            ) {
                // A request has it that came while the store was out of reach.
                SharedPlan::Take(claim) if shared.sessions.is_busy_here(&claim.id) => true,
                SharedPlan::Take(claim) => {
                    if may_forward && let Some((node, address)) = shared.agent_node(&claim).await? {
                        self.client.note_node(node_key(&node), &address);
                        return Ok(SessionMatch::Elsewhere(address));
                    }
                    match self.take(&query, claim).await? {
                        Some(guard) => return Ok(SessionMatch::Acquired(guard)),
                        // Another request was faster.
                        None => continue,
                    }
                }
                SharedPlan::Replay(cached) => return Ok(SessionMatch::Replay(cached)),
                SharedPlan::Forward { node, address } => {
                    self.client.note_node(node, &address);
                    return Ok(SessionMatch::Elsewhere(address));
                }
                SharedPlan::Wait => true,
                SharedPlan::WaitForReply => false,
            };
            match shared.sessions.busy_policy() {
                BusyPolicy::Wait(max_wait) if waited >= max_wait => return Ok(SessionMatch::Busy),
                BusyPolicy::Refuse if is_busy => return Ok(SessionMatch::Busy),
                BusyPolicy::Wait(_) | BusyPolicy::Refuse => {}
            }
            let began = Instant::now();
            // Another node may release the session, too: look again in any case.
            while let Ok(Ok(key)) = timeout_at(began + pause, released.recv()).await {
                if facts.contain(&key) {
                    break;
                }
            }
            waited += began.elapsed();
            pause = (2 * pause).min(LOOK_PAUSES.1);
        }
    }

    /// The address of the node that has what a request refers to; `None` if that is this one, or not
    /// alive, or unknown. `references`: the entries of what this node does not have.
    pub(crate) async fn content_node(&self, references: &[String]) -> Option<String> {
        let shared = &self.shared;
        let (began, mut pause) = (Instant::now(), LOOK_PAUSES.0);
        loop {
            let facts = SharedFacts::new(shared.entries(references.to_vec()).await.ok()?);
            if let Some((node, address)) = facts.content_node(references, &shared.node) {
                self.client.note_node(node, &address);
                return Some(address);
            }
            let is_known = references.iter().any(|key| facts.contain(key));
            if is_known || began.elapsed() >= CONTENT_PATIENCE {
                return None;
            }
            sleep(pause).await;
            pause = (2 * pause).min(LOOK_PAUSES.1);
        }
    }

    /// Learns whether a session name is an id that another node has issued to this owner.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn learn_issued_name(&self, owner: &str, name: &str) -> Result<()> {
        let sessions = &self.shared.sessions;
        if sessions.is_issued_name(owner, name) {
            return Ok(());
        }
        let entry = self.shared.entries(vec![session_key(name)]).await?.pop();
        if entry.is_some_and(|entry| SessionIndex::is_issued_to(&entry, owner)) {
            sessions.note_issued(owner, name);
        }
        Ok(())
    }

    /// Says that this node listens. Other nodes reach it at the advertised address, or else at this
    /// one. They reach no wildcard address, but the one that this machine has in its network.
    pub(crate) async fn listen_at(&self, address: SocketAddr) {
        let ip = match address.ip().is_unspecified() {
            true => network_address().unwrap_or(address.ip()),
            false => address.ip(),
        };
        let derived = SocketAddr::new(ip, address.port()).to_string();
        let reached = self.shared.advertised.clone();
        if let Some(reached) = reached.or((!ip.is_unspecified()).then_some(derived)) {
            *lock(&self.shared.address) = reached;
            // Else with the next beat.
            let _ = self.shared.beat(NODE_LEASE_MILLIS).await;
        }
    }

    /// Where another node is reached; `None` if it is this one or not alive.
    pub(crate) async fn address_of(&self, node: &str) -> Option<String> {
        if node == self.shared.node {
            return None;
        }
        let address = self.shared.address_of(node).await.ok().flatten()?;
        self.client.note_node(node_key(node), &address);
        Some(address)
    }

    /// The client for other nodes.
    pub(crate) fn client(&self) -> &NodeClient {
        &self.client
    }

    /// Releases everything that is held.
    pub(crate) async fn leave(&self) {
        drop(lock(&self.releases).take());
        let Some((beats, mut publisher)) = lock(&self.tasks).take() else { return };
        if timeout(DRAIN_TIMEOUT, &mut publisher).await.is_err() {
            publisher.abort();
        }
        beats.abort();
        lock(&self.shared.uncertain_holds).abort_all();
        if self.shared.sessions.has_unpublished() {
            let _ = timeout(DRAIN_TIMEOUT, self.shared.publish_sessions()).await;
        }
        // What is still held is free for other nodes from now on, or else when the lease expires.
        let _ = timeout(DRAIN_TIMEOUT, self.shared.beat(0)).await;
    }

    /// Takes a session. `None` if it has changed meanwhile. A client that disconnects leaves nothing
    /// held, because a task of its own waits for the store.
    async fn take(
        &self,
        query: &SessionQuery<'_>,
        claim: Box<SharedClaim>,
    ) -> Result<Option<SessionGuard>> {
        let Some(releases) = lock(&self.releases).clone() else {
            return Err(StoreError::Unavailable("the gateway is shutting down".into()));
        };
        let query = SharedGuardQuery {
            scope: query.scope,
            fingerprint: query.fingerprint,
            retry_mark: query.retry_mark,
            origin: query.origin,
        };
        let shared = self.shared.clone();
        let task = tokio::spawn(async move { shared.take(query, claim, releases).await });
        task.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.into())))
    }
}

impl Drop for GatewayCluster {
    fn drop(&mut self) {
        if let Some((beats, publisher)) = lock(&self.tasks).take() {
            beats.abort();
            publisher.abort();
        }
        lock(&self.shared.uncertain_holds).abort_all();
    }
}

impl ClusterShared {
    /// Reads entries for a request.
    async fn entries(&self, keys: Vec<String>) -> Result<Vec<SharedEntry>> {
        self.answers.ask(self.store.entries(keys)).await
    }

    async fn take(
        self: &Arc<Self>,
        query: SharedGuardQuery,
        mut claim: Box<SharedClaim>,
        releases: UnboundedSender<SharedRelease>,
    ) -> Result<Option<SessionGuard>> {
        let take = EntryTake {
            hold: claim.hold.clone(),
            ttl: HOLD_MILLIS,
            link: claim.last_digest.take(),
            writes: std::mem::take(&mut claim.writes),
            replaced: claim.replaced.take(),
        };
        // Before the entry of its reply can be read: then retries find the reply here.
        let Some(mut guard) = self.sessions.shared_guard(&query, claim) else { return Ok(None) };
        self.count_up(&take.hold.key);
        let mut holding: HoldAnswer = Box::pin({
            let (store, take) = (self.store.clone(), take.clone());
            async move { store.hold_entry(take).await }
        });
        let version = match self.answers.wait(&mut holding).await {
            Some(Ok(Some(version))) => version,
            Some(Ok(None)) => {
                self.count_down(&take.hold.key);
                return Ok(None);
            }
            Some(Err(error)) => {
                self.give_up_hold(guard.give_up(&query), None, take);
                return Err(error);
            }
            None => {
                self.give_up_hold(guard.give_up(&query), Some(holding), take);
                return Err(StoreError::Unavailable("it did not answer in time".into()));
            }
        };
        guard.hold_shared(&query, version, releases);
        if let Some(claim) = guard.shared_claim() {
            // What cannot be taken over is closed when its lease expires.
            let _ = timeout(ANSWER_TIMEOUT, self.adopt_run(claim)).await;
        }
        Ok(Some(guard))
    }

    /// Lets a task of the cluster find out whether a session is held, and release it.
    fn give_up_hold(
        self: &Arc<Self>,
        release: Option<SharedRelease>,
        answer: Option<HoldAnswer>,
        take: EntryTake,
    ) {
        let Some(release) = release else { return };
        let shared = self.clone();
        let mut tasks = lock(&self.uncertain_holds);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move { shared.settle_hold(answer, take, release).await });
    }

    /// Continues the run of a session that another node had. If that node was killed during a request
    /// of the session, the run is closed as interrupted instead.
    async fn adopt_run(&self, claim: &SharedClaim) {
        let Some(found) = &claim.found else { return };
        if found.node == self.node && !claim.is_orphaned {
            return;
        }
        self.recorder.forget_session(&claim.id);
        let Some(waiting) = &found.waiting else { return };
        self.recorder.adopt_run(&claim.id, waiting, claim.is_orphaned).await;
    }

    /// The node whose live agent belongs to a session, with its address, if it is another one.
    async fn agent_node(&self, claim: &SharedClaim) -> Result<Option<(String, String)>> {
        let found = claim.found.as_ref().filter(|found| found.has_agent && found.node != self.node);
        let Some(found) = found else { return Ok(None) };
        let address = self.address_of(&found.node).await?;
        Ok(address.map(|address| (found.node.clone(), address)))
    }

    /// Where a node is reached, if it is alive.
    async fn address_of(&self, node: &str) -> Result<Option<String>> {
        let entry = self.entries(vec![node_key(node)]).await?.pop();
        let address = entry.and_then(|entry| String::from_utf8(entry.value).ok());
        Ok(address.filter(|address| !address.is_empty()))
    }

    /// Shows that this node is alive for this long.
    async fn beat(&self, ttl: u64) -> Result<()> {
        let value = lock(&self.address).clone().into_bytes();
        let beat = EntryWrite { key: node_key(&self.node), value, link: None, ttl };
        self.store.write_entries(None, vec![beat]).await.map(drop)
    }

    /// Writes the new state of a session and releases it. Tries until it succeeds.
    async fn release(&self, mut release: SharedRelease) {
        if let Some(session) = &mut release.session {
            session.waiting = self.recorder.waiting_run(&release.id);
            session.has_agent = self.agents.find_by_session(&release.id).is_some();
        }
        let key = release.hold.key.clone();
        self.write_release(release).await;
        self.count_down(&key);
    }

    /// Writes a state and releases its session. Tries until it succeeds.
    async fn write_release(&self, release: SharedRelease) {
        let (hold, writes) = release.into_writes();
        while let Err(StoreError::Unavailable(_)) =
            self.store.write_entries(Some(hold.clone()), writes.clone()).await
        {
            sleep(RELEASE_PAUSE).await;
        }
        // Nothing may be waiting.
        let _ = self.released.send(hold.key.into());
    }
}

async fn beat(shared: Arc<ClusterShared>) {
    let mut ticks = interval(BEAT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut beats = 0_u32;
    let mut publications = JoinSet::new();
    loop {
        ticks.tick().await;
        // A store that cannot be reached is tried again at the next beat.
        let is_beaten = shared.beat(NODE_LEASE_MILLIS).await.is_ok();
        while publications.try_join_next().is_some() {}
        if is_beaten && publications.is_empty() && shared.sessions.has_unpublished() {
            let shared = shared.clone();
            publications.spawn(async move { shared.publish_sessions().await });
        }
        beats = beats.wrapping_add(1);
        if beats.is_multiple_of(PRUNE_EVERY_BEATS) {
            let _ = shared.store.prune(0, 0).await;
        }
    }
}

/// Releases sessions after everything before is recorded.
async fn publish(shared: Arc<ClusterShared>, mut receiver: UnboundedReceiver<SharedRelease>) {
    let mut work = JoinSet::new();
    let mut batch = Vec::new();
    while receiver.recv_many(&mut batch, PARALLEL_RELEASES).await > 0 {
        shared.recorder.flush().await;
        for release in batch.drain(..) {
            let shared = shared.clone();
            work.spawn(async move { shared.release(release).await });
        }
        while work.try_join_next().is_some() {}
    }
    while work.join_next().await.is_some() {}
}

/// The address of this machine in its network. Nothing is sent: connecting only chooses a route.
fn network_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address of a documentation network, which is nobody's.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
