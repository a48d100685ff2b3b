//! The console page and its files, embedded in the binary. They are public and load nothing from
//! other origins.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::{HttpReply, response_body::ResponseBody};

/// A file of the page.
struct ConsoleAsset {
    /// Path in the build folder.
    name: &'static str,
    content: &'static [u8],
    /// Whether the content is packed, because that is smaller.
    is_gzip: bool,
    /// Content hash for the `ETag`.
    tag: &'static str,
}

impl ConsoleAsset {
    /// The content, unpacked.
    fn plain(&self) -> Bytes {
        if !self.is_gzip {
            return Bytes::from_static(self.content);
        }
        let mut plain = Vec::new();
        // It was packed when the program was built, so this does not fail.
        let _ = GzDecoder::new(self.content).read_to_end(&mut plain);
        Bytes::from(plain)
    }
}

/// Sorted by name.
static FILES: &[ConsoleAsset] = include!(concat!(env!("OUT_DIR"), "/console.rs"));

const PAGE: &str = "index.html";

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Whether a path is the page or one of its files.
pub(crate) fn has_asset(path: &str) -> bool {
    let name = asset_name(path);
    name == Some(PAGE) || name.is_some_and(|name| find_asset(FILES, name).is_some())
}

/// The page or one of its files; `None` if it is not embedded.
pub(crate) fn asset_reply(path: &str, headers: &HeaderMap) -> Option<HttpReply> {
    Some(build_reply(find_asset(FILES, asset_name(path)?)?, headers))
}

/// The page is served at the root and below `/ui`; its files are next to it.
fn asset_name(path: &str) -> Option<&str> {
    match path {
        "/" | "/ui" | "/ui/" => Some(PAGE),
        path => path.strip_prefix("/ui/").or_else(|| path.strip_prefix('/')),
    }
}

fn find_asset<'f>(files: &'f [ConsoleAsset], name: &str) -> Option<&'f ConsoleAsset> {
    files.binary_search_by(|file| file.name.cmp(name)).ok().and_then(|at| files.get(at))
}

fn build_reply(file: &ConsoleAsset, headers: &HeaderMap) -> HttpReply {
    let compressed = file.is_gzip && takes_gzip(headers);
    let tag = format!("\"{}{}\"", file.tag, if compressed { "-gz" } else { "" });
    let not_modified = is_known(headers, &tag);
    let content = match compressed {
        _ if not_modified => Bytes::new(),
        true => Bytes::from_static(file.content),
        false => file.plain(),
    };
    let mut reply = Response::new(ResponseBody::full(content));
    if not_modified {
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let out = reply.headers_mut();
    let mut put = |name, value| {
        out.insert(name, HeaderValue::from_static(value));
    };
    put(header::CONTENT_TYPE, content_type(file.name));
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_FRAME_OPTIONS, "DENY");
    put(header::REFERRER_POLICY, "no-referrer");
    put(header::CACHE_CONTROL, cache_control(file.name));
    put(header::VARY, "accept-encoding");
    if compressed {
        put(header::CONTENT_ENCODING, "gzip");
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        out.insert(header::ETAG, tag);
    }
    reply
}

/// Whether the client already has this content.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let tags = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let mut tags = tags.unwrap_or_default().split(',').map(str::trim);
    tags.any(|one| one.strip_prefix("W/").unwrap_or(one) == tag)
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let mut encodings = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    encodings.any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        name.trim().eq_ignore_ascii_case("gzip") && weight.parse().unwrap_or(0.0) > 0.0
    })
}

/// A file with a hash in its name never changes.
fn cache_control(name: &str) -> &'static str {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let hash =
        stem.rsplit_once('.').and_then(|(stem, _)| stem.rsplit_once('-')).map(|(_, hash)| hash);
    let hashed = hash.is_some_and(|hash| {
        hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    if hashed { "public, max-age=31536000, immutable" } else { "no-cache" }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "webmanifest" => "application/json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: ConsoleAsset =
        ConsoleAsset { name: "assets/app.js", content: b"packed", is_gzip: true, tag: "1-2" };

    fn asked(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        headers.iter().map(pair).collect()
    }

    #[test]
    fn files_are_packed_for_those_who_take_it() {
        for (accept, expected) in [
            ("gzip, deflate, br", "gzip"),
            ("br;q=1.0, GZIP;q=0.8", "gzip"),
            ("gzip;q=0", ""),
            ("gzip;q=x", ""),
            ("br", ""),
            ("", ""),
        ] {
            let reply = build_reply(&SCRIPT, &asked(&[("accept-encoding", accept)]));
            let found = reply.headers().get(header::CONTENT_ENCODING);
            assert_eq!(found.map_or("", |it| it.to_str().unwrap_or("?")), expected, "{accept}");
            assert_eq!(reply.headers()[header::VARY], "accept-encoding");
        }
    }

    #[test]
    fn a_packed_file_is_unpacked_to_what_it_was() {
        for file in FILES.iter().filter(|file| file.is_gzip) {
            let plain = file.plain();
            assert!(plain.len() > file.content.len(), "{} is smaller packed", file.name);
            assert!(
                std::str::from_utf8(&plain).is_ok_and(|text| !text.is_empty()),
                "{}",
                file.name
            );
        }
        assert!(FILES.is_empty() || FILES.iter().any(|file| file.is_gzip), "none is packed");
    }

    #[test]
    fn what_a_client_has_is_not_sent_again() {
        for (tags, packed, status) in [
            ("\"1-2\"", "", 304),
            ("W/\"1-2\"", "", 304),
            ("\"x\", \"1-2-gz\"", "gzip", 304),
            // The other form of the same file is another thing to keep.
            ("\"1-2\"", "gzip", 200),
            ("\"1-3\"", "", 200),
            ("*", "", 200),
        ] {
            let headers = asked(&[("if-none-match", tags), ("accept-encoding", packed)]);
            let reply = build_reply(&SCRIPT, &headers);
            assert_eq!(reply.status().as_u16(), status, "{tags} {packed}");
            assert_eq!(reply.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
        }
    }

    #[test]
    fn only_names_with_a_hash_are_kept_for_long() {
        for (name, long) in [
            ("assets/app-B3kd92Xa.js", true),
            ("assets/app.js", false),
            ("assets/my-page.js", false),
            ("index.html", false),
            ("icon-12345678", false),
        ] {
            assert_eq!(cache_control(name).contains("immutable"), long, "{name}");
        }
    }

    #[test]
    fn only_the_page_and_its_files_are_there() {
        for path in ["/", "/ui", "/ui/"] {
            assert!(has_asset(path), "{path}");
        }
        for path in ["/ui/x", "/etc/passwd", "/ui/../index.html", "//index.html", "ui", ""] {
            assert!(!has_asset(path), "{path}");
        }
        assert!(FILES.windows(2).all(|pair| pair[0].name < pair[1].name), "they are in order");
        let inline = |file: &ConsoleAsset| {
            let text = String::from_utf8_lossy(&file.plain()).to_lowercase();
            file.name.ends_with(".html") && (text.contains("<style") || text.contains("<script>"))
        };
        assert!(!FILES.iter().any(inline), "the policy allows nothing that stands in the page");
    }
}
