//! Proxies: which one a target is reached through, and what is sent to it.
//!
//! Nothing here reads the environment. The caller looks up the variables, whose names and order are
//! those of curl.

mod no_proxy;

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::StatusCode;
use percent_encoding::percent_decode_str;

use crate::{
    AddressError, AddressPolicy, NetworkTarget, SecretText, UrlParts, format_base_url,
    http::{HttpError, HttpErrorKind, HttpStage},
    is_loopback_host, parse_url,
};

pub use no_proxy::NoProxyRule;

/// The variables with hosts that are reached without a proxy; the first that is set counts.
pub const NO_PROXY_VARIABLES: [&str; 2] = ["no_proxy", "NO_PROXY"];

const FORM: &str = "it looks like \"http://proxy.example:3128\"";

/// Which targets are reached through a proxy. By default none is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProxyRules {
    /// The proxy for `https` targets.
    pub https: Option<Arc<ProxyServer>>,
    /// The proxy for `http` targets.
    pub http: Option<Arc<ProxyServer>>,
    /// Targets that are reached without one.
    pub no_proxy: Vec<NoProxyRule>,
    /// Whether this machine, too, is reached through a proxy.
    pub proxy_loopback: bool,
}

impl ProxyRules {
    /// The proxy of a target; `None` if it is reached directly.
    pub(super) fn proxy_for(&self, target: &NetworkTarget) -> Option<&Arc<ProxyServer>> {
        let proxy = if target.tls { &self.https } else { &self.http }.as_ref()?;
        let is_direct = (!self.proxy_loopback && is_loopback_host(&target.host))
            || self.no_proxy.iter().any(|rule| rule.matches(&target.host, target.port));
        (!is_direct).then_some(proxy)
    }
}

/// The variable that sets the proxy for `https` or `http` targets, and its value. Names in lower
/// case come first, and `all_proxy` comes last. `HTTP_PROXY` is ignored in a CGI program, where a
/// client sets it with a `Proxy` header; such a program has `REQUEST_METHOD`.
pub fn proxy_variable(
    tls: bool,
    mut variable: impl FnMut(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let names = match tls {
        true => ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        false => ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
    };
    names.into_iter().find_map(|name| {
        let value = variable(name).filter(|value| !value.trim().is_empty())?;
        let from_client = name == "HTTP_PROXY" && variable("REQUEST_METHOD").is_some();
        (!from_client).then_some((name, value))
    })
}

/// A proxy for HTTP. Its `Debug` output leaves out user and password.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyServer {
    /// Where it is. Proxies are mostly in private networks.
    pub(super) target: NetworkTarget,
    /// The value of `proxy-authorization`.
    pub(super) authorization: Option<SecretText>,
}

impl ProxyServer {
    /// Parses the URL of a proxy. Without a scheme it is `http`.
    ///
    /// # Errors
    /// If it cannot be used: the reason, and what to do. Neither repeats the URL.
    pub fn parse(text: &str) -> Result<ProxyServer, AddressError> {
        let text = text.trim();
        if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("socks")) {
            return Err(("SOCKS proxies are not supported", "use an HTTP proxy"));
        }
        let with_scheme = if text.contains("://") { "" } else { "http://" };
        let UrlParts { tls, host, port, user_info, path_and_query } =
            parse_url(&format!("{with_scheme}{text}")).map_err(|(what, _)| (what, FORM))?;
        if path_and_query != "/" {
            return Err(("it has a path or a query", FORM));
        }
        let (prefix, addresses) = ("".into(), AddressPolicy::Private);
        let authorization = user_info.as_ref().map(basic_authorization);
        let target = NetworkTarget { tls, host, port, prefix, addresses, identity: None };
        Ok(ProxyServer { target, authorization })
    }

    /// Its URL without user and password.
    pub fn url(&self) -> String {
        format_base_url(&self.target, "")
    }

    /// Whether a user and a password are sent to it.
    pub fn has_credentials(&self) -> bool {
        self.authorization.is_some()
    }

    /// The error for a status other than success.
    pub(super) fn refusal(&self, status: StatusCode) -> HttpError {
        let (kind, what, help) = match status {
            StatusCode::PROXY_AUTHENTICATION_REQUIRED if self.has_credentials() => {
                let what = "does not accept the user or the password";
                (HttpErrorKind::Forbidden, what, "check them in the URL of the proxy")
            }
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                let help = "put them into the URL of the proxy: `http://USER:PASSWORD@HOST:PORT`";
                (HttpErrorKind::Forbidden, "requires a user and a password", help)
            }
            _ if status.is_server_error() => {
                let help = "check the address of the upstream, or name its host in `no_proxy`";
                (HttpErrorKind::Failed, "cannot reach the upstream", help)
            }
            _ => {
                let help = "allow the host at the proxy, or name it in `no_proxy`";
                (HttpErrorKind::Forbidden, "does not connect to the upstream", help)
            }
        };
        self.error(kind, &format!("{what} (status {})", status.as_u16()), help)
    }

    /// The error for a failure on the way to the proxy, or while it opens a tunnel. No byte of the
    /// request was sent then.
    pub(super) fn failure(&self, error: HttpError) -> HttpError {
        let what = match (error.stage, error.kind) {
            (HttpStage::Resolve, _) => "cannot be found: looking up its name failed",
            (HttpStage::Address, _) => "has an address that is not allowed",
            (HttpStage::Connect, HttpErrorKind::Timeout) => "does not accept a connection in time",
            (HttpStage::Connect, _) => "cannot be connected to",
            (HttpStage::Tls, HttpErrorKind::Timeout) => "does not encrypt the connection in time",
            (HttpStage::Tls, _) => "cannot be connected to: encrypting the connection failed",
            (_, HttpErrorKind::Timeout) => "does not open a tunnel in time",
            (_, HttpErrorKind::Closed) => "closed the connection instead of opening a tunnel",
            (_, _) => "does not answer as an HTTP proxy does",
        };
        let help = "check the URL of the proxy: `proxy` in `[network]`, else `HTTPS_PROXY`, \
                    `HTTP_PROXY` or `ALL_PROXY`";
        let kind = error.kind;
        match error.into_source() {
            Some(source) => self.error(kind, what, help).with_source(source),
            None => self.error(kind, what, help),
        }
    }

    fn error(&self, kind: HttpErrorKind, what: &str, help: &str) -> HttpError {
        HttpError::proxy(kind, format!("the proxy {} {what}; {help}", self.url()))
    }
}

impl fmt::Debug for ProxyServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ProxyServer").field(&self.url()).finish()
    }
}

/// The header for the user and the password of a URL.
fn basic_authorization(user_info: &SecretText) -> SecretText {
    let (user, password) = user_info.reveal().split_once(':').unwrap_or((user_info.reveal(), ""));
    let mut pair = zeroize::Zeroizing::new(Vec::new());
    pair.extend(percent_decode_str(user));
    pair.push(b':');
    pair.extend(percent_decode_str(password));
    SecretText::new(format!("Basic {}", STANDARD.encode(&*pair)))
}

#[cfg(test)]
mod tests;
