//! Signs requests to Amazon's services (Signature Version 4).

use std::time::SystemTime;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use jiff::Timestamp;
use ring::{digest, hmac};

use crate::SecretText;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const DATE_HEADER: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-amz-security-token");

/// The name of Bedrock in signatures.
pub(crate) const BEDROCK_SERVICE: &str = "bedrock";

/// Credentials that requests are signed with.
#[derive(Clone, Debug)]
pub struct AwsCredentials {
    /// The id of the access key.
    pub access_key_id: Box<str>,
    /// The secret access key.
    pub secret_access_key: SecretText,
    /// The token of temporary credentials.
    pub session_token: Option<SecretText>,
    /// The region of the service.
    pub region: Box<str>,
}

/// A request that is signed. Its path has no query.
#[derive(Clone, Copy)]
pub(crate) struct SignedParts<'a> {
    pub(crate) service: &'a str,
    pub(crate) method: &'a str,
    /// The `host` header.
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
}

impl AwsCredentials {
    /// Adds the headers of the signature. It covers the host, the content type and our own headers;
    /// what a proxy on the way may change is left out.
    pub(crate) fn sign(&self, parts: SignedParts<'_>, headers: &mut HeaderMap, now: SystemTime) {
        let now = Timestamp::try_from(now).unwrap_or_default();
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let date = time.split('T').next().unwrap_or_default();
        let mut add = |name: HeaderName, value: &str| {
            if let Ok(mut value) = HeaderValue::from_str(value) {
                value.set_sensitive(name != DATE_HEADER);
                headers.insert(name, value);
            }
        };
        add(DATE_HEADER, &time);
        if let Some(token) = &self.session_token {
            add(TOKEN_HEADER, token.reveal());
        }
        let mut signed = vec![("host", parts.host)];
        for name in [header::CONTENT_TYPE, DATE_HEADER, TOKEN_HEADER] {
            let value = headers.get(&name).and_then(|value| value.to_str().ok());
            signed.extend(value.map(|value| (static_name(&name), value.trim())));
        }
        signed.sort_unstable();
        let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let lines: String =
            signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let SignedParts { service, method, path, body, .. } = parts;
        let (path, hash) = (canonical_path(path), hex(digest::digest(&digest::SHA256, body)));
        let canonical = format!("{method}\n{path}\n\n{lines}\n{names}\n{hash}");
        let scope = format!("{date}/{}/{service}/aws4_request", self.region);
        let canonical_hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()));
        let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{canonical_hash}");
        let signature = hex(self.signature(date, service, &to_sign));
        let authorization = format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.access_key_id
        );
        if let Ok(mut value) = HeaderValue::from_str(&authorization) {
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
    }

    fn signature(&self, date: &str, service: &str, to_sign: &str) -> hmac::Tag {
        let sign = |key: &[u8], text: &str| {
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
        };
        let secret = SecretText::new(format!("AWS4{}", self.secret_access_key.reveal()));
        let mut key = sign(secret.reveal().as_bytes(), date);
        for text in [&*self.region, service, "aws4_request"] {
            key = sign(key.as_ref(), text);
        }
        sign(key.as_ref(), to_sign)
    }
}

fn static_name(name: &HeaderName) -> &'static str {
    match name.as_str() {
        "content-type" => "content-type",
        "x-amz-date" => "x-amz-date",
        _ => "x-amz-security-token",
    }
}

/// The path as it is signed: what is escaped in the request is escaped once more.
fn canonical_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len() + 8);
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(byte.into());
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A request of the published test suite for signatures, or one that botocore signed.
    fn signed(service: &str, method: &str, host: &str, path: &str, body: &str) -> String {
        signed_with(None, &[], SignedParts { service, method, host, path, body: body.as_bytes() })
    }

    fn signed_with(
        token: Option<&str>,
        headers: &[(HeaderName, &'static str)],
        parts: SignedParts<'_>,
    ) -> String {
        let credentials = AwsCredentials {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: SecretText::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: token.map(SecretText::new),
            region: "us-east-1".into(),
        };
        let pairs =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        let mut headers: HeaderMap = pairs.collect();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        credentials.sign(parts, &mut headers, now);
        assert_eq!(headers[DATE_HEADER], "20150830T123600Z");
        headers[header::AUTHORIZATION].to_str().expect("text").to_owned()
    }

    #[test]
    fn signatures_equal_those_of_the_published_test_suite() {
        let host = "example.amazonaws.com";
        let get = signed("service", "GET", host, "/", "");
        let expected = "AWS4-HMAC-SHA256 \
            Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
            SignedHeaders=host;x-amz-date, \
            Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        assert_eq!(get, expected);
        let post = signed("service", "POST", host, "/", "");
        let expected = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";
        assert!(post.ends_with(expected), "{post}");
        let form = [(header::CONTENT_TYPE, "application/x-www-form-urlencoded")];
        let body = b"Param1=value1";
        let parts = SignedParts { service: "service", method: "POST", host, path: "/", body };
        let form = signed_with(None, &form, parts);
        let expected = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a";
        assert!(form.ends_with(expected), "{form}");
    }

    #[test]
    fn requests_to_bedrock_are_signed_as_botocore_signs_them() {
        let json = [(header::CONTENT_TYPE, "application/json")];
        let parts = |path| SignedParts {
            service: BEDROCK_SERVICE,
            method: "POST",
            host: "bedrock-runtime.us-east-1.amazonaws.com",
            path,
            body: b"{\"messages\":[]}",
        };
        let model = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0";
        let (converse, converse_stream) =
            (format!("{model}/converse"), format!("{model}/converse-stream"));
        let whole = signed_with(None, &json, parts(&converse));
        let expected = "AWS4-HMAC-SHA256 \
            Credential=AKIDEXAMPLE/20150830/us-east-1/bedrock/aws4_request, \
            SignedHeaders=content-type;host;x-amz-date, \
            Signature=7415b2c1e839b363c983fcf2b2b9777726647dd92df0cc0ce218cffeeb8932c8";
        assert_eq!(whole, expected);
        let token = Some("AQoDYXdzEPT//////////wEXAMPLE");
        let stream = signed_with(token, &json, parts(&converse_stream));
        let expected = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, \
            Signature=8bbf7187d9c2bbec652a7b9ff1c3f269dee88ca258b88025d70a1dc52abc202d";
        assert!(stream.ends_with(expected), "{stream}");
    }
}
