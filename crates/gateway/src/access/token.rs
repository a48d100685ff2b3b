//! Tokens: finds the principal of a request.

use std::sync::Arc;

use crate::{
    RequestCaller,
    config::{AccessConfig, AccessToken, TokenScope},
};
use foxwedge_upstream::{AuthScheme, ClientKey, SecretText};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::Principal;

/// The owner if no tokens are configured.
const LOCAL_OWNER: &str = "local";

/// Holds only our token.
const GATEWAY_TOKEN: HeaderName = HeaderName::from_static("x-foxwedge-token");
/// Where clients send keys of providers.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const GOOGLE_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// Longer keys are rejected without hashing.
const MAX_KEY_BYTES: usize = 512;

/// The keys that a request carries.
#[derive(Debug, Default)]
pub(super) struct RequestKeys {
    /// From the header that holds only our token.
    gateway_token: Option<SecretText>,
    /// From the headers in which clients send provider keys.
    provider_keys: Vec<ClientKey>,
}

impl RequestKeys {
    /// Removes the keys from the headers. The URL is never searched: URLs end up in logs.
    pub(super) fn take(headers: &mut HeaderMap) -> RequestKeys {
        let mut take = |name: HeaderName| {
            let value = headers.remove(name);
            value.as_ref().and_then(header_secret)
        };
        let gateway_token = take(GATEWAY_TOKEN);
        let bearer = take(header::AUTHORIZATION).and_then(|key| bearer_token(&key));
        let bearer = bearer.map(|secret| ClientKey { secret, scheme: AuthScheme::Bearer });
        let mut key = |name| take(name).map(|secret| ClientKey { secret, scheme: AuthScheme::Key });
        let theirs = [bearer, key(X_API_KEY), key(GOOGLE_API_KEY), key(API_KEY)];
        take(header::PROXY_AUTHORIZATION);
        take(header::COOKIE);
        RequestKeys { gateway_token, provider_keys: theirs.into_iter().flatten().collect() }
    }
}

/// The principal of these keys; `None` if none of them is valid.
pub(super) fn find_principal(access: &AccessConfig, keys: RequestKeys) -> Option<Principal> {
    let own = |keys: RequestKeys| keys.provider_keys.into_iter().next();
    if access.tokens.is_empty() {
        let owner = Arc::from(LOCAL_OWNER);
        let caller = RequestCaller { owner, client_key: own(keys), is_admin: true };
        return Some(Principal { caller, scope: TokenScope::Admin });
    }
    let (token, own) = match &keys.gateway_token {
        // Our token has its own header, so the other keys are for the provider.
        Some(key) => (find_token(&access.tokens, key)?, own(keys)),
        None => {
            let tried =
                keys.provider_keys.iter().find_map(|own| find_token(&access.tokens, &own.secret));
            (tried?, None)
        }
    };
    Some(Principal {
        caller: RequestCaller {
            owner: token.owner.clone(),
            client_key: own,
            is_admin: token.scope == TokenScope::Admin,
        },
        scope: token.scope,
    })
}

/// Compares with every token even after a match, so that timing reveals nothing.
fn find_token<'a>(tokens: &'a [AccessToken], key: &SecretText) -> Option<&'a AccessToken> {
    if key.reveal().len() > MAX_KEY_BYTES || key.is_empty() {
        return None;
    }
    tokens.iter().fold(None, |found, token| {
        let matches = !token.secret.is_empty() && token.secret.equals(key.reveal());
        if matches && found.is_none() { Some(token) } else { found }
    })
}

fn header_secret(value: &HeaderValue) -> Option<SecretText> {
    let text = value.to_str().ok()?.trim();
    (!text.is_empty()).then(|| SecretText::new(text))
}

fn bearer_token(value: &SecretText) -> Option<SecretText> {
    let (scheme, key) = value.reveal().split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !key.trim().is_empty())
        .then(|| SecretText::new(key.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sent<'a> = &'a [(&'static str, &'a str)];

    /// Owner, scope and the client's own key, or nothing.
    fn visit(tokens: &[(&str, &str, TokenScope)], headers: Sent<'_>) -> Option<String> {
        let tokens = tokens
            .iter()
            .map(|(owner, secret, scope)| AccessToken {
                owner: Arc::from(*owner),
                secret: SecretText::new(*secret),
                scope: *scope,
            })
            .collect();
        let access = AccessConfig { tokens, hosts: Vec::new(), origins: Vec::new() };
        let mut map: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), value.parse().expect("a header"))
            })
            .collect();
        let visitor = find_principal(&access, RequestKeys::take(&mut map))?;
        assert!(map.keys().all(|name| name == "x-other"), "a key is left in {map:?}");
        let own = visitor.caller.client_key.map(|own| own.secret.reveal().to_owned());
        Some(format!(
            "{} {:?} {}",
            visitor.caller.owner,
            visitor.scope,
            own.as_deref().unwrap_or("-")
        ))
    }

    #[test]
    fn a_token_is_taken_from_every_header_that_clients_use() {
        let tokens = [("ann", "t-ann", TokenScope::User), ("bob", "t-bob", TokenScope::Admin)];
        let long = "t".repeat(10_000);
        let table: [(Sent<'_>, Option<&str>); 18] = [
            (&[("authorization", "Bearer t-ann")], Some("ann User -")),
            (&[("authorization", "bearer  t-bob ")], Some("bob Admin -")),
            (&[("x-api-key", "t-ann")], Some("ann User -")),
            (&[("x-goog-api-key", "t-ann")], Some("ann User -")),
            (&[("x-foxwedge-token", "t-ann")], Some("ann User -")),
            (&[("x-api-key", "sk-mine"), ("authorization", "Bearer t-ann")], Some("ann User -")),
            (
                &[("x-foxwedge-token", "t-ann"), ("authorization", "Bearer sk-mine")],
                Some("ann User sk-mine"),
            ),
            (&[("x-foxwedge-token", "t-bob"), ("x-api-key", "sk-mine")], Some("bob Admin sk-mine")),
            // A wrong token is wrong, whatever else is there.
            (&[("x-foxwedge-token", "t-eve"), ("x-api-key", "t-ann")], None),
            (&[], None),
            (&[("authorization", "t-ann")], None),
            (&[("authorization", "Basic t-ann")], None),
            (&[("authorization", "Bearer")], None),
            (&[("authorization", "Bearer t-ann2")], None),
            (&[("authorization", "Bearer t-an")], None),
            (&[("x-api-key", "")], None),
            (&[("x-api-key", long.as_str())], None),
            // A client's claims about itself do not count.
            (&[("x-other", "admin"), ("x-api-key", "t-ann")], Some("ann User -")),
        ];
        for (headers, expected) in table {
            assert_eq!(visit(&tokens, headers).as_deref(), expected, "{headers:?}");
        }
    }

    #[test]
    fn without_tokens_every_caller_is_local_and_keys_belong_to_providers() {
        assert_eq!(visit(&[], &[]).as_deref(), Some("local Admin -"));
        assert_eq!(
            visit(&[], &[("authorization", "Bearer sk-mine")]).as_deref(),
            Some("local Admin sk-mine")
        );
    }

    #[test]
    fn an_empty_token_opens_nothing() {
        assert_eq!(visit(&[("ann", "", TokenScope::Admin)], &[("x-api-key", " ")]), None);
        assert_eq!(visit(&[("ann", "", TokenScope::Admin)], &[]), None);
    }
}
