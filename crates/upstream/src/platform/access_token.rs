//! Access tokens: credentials are exchanged for one at a token service, and again before it expires.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{rand::SystemRandom, signature};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject as _};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};

use crate::{
    AddressPolicy, BaseUrlStyle, NetworkTarget, SecretText,
    http::{HttpClient, HttpError, HttpErrorKind, HttpRequest},
    parse_base_url,
};

/// What Google's tokens are for.
const GOOGLE_SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const GOOGLE_TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// How long before its end a token is replaced.
const EARLY: Duration = Duration::from_secs(120);
/// How long a signed request for a token is valid.
const ASSERTION_SECONDS: u64 = 3_600;
/// Maximum size of a reply of a token service.
const MAX_TOKEN_REPLY: usize = 64 << 10;

/// Gets access tokens. A token is fetched by one request at a time; the others wait for it.
pub struct AccessTokenSource {
    target: NetworkTarget,
    grant: TokenGrant,
    current: Mutex<Option<CurrentToken>>,
}

/// How a token is requested.
enum TokenGrant {
    /// With a form that stays the same.
    Form(SecretText),
    /// With an assertion that a service account signs.
    ServiceAccount(Box<ServiceAccount>),
}

struct ServiceAccount {
    email: String,
    key_id: String,
    key: signature::RsaKeyPair,
    audience: String,
}

#[derive(Clone)]
struct CurrentToken {
    secret: Arc<SecretText>,
    /// From when on another one is fetched.
    replace_at: Instant,
}

/// Why credentials cannot be used, and what to do.
pub type CredentialsError = (&'static str, &'static str);

/// A file with Google's credentials.
#[derive(Deserialize)]
struct GoogleCredentials {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    client_email: String,
    #[serde(default)]
    private_key_id: String,
    #[serde(default)]
    private_key: String,
    token_uri: Option<String>,
    #[serde(default)]
    client_id: String,
    #[serde(default)]
    client_secret: String,
    #[serde(default)]
    refresh_token: String,
}

#[derive(Deserialize)]
struct TokenReply {
    access_token: Option<String>,
    expires_in: Option<u64>,
    error: Option<String>,
}

impl AccessTokenSource {
    /// Tokens for the credentials in a JSON file of Google: the key of a service account, or what
    /// `gcloud auth application-default login` writes.
    ///
    /// # Errors
    /// If the file holds other credentials, or a key that cannot be read.
    pub fn google(json: &str) -> Result<AccessTokenSource, CredentialsError> {
        let credentials: GoogleCredentials = serde_json::from_str(json)
            .map_err(|_| ("it is not a JSON file with credentials", GOOGLE_HELP))?;
        let url = credentials.token_uri.as_deref().unwrap_or(GOOGLE_TOKEN_URL);
        let grant = match &*credentials.kind {
            "service_account" => {
                TokenGrant::ServiceAccount(Box::new(ServiceAccount::of(&credentials, url)?))
            }
            "authorized_user" => TokenGrant::Form(form(&[
                ("grant_type", "refresh_token"),
                ("client_id", &credentials.client_id),
                ("client_secret", &credentials.client_secret),
                ("refresh_token", &credentials.refresh_token),
            ])),
            _ => return Err(("it holds credentials of another type", GOOGLE_HELP)),
        };
        AccessTokenSource::at(url, grant)
    }

    /// Tokens of Entra for an application with a secret.
    ///
    /// # Errors
    /// If the tenant cannot stand in an address.
    pub fn entra(
        authority: &EntraAuthority,
        tenant: &str,
        client_id: &str,
        client_secret: &SecretText,
    ) -> Result<AccessTokenSource, CredentialsError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        if tenant.is_empty() || !tenant.bytes().all(is_plain) {
            return Err(("it is neither the id nor the domain of a tenant", ""));
        }
        let grant = TokenGrant::Form(form(&[
            ("grant_type", "client_credentials"),
            ("client_id", client_id),
            ("client_secret", client_secret.reveal()),
            ("scope", authority.scope),
        ]));
        let EntraAuthority { url, .. } = authority;
        AccessTokenSource::at(&format!("{url}/{tenant}/oauth2/v2.0/token"), grant)
    }

    fn at(url: &str, grant: TokenGrant) -> Result<AccessTokenSource, CredentialsError> {
        Ok(AccessTokenSource { target: service_target(url)?, grant, current: Mutex::default() })
    }

    /// A valid token.
    ///
    /// # Errors
    /// If the token service cannot be reached, or refuses the credentials.
    pub(crate) async fn token(&self, client: &HttpClient) -> Result<Arc<SecretText>, HttpError> {
        // Held while a token is fetched, so that concurrent requests fetch only one.
        let mut current = self.current.lock().await;
        if let Some(token) = current.as_ref().filter(|token| Instant::now() < token.replace_at) {
            return Ok(token.secret.clone());
        }
        let fetched = self.fetch(client).await?;
        let secret = fetched.secret.clone();
        *current = Some(fetched);
        Ok(secret)
    }

    /// Forgets a token that the upstream refused, unless it was replaced already.
    pub(crate) async fn forget(&self, refused: &Arc<SecretText>) {
        let mut current = self.current.lock().await;
        if current.as_ref().is_some_and(|token| Arc::ptr_eq(&token.secret, refused)) {
            *current = None;
        }
    }

    async fn fetch(&self, client: &HttpClient) -> Result<CurrentToken, HttpError> {
        let form = match &self.grant {
            TokenGrant::Form(form) => Bytes::copy_from_slice(form.reveal().as_bytes()),
            TokenGrant::ServiceAccount(account) => account.form(SystemTime::now())?.into(),
        };
        let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, content_type),
            (header::ACCEPT, HeaderValue::from_static("application/json")),
        ]);
        let path = &*self.target.prefix;
        let request = HttpRequest { method: Method::POST, path, headers: &headers, body: form };
        let reply = client.send(&self.target, request).await.map_err(HttpError::token_service)?;
        let status = reply.status;
        let body = reply.body.read_all(MAX_TOKEN_REPLY).await;
        let body = body.map_err(HttpError::token_service)?;
        let reply = serde_json::from_slice::<TokenReply>(&body).ok();
        let token = reply.as_ref().and_then(|reply| reply.access_token.as_deref());
        match token.filter(|_| status.is_success()) {
            Some(token) => {
                let seconds = reply.as_ref().and_then(|reply| reply.expires_in).unwrap_or(3_600);
                let lifetime = Duration::from_secs(seconds.min(86_400));
                // A token that lives for less than that is used once.
                let replace_at = Instant::now() + lifetime.saturating_sub(EARLY);
                Ok(CurrentToken { secret: Arc::new(SecretText::new(token)), replace_at })
            }
            None => {
                // Names such as `invalid_grant`; descriptions may hold more than a client may see.
                let name = reply.and_then(|reply| reply.error).unwrap_or_default();
                let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                let name = if name.bytes().all(is_name) && name.len() < 64 { &*name } else { "" };
                let is_temporary = status.is_server_error() || status.as_u16() == 429;
                let kind = if is_temporary || status.is_success() {
                    HttpErrorKind::Failed
                } else {
                    HttpErrorKind::Forbidden
                };
                let detail = format!("the token service replied {} {name}", status.as_u16());
                Err(HttpError::no_token(kind, detail.trim_end().to_owned()))
            }
        }
    }
}

/// The address of a token service.
fn service_target(url: &str) -> Result<NetworkTarget, CredentialsError> {
    let base = parse_base_url(url, BaseUrlStyle::Plain, AddressPolicy::Public)?;
    if base.is_unencrypted {
        return Err(("the address of its token service is not encrypted", "use `https://`"));
    }
    Ok(base.target)
}

/// The Entra of one of Azure's clouds: its address, and what its tokens are for.
#[derive(Debug)]
pub struct EntraAuthority {
    url: String,
    scope: &'static str,
}

impl EntraAuthority {
    /// The authority at an address, as Azure's own programs take it: with `https://` or without.
    ///
    /// # Errors
    /// If it is no address, or one without encryption.
    pub fn at(address: &str) -> Result<EntraAuthority, CredentialsError> {
        let scheme = if address.contains("://") { "" } else { "https://" };
        let url = format!("{scheme}{}", address.trim_end_matches('/'));
        let target = service_target(&url)?;
        let scope = match target.host.rsplit('.').next() {
            Some("us") => "https://cognitiveservices.azure.us/.default",
            Some("cn") => "https://cognitiveservices.azure.cn/.default",
            _ => EntraAuthority::default().scope,
        };
        Ok(EntraAuthority { url, scope })
    }
}

impl Default for EntraAuthority {
    fn default() -> EntraAuthority {
        let url = "https://login.microsoftonline.com".to_owned();
        EntraAuthority { url, scope: "https://cognitiveservices.azure.com/.default" }
    }
}

const GOOGLE_HELP: &str = "expected the key file of a service account, or the file that \
                           `gcloud auth application-default login` writes";

impl ServiceAccount {
    fn of(
        credentials: &GoogleCredentials,
        audience: &str,
    ) -> Result<ServiceAccount, CredentialsError> {
        let unusable = || ("its `private_key` cannot be read", GOOGLE_HELP);
        let key = PrivatePkcs8KeyDer::from_pem_slice(credentials.private_key.as_bytes())
            .map_err(|_| unusable())?;
        let key = signature::RsaKeyPair::from_pkcs8(key.secret_pkcs8_der());
        Ok(ServiceAccount {
            email: credentials.client_email.clone(),
            key_id: credentials.private_key_id.clone(),
            key: key.map_err(|_| unusable())?,
            audience: audience.to_owned(),
        })
    }

    /// The form with a signed assertion.
    fn form(&self, now: SystemTime) -> Result<String, HttpError> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let head = serde_json::json!({"alg": "RS256", "typ": "JWT", "kid": self.key_id});
        let claims = serde_json::json!({
            "iss": self.email, "scope": GOOGLE_SCOPE, "aud": self.audience,
            "iat": now, "exp": now + ASSERTION_SECONDS,
        });
        let encode = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let assertion = format!("{}.{}", encode(head), encode(claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(
                &signature::RSA_PKCS1_SHA256,
                &SystemRandom::new(),
                assertion.as_bytes(),
                &mut signature,
            )
            .map_err(|_| {
                let detail = "the service account's key cannot sign".to_owned();
                HttpError::no_token(HttpErrorKind::Forbidden, detail)
            })?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";
        Ok(format!("grant_type={grant}&assertion={assertion}.{signature}"))
    }
}

fn form(fields: &[(&str, &str)]) -> SecretText {
    let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    SecretText::new(fields.join("&"))
}

impl fmt::Debug for AccessTokenSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessTokenSource").finish_non_exhaustive()
    }
}
