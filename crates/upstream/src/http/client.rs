//! The client: takes an idle connection or opens one, sends a request, reads the response head.

use std::{fmt, sync::Arc, time::Duration};

use http::StatusCode;

use crate::{
    NetworkTarget,
    http::{
        HttpError, HttpRequest, HttpResponse, HttpSettings, IncomingBody, NetworkConfig,
        connect::connect,
        connection::UnsentRequest,
        exchange::{ConnectionExchange, RequestProgress},
        head::ResponseHead,
        incoming::NetworkBody,
        pool::ConnectionPool,
        request,
    },
};

/// HTTP client for upstreams. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct HttpClient {
    settings: HttpSettings,
    pool: Arc<ConnectionPool>,
}

impl HttpClient {
    /// A client without a proxy that trusts the certificates of the system.
    pub fn new(settings: HttpSettings) -> HttpClient {
        HttpClient { settings, pool: Arc::default() }
    }

    /// Uses proxies and certificates of a configuration, and a new connection pool.
    #[must_use]
    pub fn with_network(self, network: &NetworkConfig) -> HttpClient {
        let pool = Arc::new(ConnectionPool::new(network.clone()));
        HttpClient { settings: self.settings, pool }
    }

    /// Timeout between two reads of a body.
    pub fn idle_timeout(&self) -> Duration {
        self.settings.idle
    }

    /// Sends a request and waits for the response head. An idle connection that turns out to be
    /// closed is replaced once, unless the upstream may have seen the request: then only one whose
    /// method changes nothing is sent again.
    ///
    /// # Errors
    /// If connecting fails, or there is no valid head in time.
    pub async fn send(
        &self,
        target: &NetworkTarget,
        request: HttpRequest<'_>,
    ) -> Result<HttpResponse, HttpError> {
        let connections = self.pool.connections_for(target, &self.settings);
        let head = request::encode_head(target, &request, connections.forward_proxy())?;
        let sending = UnsentRequest::new(head, request.body);
        let mut idle_connection = connections.take();
        loop {
            let stale = idle_connection.is_some();
            let connection = match idle_connection.take() {
                Some(connection) => connection,
                // Boxed: rare, and much larger than the rest.
                None => {
                    let connecting =
                        connect(target, connections.proxy(), &self.settings, self.pool.roots());
                    Box::pin(connecting).await?
                }
            };
            let mut exchange =
                ConnectionExchange::new(connection, sending.clone(), self.settings.max_head);
            match exchange.read_head(&request.method, self.settings.first_byte).await {
                Ok(ResponseHead { status, headers, body, reuse: after }) => {
                    // Only a proxy answers so. It has not passed the request on.
                    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
                        && let Some(proxy) = connections.forward_proxy()
                    {
                        return Err(proxy.refusal(status));
                    }
                    let ConnectionExchange { connection, sending, progress: write, .. } = exchange;
                    let unsent = match write {
                        RequestProgress::Sending => Some(sending),
                        RequestProgress::Done | RequestProgress::Failed(_) => None,
                    };
                    let flow = NetworkBody::new(
                        connection,
                        body,
                        after,
                        connections,
                        unsent,
                        self.settings.idle,
                    );
                    return Ok(HttpResponse {
                        status,
                        headers,
                        body: IncomingBody::from_network(flow),
                    });
                }
                Err(error) if stale && exchange.is_stale(&error, &request.method) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Number of idle connections.
    pub fn idle_connections(&self) -> usize {
        self.pool.idle_count()
    }

    /// Closes connections that were idle for too long. Call it periodically: without requests
    /// nothing else does.
    pub fn close_expired_connections(&self) {
        self.pool.close_expired();
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("settings", &self.settings).finish_non_exhaustive()
    }
}
