//! Responses and items that one node has and requests at another node refer to.

use super::*;
use crate::session::content_key;

/// Sends a request, and gets a reply that this node remembers with an item.
async fn remember(node: &GatewayCluster, digest: u128, id: &str, item: &str) -> SessionGuard {
    let mut guard = acquire(node, chain(&[digest])).await;
    let keys = [id, item].map(|id| content_key("local", id));
    node.shared.sessions.announce(id, keys.into());
    guard.commit_reply(digest + 1, &[], Some(id), None);
    guard
}

#[tokio::test]
async fn a_response_was_found_only_on_its_own_node() {
    let store = store().await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    let three = join(&store, "three").await;
    one.listen_at("127.0.0.1:4177".parse().expect("an address")).await;
    three.listen_at("127.0.0.1:4178".parse().expect("an address")).await;
    let first = remember(&one, 1, "resp_1", "msg_1").await;
    let key = |id: &str| vec![content_key("local", id)];
    // The next request may come before the session is released.
    let (response, item) = (key("resp_1"), key("msg_1"));
    let (found, ()) = tokio::join!(two.content_node(&response), async { drop(first) });
    assert_eq!(found.as_deref(), Some("127.0.0.1:4177"));
    assert_eq!(two.content_node(&item).await.as_deref(), Some("127.0.0.1:4177"));
    let next = SessionQuery { selector: SessionSelector::Reply("resp_1"), ..chain(&[3]) };
    let claimed = two.claim(next, true, &response).await.expect("an answer");
    assert!(
        matches!(&claimed, SessionMatch::Elsewhere(to) if to == "127.0.0.1:4177"),
        "{claimed:?}"
    );
    // Neither forwarded twice nor to itself, and nothing of another owner or of nobody is found.
    let SessionMatch::Acquired(here) = two.claim(next, false, &response).await.expect("an answer")
    else {
        panic!("forwarded twice")
    };
    drop(here);
    assert_eq!(one.content_node(&response).await, None);
    let (theirs, unknown) = (vec![content_key("b", "resp_1")], key("resp_9"));
    let found = tokio::join!(two.content_node(&theirs), two.content_node(&unknown));
    assert_eq!(found, (None, None));
    // With its node, the response is gone.
    release(&three, remember(&three, 10, "resp_3", "msg_3").await).await;
    let response = key("resp_3");
    assert_eq!(two.content_node(&response).await.as_deref(), Some("127.0.0.1:4178"));
    kill(&three).await;
    assert_eq!(two.content_node(&response).await, None);
    let next = SessionQuery { selector: SessionSelector::Reply("resp_3"), ..chain(&[12]) };
    let claimed = two.claim(next, true, &response).await.expect("an answer");
    assert!(matches!(claimed, SessionMatch::Acquired(_)), "{claimed:?}");
}
