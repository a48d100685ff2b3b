//! Who may see what goes over the wire, and who may get in.

use std::{path::Path, process::Command};

use foxwedge_store::{PostgresStore, StoreError};

use crate::{
    postgres_fixture::{administrator, open, own_server},
    server::{Care, Server},
};

/// The password of the tests, which must not be seen anywhere.
const CANARY: &str = "canary-4711";

/// A server that encrypts, with a certificate for `localhost` by an authority that nobody knows,
/// and a role that has a password. Also the path of the authority's certificate.
async fn encrypting() -> Option<(Server, String)> {
    let server = own_server(Care::Fast, &[])?;
    let workshop = server.put("authority.cnf", b"subjectAltName = DNS:localhost\n").expect("file");
    let workshop = workshop.parent().expect("a folder").to_owned();
    if let Err(why) = certificates(&workshop) {
        println!("skipped: no certificates: {why}");
        return None;
    }
    let read = |name: &str| std::fs::read(workshop.join(name)).expect("a file");
    let certificate = server.put("server.pem", &read("server.pem")).expect("a certificate");
    let key = server.put("server.key", &read("server.key")).expect("a key");
    let boss = administrator(&server.url()).await;
    let settings = [
        format!("ALTER SYSTEM SET ssl_cert_file = '{}'", certificate.display()),
        format!("ALTER SYSTEM SET ssl_key_file = '{}'", key.display()),
        "ALTER SYSTEM SET ssl = on".to_owned(),
        "SELECT pg_reload_conf()".to_owned(),
        format!("CREATE ROLE ann LOGIN SUPERUSER PASSWORD '{CANARY}'"),
    ];
    for setting in settings {
        boss.batch_execute(&setting).await.expect("a setting");
    }
    let authority = workshop.join("authority.pem").display().to_string();
    // The server takes the settings when it comes to it.
    let asked =
        format!("{}&sslmode=require&sslrootcert={authority}", address(&server, "localhost"));
    for _ in 0..100 {
        if PostgresStore::open(&asked).await.is_ok() {
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
        let done = command.args(step.split_whitespace()).current_dir(folder).output();
        let done = done.map_err(|error| format!("openssl: {error}"))?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
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
    let question = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                    WHERE application_name = 'looked_at'";
    let rows = administrator(&server.url()).await.query(question, &[]).await.expect("an answer");
    drop(store);
    rows.first().expect("a connection").get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn encryption_is_what_the_address_asks_for() {
    let Some((server, authority)) = encrypting().await else { return };
    let (name, number) = (address(&server, "localhost"), address(&server, "127.0.0.1"));
    let known = format!("sslmode=verify-full&sslrootcert={authority}");
    assert!(is_encrypted(&server, &format!("{name}&{known}")).await);
    assert!(is_encrypted(&server, &name).await, "it prefers to");
    assert!(is_encrypted(&server, &format!("{name}&sslmode=prefer")).await);
    assert!(!is_encrypted(&server, &format!("{name}&sslmode=disable")).await);
    assert!(!is_encrypted(&server, &format!("{}?pool=1", server.url())).await, "a socket");

    let refused = [
        // Nobody whom browsers trust has signed it.
        format!("{name}&sslmode=require"),
        // It was not made out to this name.
        format!("{number}&{known}"),
    ];
    for url in refused {
        let told = PostgresStore::open(&url).await.map(drop);
        let Err(StoreError::Unavailable(why)) = told else { panic!("{told:?}") };
        assert!(why.to_string().contains("certificate"), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_encrypt_is_refused_where_it_has_to() {
    let Some(server) = own_server(Care::Fast, &[]) else { return };
    let url = format!("{}&sslmode=require", address(&server, "127.0.0.1"));
    let told = PostgresStore::open(&url).await.map(drop);
    let Err(StoreError::Unavailable(why)) = told else { panic!("{told:?}") };
    assert!(why.to_string().contains("TLS"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_seen_nowhere() {
    let Some((mut server, authority)) = encrypting().await else { return };
    let url = address(&server, "localhost");
    let store = open(&url).await;
    let mut told = vec![format!("{store:?} {store:#?}")];
    let wrong = [
        url.replace(CANARY, &format!("{CANARY}-wrong")),
        url.replace("/postgres?", "/nowhere?"),
        url.replace("ann:", "nobody:"),
        format!("{url}&sslmode=require"),
        format!("{url}&sslrootcert={authority}.gone"),
        format!("{url}&what=ever"),
    ];
    for url in wrong {
        told.push(format!("{:?}", PostgresStore::open(&url).await.map(drop).expect_err("wrong")));
    }
    tokio::task::block_in_place(|| server.stop()).expect("stopped");
    told.push(format!("{:?}", PostgresStore::open(&url).await.map(drop).expect_err("gone")));
    for told in told {
        assert!(!told.contains("canary"), "{told}");
    }
}
