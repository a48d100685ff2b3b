//! `[network]`: proxies and certificates, from variables and from the file.

use std::env;

use super::*;

const CERTIFICATE: &str = include_str!("../../../../upstream/src/http/tests/tls/certificate.pem");

/// The proxies for `https` and `http`, without user and password.
fn proxies(here: &Here) -> [Option<String>; 2] {
    let rules = here.loaded().config.network.proxies;
    [rules.https, rules.http].map(|proxy| proxy.map(|proxy| proxy.url()))
}

#[test]
fn variables_set_proxies_and_the_file_overrides_them() {
    let both = |url: &str| [Some(url.to_owned()), Some(url.to_owned())];
    let https = |url: &str| [Some(url.to_owned()), None];
    assert_eq!(proxies(&Here::new()), [None, None]);
    let here = Here::new().with("HTTPS_PROXY", "http://a:1");
    assert_eq!(proxies(&here), https("http://a:1"));
    assert_eq!(setting(&here.loaded(), "[network]", "proxy"), "\"http://a:1\" # HTTPS_PROXY");
    let here = here.with("https_proxy", "b:2").with("ALL_PROXY", "c:3");
    assert_eq!(proxies(&here), [Some("http://b:2".to_owned()), Some("http://c:3".to_owned())]);
    let here = here.saying("[network]\nproxy = \"http://d:4\"");
    assert_eq!(proxies(&here), both("http://d:4"));
    assert_eq!(setting(&here.loaded(), "[network]", "proxy"), "\"http://d:4\" # foxwedge.toml:2");
    let here = here.saying("[network]\nproxy = \"none\"");
    assert_eq!(proxies(&here), [None, None]);
    let here = here.saying("[network]\nproxy = \"env:OWN\"").with("OWN", "https://me:pw@e:5");
    assert_eq!(proxies(&here), both("https://e:5"));
    let shown = setting(&here.loaded(), "[network]", "proxy");
    assert_eq!(shown, "\"https://[secret]@e:5\" # foxwedge.toml:2");
}

#[test]
fn hosts_without_a_proxy_come_from_a_variable_or_the_file() {
    let count = |here: &Here| here.loaded().config.network.proxies.no_proxy.len();
    let here = Here::new().with("NO_PROXY", "a,b,10.0.0.0/8,<local>");
    assert_eq!(count(&here), 3);
    assert_eq!(count(&here.with("no_proxy", "a")), 1);
    let here = Here::new().with("NO_PROXY", "a,b").saying("[network]\nno_proxy = []");
    assert_eq!(count(&here), 0);
    let here = Here::new().saying("[network]\nno_proxy = [\"a\", \"*.b:80\"]");
    assert_eq!(count(&here), 2);
    let here = Here::new().saying("[network]\nno_proxy = \"a, b\"\nproxy_loopback = true");
    assert_eq!(count(&here), 2);
    assert!(here.loaded().config.network.proxies.proxy_loopback);
}

#[test]
fn certificates_come_from_a_variable_and_the_file() {
    let here = Here::new()
        .with("SSL_CERT_FILE", "/system.pem")
        .holding("/system.pem", CERTIFICATE)
        .holding("/home/fox/.config/foxwedge/own.pem", CERTIFICATE)
        .saying("[network]\nca_file = \"own.pem\"");
    let roots = |here: &Here| format!("{:?}", here.loaded().config.network.roots);
    assert_eq!(roots(&here), "TrustedRoots { system: Some(1), folders: [], added: 1, .. }");
    assert_eq!(setting(&here.loaded(), "[network]", "ca_file"), "\"own.pem\" # foxwedge.toml:2");
    // A variable with folders counts beside one with a file, and alone.
    let folders = env::join_paths(["/certs", "/more"]).expect("folders");
    let folders = folders.to_str().expect("text");
    let shown = "folders: [\"/certs\", \"/more\"]";
    let here = here.with("SSL_CERT_DIR", folders);
    assert_eq!(roots(&here), format!("TrustedRoots {{ system: Some(1), {shown}, added: 1, .. }}"));
    let here = Here::new().with("SSL_CERT_DIR", folders);
    assert_eq!(roots(&here), format!("TrustedRoots {{ system: Some(0), {shown}, added: 0, .. }}"));
}

#[test]
fn issues_of_the_network_name_the_setting_and_not_the_secret() {
    let none = "`proxy = \"none\"` in `[network]` uses none";
    let form = "it looks like \"http://proxy.example:3128\"";
    let pem = "expected a PEM file with the certificates of authorities";
    let here = Here::new()
        .with("HTTPS_PROXY", "http://me:canary-7f3a@proxy:0")
        .with("http_proxy", "socks5://me:canary-7f3a@proxy:1")
        .with("SSL_CERT_FILE", "/none.pem");
    let expected = [
        format!("HTTPS_PROXY: the URL of the proxy: its port is not valid | {form}; {none}"),
        format!("SSL_CERT_FILE: `/none.pem` cannot be read: entity not found | {pem}"),
        format!(
            "http_proxy: the URL of the proxy: SOCKS proxies are not supported | use an HTTP proxy; {none}"
        ),
    ];
    assert_eq!(here.complaints(), expected);
    let text = "[network]\nproxy = \"ftp://me:canary-7f3a@proxy\"\nno_proxy = [\"10.0.0.0/99\"]\nca_file = \"/empty.pem\"";
    let here = Here::new().saying(text).holding("/empty.pem", "");
    let expected = [
        format!("foxwedge.toml:2: `network.proxy`: the URL of the proxy: it starts with neither `https://` nor `http://` | {form}; {none}"),
        "foxwedge.toml:3: `network.no_proxy`: \"10.0.0.0/99\" is not a host | expected a name, an address, a network such as \"10.0.0.0/8\", or \"*\"; each with an optional port".to_owned(),
        format!("foxwedge.toml:4: `network.ca_file`: `/empty.pem`: it contains no certificate | {pem}"),
    ];
    assert_eq!(here.complaints(), expected);
    let here = Here::new().saying("[network]\nproxy = \"env:NOT_SET\"");
    assert_eq!(
        here.complaints(),
        ["foxwedge.toml:2: `network.proxy`: the variable NOT_SET is not set | `export NOT_SET=…`"]
    );
}

#[test]
fn the_password_of_a_proxy_is_a_secret() {
    let here = Here::new()
        .saying("[network]\nproxy = \"http://operator-41:canary-7f3a@proxy:1\"")
        .exposed(FILE, FileExposure::Readable);
    let shown = format!("{:?} {:?}", here.loaded(), here.complaints());
    assert!(!shown.contains("canary-7f3a") && !shown.contains("operator-41"), "{shown}");
    let warning =
        "warning: foxwedge.toml:2: other users can read the file, and it contains a secret";
    assert!(here.complaints()[0].starts_with(warning), "{:?}", here.complaints());
}

#[test]
fn the_network_is_read_without_the_rest_of_the_file() {
    let here = Here::new().saying("listen = \"nowhere\"\n[network]\nproxy = \"a:1\"");
    assert!(here.read().is_err());
    let network = read_network(&here.flags, &here).expect("a network");
    assert_eq!(network.proxies.https.map(|proxy| proxy.url()).as_deref(), Some("http://a:1"));
    let here = here.saying("[network]\nproxy = \"a:0\"");
    assert!(read_network(&here.flags, &here).is_err());
}
