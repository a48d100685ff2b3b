//! Where other gateways on the same store reach this one.

use super::*;

const POSTGRES: &str = "store = \"postgres://db.example/foxwedge\"\n";

#[test]
fn a_loopback_address_on_a_shared_store_is_warned_about() {
    let warning = "warning: `listen`: gateways on other machines cannot reach this one at \
                   `127.0.0.1:4177` | `advertise = \"HOST:PORT\"` is the address at which they can";
    let hosts = "[access]\nhosts = [\"gateway.example\"]\n";
    for (text, expected) in [
        (POSTGRES.to_owned(), Some(warning)),
        (format!("{POSTGRES}advertise = \"10.0.0.5:4177\""), None),
        // On purpose: all of them are on this machine.
        (format!("{POSTGRES}advertise = \"127.0.0.1:4177\""), None),
        (format!("{POSTGRES}listen = \"10.0.0.5:4177\""), None),
        (format!("{POSTGRES}listen = \"0.0.0.0:4177\"\n{hosts}"), None),
        ("store = \"runs.db\"".to_owned(), None),
    ] {
        let issues = Here::new().saying(&text).complaints();
        assert_eq!(issues, Vec::from_iter(expected), "{text}");
    }
}

#[test]
fn the_advertised_address_is_that_of_a_node() {
    let here = Here::new().saying(&format!("{POSTGRES}advertise = \"Gateway-0:4177\""));
    let loaded = here.loaded();
    assert_eq!(loaded.config.advertise.as_deref(), Some("gateway-0:4177"));
    // Requests of other nodes have it as their host.
    assert_eq!(loaded.config.access.hosts, ["gateway-0:4177"]);
    let loaded = here.with("FOXWEDGE_ADVERTISE", "10.0.0.5:4177").loaded();
    assert_eq!(setting(&loaded, "", "advertise"), "\"10.0.0.5:4177\" # FOXWEDGE_ADVERTISE");
    let issues = Here::new().saying("advertise = \"gateway-0\"").complaints();
    let expected = "foxwedge.toml:1: `advertise`: invalid value \"gateway-0\" | expected a host \
                    and a port, such as \"10.0.0.5:4177\"";
    assert_eq!(issues, [expected]);
}
