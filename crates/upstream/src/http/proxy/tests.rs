use super::*;

fn server(text: &str) -> ProxyServer {
    ProxyServer::parse(text).expect(text)
}

fn target(url: &str) -> NetworkTarget {
    let UrlParts { tls, host, port, .. } = parse_url(url).expect(url);
    let (prefix, addresses) = ("".into(), AddressPolicy::Private);
    NetworkTarget { tls, host, port, prefix, addresses, identity: None }
}

#[test]
fn the_url_of_a_proxy_is_parsed_with_user_and_password() {
    let table = [
        ("http://proxy.example:3128", "http://proxy.example:3128", None),
        ("proxy.example:3128", "http://proxy.example:3128", None),
        (" proxy.example ", "http://proxy.example", None),
        ("https://Proxy.Example/", "https://proxy.example", None),
        ("http://[::1]:8080", "http://[::1]:8080", None),
        ("http://me:pass@p:1", "http://p:1", Some("me:pass")),
        ("me:pass@p:1", "http://p:1", Some("me:pass")),
        ("http://me@p:1", "http://p:1", Some("me:")),
        ("http://me%40corp:a%3Ab%2F@p:1", "http://p:1", Some("me@corp:a:b/")),
        ("http://me:a:b@p:1", "http://p:1", Some("me:a:b")),
    ];
    for (text, url, pair) in table {
        let proxy = server(text);
        assert_eq!(proxy.url(), url, "{text}");
        let expected = pair.map(|pair| format!("Basic {}", STANDARD.encode(pair)));
        assert_eq!(proxy.authorization.as_ref().map(SecretText::reveal), expected.as_deref());
        assert!(!format!("{proxy:?}").contains("me"), "{proxy:?}");
    }
}

#[test]
fn a_malformed_url_of_a_proxy_is_refused_without_repeating_it() {
    let table = [
        ("", "it is not a valid URL"),
        ("http://", "it is not a valid URL"),
        ("http://canary b:1", "it is not a valid URL"),
        ("http://canary:canary@", "it is not a valid URL"),
        ("http://me:canary#x@p:1", "it has a fragment (`#…`)"),
        ("http://me:canary@p:0", "its port is not valid"),
        ("me:canary@p:99999", "its port is not valid"),
        ("ftp://canary@p", "it starts with neither `https://` nor `http://`"),
        ("http://canary@*.p:1", "its host is neither a name nor an address"),
        ("http://canary@p:1/path", "it has a path or a query"),
        ("http://canary@p:1?q", "it has a path or a query"),
        ("socks5://canary@p:1", "SOCKS proxies are not supported"),
        ("SOCKS5H://canary@p:1", "SOCKS proxies are not supported"),
    ];
    for (text, expected) in table {
        let (what, help) = ProxyServer::parse(text).expect_err(text);
        assert_eq!(what, expected, "{text}");
        assert!(!what.contains("canary") && !help.contains("canary"), "{what} {help}");
    }
}

#[test]
fn variables_are_chosen_by_scheme_in_the_order_of_curl() {
    let table: [(&[(&str, &str)], _, _); 9] = [
        (&[], None, None),
        (&[("HTTPS_PROXY", "a")], Some("HTTPS_PROXY"), None),
        (&[("HTTP_PROXY", "a")], None, Some("HTTP_PROXY")),
        (&[("HTTP_PROXY", "a"), ("REQUEST_METHOD", "GET")], None, None),
        (&[("http_proxy", "a"), ("REQUEST_METHOD", "GET")], None, Some("http_proxy")),
        (&[("https_proxy", "a"), ("HTTPS_PROXY", "b")], Some("https_proxy"), None),
        (&[("ALL_PROXY", "a")], Some("ALL_PROXY"), Some("ALL_PROXY")),
        (&[("all_proxy", "a"), ("HTTP_PROXY", "b")], Some("all_proxy"), Some("HTTP_PROXY")),
        (&[("https_proxy", " "), ("ALL_PROXY", "b")], Some("ALL_PROXY"), Some("ALL_PROXY")),
    ];
    for (variables, https, http) in table {
        let found = |tls| {
            let lookup = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            proxy_variable(tls, lookup).map(|(name, _)| name)
        };
        assert_eq!((found(true), found(false)), (https, http), "{variables:?}");
    }
}

#[test]
fn a_target_is_reached_through_the_proxy_of_its_scheme() {
    let rules = ProxyRules {
        https: Some(Arc::new(server("secure"))),
        http: Some(Arc::new(server("plain"))),
        no_proxy: NoProxyRule::parse_list("direct.example, 10.0.0.0/8"),
        proxy_loopback: false,
    };
    let table = [
        ("https://api.example", Some("http://secure")),
        ("http://api.example", Some("http://plain")),
        ("https://direct.example", None),
        ("http://10.1.2.3:8000", None),
        ("http://192.168.1.2:8000", Some("http://plain")),
        ("http://localhost:11434", None),
        ("http://a.localhost", None),
        ("https://127.0.0.1:1", None),
        ("http://[::1]:1", None),
        ("http://[::ffff:127.0.0.1]:1", None),
    ];
    let found = |rules: &ProxyRules, url| rules.proxy_for(&target(url)).map(|proxy| proxy.url());
    for (url, expected) in table {
        assert_eq!(found(&rules, url).as_deref(), expected, "{url}");
        assert_eq!(found(&ProxyRules::default(), url), None, "{url}");
    }
    let rules = ProxyRules { proxy_loopback: true, ..rules };
    assert_eq!(found(&rules, "http://localhost:1").as_deref(), Some("http://plain"));
    let rules = ProxyRules { http: None, ..rules };
    assert_eq!(found(&rules, "http://api.example"), None);
}
