//! Encryption of connections, and access.

use std::{path::Path, process::Command};

use foxwedge_store::{PostgresStore, StoreError};

use crate::{
    postgres_fixture::{administrator, open, own_server},
    server::{Care, Server},
};

/// The password of the tests. It must not appear anywhere.
const CANARY: &str = "canary-4711";

/// A server with TLS: a certificate for `localhost` by an unknown authority, and a role with a
/// password. Also returns the path of the authority's certificate.
async fn encrypting() -> Option<(Server, String)> {
    let server = own_server(Care::Fast, &[])?;
    let folder = server.put("authority.cnf", b"subjectAltName = DNS:localhost\n").expect("file");
    let folder = folder.parent().expect("a folder").to_owned();
    if let Err(why) = certificates(&folder) {
        println!("skipped: no certificates: {why}");
        return None;
    }
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
    let certificate = server.put("server.pem", &read("server.pem")).expect("a certificate");
    let key = server.put("server.key", &read("server.key")).expect("a key");
    let admin = administrator(&server.url()).await;
    let settings = [
        format!("ALTER SYSTEM SET ssl_cert_file = '{}'", certificate.display()),
        format!("ALTER SYSTEM SET ssl_key_file = '{}'", key.display()),
        "ALTER SYSTEM SET ssl = on".to_owned(),
        "SELECT pg_reload_conf()".to_owned(),
        format!("CREATE ROLE ann LOGIN SUPERUSER PASSWORD '{CANARY}'"),
    ];
    for setting in settings {
        admin.batch_execute(&setting).await.expect("a setting");
    }
    let authority = folder.join("authority.pem").display().to_string();
    // The server applies the settings after a moment.
    let url = format!("{}&sslmode=require&sslrootcert={authority}", address(&server, "localhost"));
    for _ in 0..100 {
        if PostgresStore::open(&url).await.is_ok() {
            return Some((server, authority));
        }
    }
    panic!("the server does not encrypt");
}

fn certificates(folder: &Path) -> Result<(), String> {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let steps = [
        format!("req -x509 {key} -keyout a.key -out authority.pem -days 2 -subj /CN=authority"),
        format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"),
        "x509 -req -in server.csr -CA authority.pem -CAkey a.key -CAcreateserial -days 2 \
         -extfile authority.cnf -out server.pem"
            .to_owned(),
    ];
    for step in steps {
        let mut command = Command::new("openssl");
        let output = command.args(step.split_whitespace()).current_dir(folder).output();
        let output = output.map_err(|error| format!("openssl: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    Ok(())
}

fn address(server: &Server, host: &str) -> String {
    format!("postgres://ann:{CANARY}@{host}:{}/postgres?pool=1", server.port())
}

/// Whether the connections of a store are encrypted.
async fn is_encrypted(server: &Server, url: &str) -> bool {
    let store = open(&format!("{url}&application_name=looked_at")).await;
    let sql = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                    WHERE application_name = 'looked_at'";
    let rows = administrator(&server.url()).await.query(sql, &[]).await.expect("an answer");
    drop(store);
    rows.first().expect("a connection").get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn encryption_follows_the_url() {
    let Some((server, authority)) = encrypting().await else { return };
    let (by_name, by_address) = (address(&server, "localhost"), address(&server, "127.0.0.1"));
    let known = format!("sslmode=verify-full&sslrootcert={authority}");
    assert!(is_encrypted(&server, &format!("{by_name}&{known}")).await);
    assert!(is_encrypted(&server, &by_name).await, "it prefers to");
    assert!(is_encrypted(&server, &format!("{by_name}&sslmode=prefer")).await);
    assert!(!is_encrypted(&server, &format!("{by_name}&sslmode=disable")).await);
    assert!(!is_encrypted(&server, &format!("{}?pool=1", server.url())).await, "a socket");

    let refused = [
        // No public authority has signed it.
        format!("{by_name}&sslmode=require"),
        // The certificate is for another name.
        format!("{by_address}&{known}"),
    ];
    for url in refused {
        let result = PostgresStore::open(&url).await.map(drop);
        let Err(StoreError::Unavailable(why)) = result else { panic!("{result:?}") };
        assert!(why.to_string().contains("certificate"), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unencrypted_server_is_refused_when_encryption_is_required() {
    let Some(server) = own_server(Care::Fast, &[]) else { return };
    let url = format!("{}&sslmode=require", address(&server, "127.0.0.1"));
    let result = PostgresStore::open(&url).await.map(drop);
    let Err(StoreError::Unavailable(why)) = result else { panic!("{result:?}") };
    assert!(why.to_string().contains("TLS"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_appear_nowhere() {
    let Some((mut server, authority)) = encrypting().await else { return };
    let url = address(&server, "localhost");
    let store = open(&url).await;
    let mut texts = vec![format!("{store:?} {store:#?}")];
    let wrong = [
        url.replace(CANARY, &format!("{CANARY}-wrong")),
        url.replace("/postgres?", "/nowhere?"),
        url.replace("ann:", "nobody:"),
        format!("{url}&sslmode=require"),
        format!("{url}&sslrootcert={authority}.gone"),
        format!("{url}&what=ever"),
    ];
    for url in wrong {
        texts.push(format!("{:?}", PostgresStore::open(&url).await.map(drop).expect_err("wrong")));
    }
    tokio::task::block_in_place(|| server.stop()).expect("stopped");
    texts.push(format!("{:?}", PostgresStore::open(&url).await.map(drop).expect_err("gone")));
    for text in texts {
        assert!(!text.contains("canary"), "{text}");
    }
}
