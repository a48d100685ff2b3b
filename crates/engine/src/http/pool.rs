//! Connections that rest between two requests, apart for each target.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    config::{Addresses, Target},
    http::{Settings, connection::Connection},
};

/// The connections of all targets. There are as many targets as the configuration names.
#[derive(Debug, Default)]
pub(super) struct Pool {
    shelves: RwLock<Vec<Arc<Shelf>>>,
}

/// The connections of one target, the last used at the end.
#[derive(Debug)]
pub(super) struct Shelf {
    tls: bool,
    host: Box<str>,
    port: u16,
    /// A connection that one rule allowed is not handed to a stricter one.
    addresses: Addresses,
    most: usize,
    resting: Duration,
    connections: Mutex<VecDeque<(Connection, Instant)>>,
}

impl Pool {
    /// The connections of a target.
    pub(super) fn shelf(&self, target: &Target, settings: &Settings) -> Arc<Shelf> {
        let find = |shelves: &[Arc<Shelf>]| shelves.iter().find(|one| one.is_for(target)).cloned();
        let known = find(&self.shelves.read().unwrap_or_else(PoisonError::into_inner));
        known.unwrap_or_else(|| {
            let mut shelves = self.shelves.write().unwrap_or_else(PoisonError::into_inner);
            find(&shelves).unwrap_or_else(|| {
                let shelf = Arc::new(Shelf::new(target, settings));
                shelves.push(Arc::clone(&shelf));
                shelf
            })
        })
    }

    /// How many connections rest.
    pub(super) fn resting(&self) -> usize {
        let shelves = self.shelves.read().unwrap_or_else(PoisonError::into_inner);
        shelves.iter().map(|shelf| shelf.lock().len()).sum()
    }

    /// Closes those that have rested too long, or that the other side has closed.
    pub(super) fn sweep(&self) {
        let shelves = self.shelves.read().unwrap_or_else(PoisonError::into_inner);
        for shelf in shelves.iter() {
            let resting = shelf.resting;
            shelf.lock().retain_mut(|(connection, since)| {
                since.elapsed() < resting && connection.is_quiet()
            });
        }
    }
}

impl Shelf {
    fn new(target: &Target, settings: &Settings) -> Shelf {
        Shelf {
            tls: target.tls,
            host: target.host.clone(),
            port: target.port,
            addresses: target.addresses,
            most: settings.most_resting,
            resting: settings.resting,
            connections: Mutex::default(),
        }
    }

    /// The connection that rests for the shortest time and is still good.
    pub(super) fn take(&self) -> Option<Connection> {
        loop {
            let (mut connection, since) = self.lock().pop_back()?;
            if since.elapsed() < self.resting && connection.is_quiet() {
                return Some(connection);
            }
        }
    }

    /// Lets a connection rest. The one that rests longest makes room.
    pub(super) fn put(&self, connection: Connection) {
        if self.most == 0 {
            return;
        }
        let mut connections = self.lock();
        let full = connections.len() >= self.most;
        let old = connections.front().is_some_and(|(_, since)| since.elapsed() >= self.resting);
        let gone = if full || old { connections.pop_front() } else { None };
        connections.push_back((connection, Instant::now()));
        drop(connections);
        // A socket is closed with the lock open.
        drop(gone);
    }

    fn is_for(&self, target: &Target) -> bool {
        self.port == target.port
            && self.tls == target.tls
            && self.addresses == target.addresses
            && self.host == target.host
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Connection, Instant)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
