//! A server that may die and begin again, and its tools.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use foxwedge_tools::{About, Answer, Future, Stage, Tool, Work};
use tokio::time::Instant;

use super::{
    McpError, Server, Surroundings,
    call::{call, failed, never_began},
    list::Listed,
    session::Session,
};

/// The server behind all its tools.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) server: Server,
    pub(super) around: Surroundings,
    session: Mutex<Option<Arc<Session>>>,
    /// Held by whoever starts it again, for as long as that takes: nobody else starts it meanwhile.
    starting: tokio::sync::Mutex<()>,
    closed: AtomicBool,
    /// It began again, so its tools may be others.
    renewed: AtomicBool,
}

impl Link {
    pub(super) fn new(server: Server, around: Surroundings, session: Session) -> Link {
        Link {
            server,
            around,
            session: Mutex::new(Some(Arc::new(session))),
            starting: tokio::sync::Mutex::new(()),
            closed: AtomicBool::new(false),
            renewed: AtomicBool::new(false),
        }
    }

    /// The session that is there; one that is over is started again, once.
    pub(super) async fn session(&self) -> Result<Arc<Session>, McpError> {
        if let Some(session) = self.alive()? {
            return Ok(session);
        }
        let _turn = self.starting.lock().await;
        if let Some(session) = self.alive()? {
            return Ok(session);
        }
        let deadline = Instant::now() + self.around.start;
        let fresh = Arc::new(Session::open(&self.server, &self.around, deadline).await?);
        self.renewed.store(true, Ordering::Relaxed);
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have closed everything meanwhile; then the fresh one ends here.
        self.open()?;
        *session = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    fn alive(&self) -> Result<Option<Arc<Session>>, McpError> {
        self.open()?;
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(session.as_ref().filter(|session| !session.is_over()).map(Arc::clone))
    }

    fn open(&self) -> Result<(), McpError> {
        match self.closed.load(Ordering::SeqCst) {
            true => Err(McpError::Closed { server: self.server.name.clone() }),
            false => Ok(()),
        }
    }

    /// Nothing can be asked from now on. The session that was there, for its end.
    pub(super) fn close(&self) -> Option<Arc<Session>> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Ordering::SeqCst);
        session.take()
    }

    /// Whether its tools may be others than those that were read.
    pub(super) fn is_changed(&self) -> bool {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let told = session.as_ref().is_some_and(|session| session.ear.is_changed());
        told || self.renewed.load(Ordering::Relaxed)
    }

    /// The same, and they are about to be read.
    pub(super) fn take_changed(&self, session: &Session) {
        session.ear.take_changed();
        self.renewed.store(false, Ordering::Relaxed);
    }
}

/// A tool of a server.
pub(super) struct McpTool {
    about: About,
    /// As the server calls it.
    own: String,
    link: Arc<Link>,
}

impl McpTool {
    pub(super) fn new(listed: Listed, link: &Arc<Link>) -> McpTool {
        let Listed { own, name, description, schema, effect } = listed;
        let about = About {
            name: name.into(),
            description: description.into(),
            schema,
            effect,
            limit: link.server.limit,
        };
        McpTool { about, own, link: Arc::clone(link) }
    }

    async fn answer(&self, work: Work<'_>) -> Answer {
        let mut stop = work.stop.clone();
        let session = tokio::select! {
            biased;
            () = stop.reached(Stage::Asked) => return never_began(),
            session = self.link.session() => match session {
                Ok(session) => session,
                Err(error) => return Answer::failed(error.to_string()),
            },
        };
        match call(&session, &self.own, work, self.link.around.most).await {
            Ok(answer) => answer,
            Err(trouble) => failed(&self.link.server.name, &trouble),
        }
    }
}

impl Tool for McpTool {
    fn about(&self) -> &About {
        &self.about
    }

    fn run<'a>(&'a self, work: Work<'a>) -> Future<'a, Answer> {
        Box::pin(self.answer(work))
    }
}
