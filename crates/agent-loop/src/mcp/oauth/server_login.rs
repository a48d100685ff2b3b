//! The login of one session: adds the token to its requests and renews it.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::Mutex as AsyncMutex;

use super::{
    discovery::BearerChallenge,
    token_endpoint::{OauthHttp, TokenError, printable},
};
use crate::mcp::login_store::{LoginStore, SavedLogin};
use foxwedge_upstream::http::HttpClient;

/// The login at a server.
pub(in crate::mcp) struct ServerLogin {
    logins: LoginStore,
    /// The URL of the server.
    server: String,
    http: OauthHttp,
    /// The login in use. Held while it is renewed, so that only one task does it.
    current: AsyncMutex<Option<SavedLogin>>,
    /// What the server required last.
    required: Mutex<Option<String>>,
}

impl ServerLogin {
    pub(in crate::mcp) fn new(
        logins: LoginStore,
        server: &str,
        client: &HttpClient,
    ) -> ServerLogin {
        ServerLogin {
            logins,
            server: server.to_owned(),
            http: OauthHttp::new(client.clone(), server),
            current: AsyncMutex::default(),
            required: Mutex::default(),
        }
    }

    /// The header for a request. A token that is about to expire is renewed first.
    pub(in crate::mcp) async fn authorization(&self) -> Option<HeaderValue> {
        let mut current = self.current.lock().await;
        if current.is_none() {
            *current = self.logins.find(&self.server).ok().flatten();
        }
        if current.as_ref().is_some_and(|it| it.is_expired() && it.refresh_token.is_some()) {
            // If it fails, the server decides about the old one.
            if let Ok(renewed) = self.renew(current.as_ref()).await {
                *current = Some(renewed);
            }
        }
        current.as_ref().and_then(SavedLogin::authorization)
    }

    /// The header for a second try after a refusal; `None` if the user has to log in.
    pub(in crate::mcp) async fn renew_after(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        used: Option<&HeaderValue>,
    ) -> Option<HeaderValue> {
        let mut current = self.current.lock().await;
        self.set_required(None);
        let challenge = BearerChallenge::read(headers);
        let lacks_scope = status == StatusCode::FORBIDDEN
            && challenge.error.as_deref() == Some("insufficient_scope");
        if status != StatusCode::UNAUTHORIZED && !lacks_scope {
            return None;
        }
        // Another task or process may have renewed it, or the user has logged in again.
        match self.logins.find(&self.server) {
            Ok(stored) => *current = stored,
            Err(error) => {
                self.set_required(Some(self.file_error(&error)));
                return None;
            }
        }
        let Some(login) = current.as_ref() else {
            self.set_required(Some("it requires a login".to_owned()));
            return None;
        };
        if let Some(header) = login.authorization().filter(|header| Some(header) != used) {
            return Some(header);
        }
        if lacks_scope {
            let scope = challenge.scope.unwrap_or_default();
            let why = format!("it requires a login with more rights (`{}`)", printable(&scope));
            let noted = self.note_missing_scope(login.clone(), scope).await;
            self.set_required(Some(noted.err().unwrap_or(why)));
            return None;
        }
        match self.renew(current.as_ref()).await {
            Ok(renewed) => current.insert(renewed).authorization(),
            Err(why) => {
                self.set_required(Some(why));
                None
            }
        }
    }

    /// What the server required last: a login, or one with more rights.
    pub(in crate::mcp) fn required(&self) -> Option<String> {
        self.required.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets what the server required before: it accepted a request.
    pub(in crate::mcp) fn note_accepted(&self) {
        self.set_required(None);
    }

    fn set_required(&self, why: Option<String>) {
        *self.required.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Renews a login with its refresh token, unless another process has just done it.
    async fn renew(&self, used: Option<&SavedLogin>) -> Result<SavedLogin, String> {
        let expired = || "the login has expired: it requires a new one".to_owned();
        let lock = self.logins.lock().await.map_err(|error| self.file_error(&error))?;
        let stored = self.logins.find(&self.server).map_err(|error| self.file_error(&error))?;
        let Some(mut login) = stored else { return Err("it requires a login".to_owned()) };
        if used.is_some_and(|used| used.access_token != login.access_token) {
            return Ok(login);
        }
        let Some(refresh_token) = login.refresh_token.clone() else { return Err(expired()) };
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", &*refresh_token),
            ("resource", &*login.resource),
        ];
        match self.http.request_tokens(&login.token_endpoint, &login.client, &fields).await {
            Ok(reply) => reply.apply_to(&mut login),
            Err(TokenError::InvalidGrant(_)) => {
                // It is of no use any more.
                login.refresh_token = None;
                let saved = self.logins.save(&lock, login);
                return Err(saved.map_or_else(|error| self.file_error(&error), |()| expired()));
            }
            Err(TokenError::Failed(error)) => {
                return Err(format!("the login cannot be renewed: {error}"));
            }
        }
        self.logins.save(&lock, login.clone()).map_err(|error| self.file_error(&error))?;
        Ok(login)
    }

    /// Keeps the scopes that a request needs for the next login.
    async fn note_missing_scope(&self, mut login: SavedLogin, scope: String) -> Result<(), String> {
        let lock = self.logins.lock().await.map_err(|error| self.file_error(&error))?;
        login.missing_scope = Some(scope).filter(|scope| !scope.is_empty());
        self.logins.save(&lock, login).map_err(|error| self.file_error(&error))
    }

    fn file_error(&self, error: &std::io::Error) -> String {
        format!("the file of logins ({}) cannot be used: {error}", self.logins.path().display())
    }
}

impl fmt::Debug for ServerLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServerLogin").finish_non_exhaustive()
    }
}
