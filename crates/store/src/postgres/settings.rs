//! Parses the URL of a database.
//!
//! The URL contains a password. Errors never quote it.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use tokio_postgres::{Config, config::SslMode};

use crate::{Result, StoreError};

/// Default number of connections.
const POOL: usize = 8;
/// Default schema.
const SCHEMA: &str = "foxwedge";
/// How long the server may work on one statement, in milliseconds.
const STATEMENT_TIMEOUT: u64 = 30_000;
/// How much longer than two statements an attempt may take until the server counts as frozen.
const ATTEMPT_GRACE: Duration = Duration::from_secs(5);
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait for the acknowledgement of sent data before the connection counts as lost.
const TCP_TIMEOUT: Duration = Duration::from_secs(30);
/// The server ends an idle transaction after this time, in milliseconds. A stopped process must not
/// hold a run that others wait for.
const IDLE_TIMEOUT: u64 = 1_000;

/// Parameters that the driver handles.
const PASSED_ON: [&str; 12] = [
    "application_name",
    "channel_binding",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "sslnegotiation",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// The parsed URL.
#[derive(Clone)]
pub(super) struct PostgresSettings {
    pub(super) config: Config,
    pub(super) schema: String,
    pub(super) pool: usize,
    pub(super) trust: CertificateTrust,
    /// How long all statements of an attempt may take.
    pub(super) attempt_timeout: Duration,
}

/// Which certificates to accept on an encrypted connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CertificateTrust {
    /// Any. An attacker who can change the traffic could also turn encryption off, so
    /// `sslmode=prefer` gains nothing from checking.
    Any,
    /// Certificates of public authorities.
    Public,
    /// Certificates of the authorities in a file.
    File(PathBuf),
}

impl PostgresSettings {
    /// Parses a URL: `postgres://user:password@host:port/database?parameter=value&…`.
    pub(super) fn parse(url: &str) -> Result<PostgresSettings> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        if !(address.starts_with("postgres://") || address.starts_with("postgresql://")) {
            return invalid("a database URL must begin with `postgres://`");
        }
        let mut parameters = UrlParameters::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            parameters.take(pair)?;
        }
        let Ok(mut config) =
            Config::from_str(&format!("{address}?{}", parameters.passed_on.join("&")))
        else {
            return invalid(
                "the database URL is invalid: characters like `@ / ? %` in a name or a password \
                must be written as `%40`, `%2F`, `%3F`, `%25`",
            );
        };
        let schema = parameters.schema.unwrap_or_else(|| SCHEMA.to_owned());
        let timeout = parameters.statement_timeout.unwrap_or(STATEMENT_TIMEOUT);
        config.ssl_mode(parameters.mode.unwrap_or(SslMode::Prefer));
        config.options(connection_options(config.get_options(), &schema, timeout));
        config.connect_timeout(parameters.connect_timeout.unwrap_or(CONNECT_TIMEOUT));
        if config.get_application_name().is_none() {
            config.application_name("foxwedge");
        }
        // Detects a server that is gone without notice within half a minute, not within hours.
        if !query.contains("keepalives") {
            config.keepalives_idle(Duration::from_secs(15));
            config.keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(TCP_TIMEOUT);
        }
        let trust = match (parameters.roots, config.get_ssl_mode()) {
            (Some(roots), _) => CertificateTrust::File(roots),
            (None, SslMode::Require) => CertificateTrust::Public,
            (None, _) => CertificateTrust::Any,
        };
        let pool = parameters.pool.unwrap_or(POOL);
        let attempt_timeout = 2 * Duration::from_millis(timeout) + ATTEMPT_GRACE;
        Ok(PostgresSettings { config, schema, pool, trust, attempt_timeout })
    }
}

/// Prints where the database is, without user and password.
impl fmt::Debug for PostgresSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("hosts", &self.config.get_hosts())
            .field("ports", &self.config.get_ports())
            .field("database", &self.config.get_dbname())
            .field("schema", &self.schema)
            .field("pool", &self.pool)
            .field("trust", &self.trust)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct UrlParameters {
    pool: Option<usize>,
    schema: Option<String>,
    statement_timeout: Option<u64>,
    connect_timeout: Option<Duration>,
    mode: Option<SslMode>,
    roots: Option<PathBuf>,
    passed_on: Vec<String>,
}

impl UrlParameters {
    fn take(&mut self, pair: &str) -> Result<()> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(text) = percent_decode(value) else {
            return invalid("a parameter of the database URL is not valid UTF-8");
        };
        match name {
            "pool" => self.pool = Some(parse_number(name, &text, 1..=1_000)? as usize),
            "schema" => self.schema = Some(parse_schema(text)?),
            "statement_timeout" => {
                self.statement_timeout = Some(parse_number(name, &text, 1..=86_400_000)?);
            }
            "connect_timeout" => {
                let seconds = parse_number(name, &text, 1..=3_600)?;
                self.connect_timeout = Some(Duration::from_secs(seconds));
            }
            "sslmode" => self.mode = Some(parse_ssl_mode(&text)?),
            // The meaning of `system` in libpq.
            "sslrootcert" if text == "system" => self.mode = Some(SslMode::Require),
            "sslrootcert" => self.roots = Some(PathBuf::from(text)),
            _ if PASSED_ON.contains(&name) => self.passed_on.push(pair.to_owned()),
            // The message does not repeat the name: half of a password may look like a parameter.
            _ => {
                return invalid(&format!(
                    "the database URL has an unknown parameter; known are `pool`, `schema`, \
                    `statement_timeout`, `connect_timeout`, `sslmode`, `sslrootcert`, `{}`",
                    PASSED_ON.join("`, `")
                ));
            }
        }
        Ok(())
    }
}

fn parse_ssl_mode(text: &str) -> Result<SslMode> {
    match text {
        "disable" => Ok(SslMode::Disable),
        "allow" | "prefer" => Ok(SslMode::Prefer),
        // `require` always checks the host name and the authority.
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => invalid(
            "`sslmode` must be `disable`, `prefer`, `require`, `verify-ca` or `verify-full`",
        ),
    }
}

/// Accepts a name that never needs quotes, so that it can be part of a statement.
fn parse_schema(text: String) -> Result<String> {
    let safe = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let valid_start = text.starts_with(|first: char| !first.is_ascii_digit());
    if !valid_start || text.len() > 48 || !text.bytes().all(safe) || text.starts_with("pg_") {
        return invalid(
            "`schema` must be 1 to 48 of a-z 0-9 _, and must not begin with 0-9 or `pg_`",
        );
    }
    Ok(text)
}

fn parse_number(name: &str, text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) | Err(_) => {
            invalid(&format!("`{name}` must be a number from {} to {}", range.start(), range.end()))
        }
    }
}

/// The options of every connection: those of the URL, then ours.
fn connection_options(given: Option<&str>, schema: &str, timeout: u64) -> String {
    let ours = format!(
        "-c search_path={schema} -c statement_timeout={timeout} \
         -c idle_in_transaction_session_timeout={IDLE_TIMEOUT} \
         -c default_transaction_isolation=read\\ committed"
    );
    given.map_or(ours.clone(), |given| format!("{given} {ours}"))
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn invalid<T>(why: &str) -> Result<T> {
    Err(StoreError::Invalid(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_parameters_are_parsed() {
        let plain = PostgresSettings::parse("postgres://ann@db.example/work").expect("an address");
        assert_eq!(
            (plain.pool, plain.schema.as_str(), &plain.trust),
            (8, "foxwedge", &CertificateTrust::Any)
        );
        let full = "postgresql://ann:x@db.example:6000/work?pool=3&schema=team_a&sslmode=verify-full\
                    &sslrootcert=%2Fca.pem&application_name=test&statement_timeout=5000";
        let full = PostgresSettings::parse(full).expect("an address");
        assert_eq!((full.pool, full.schema.as_str()), (3, "team_a"));
        assert_eq!(full.trust, CertificateTrust::File(PathBuf::from("/ca.pem")));
        assert_eq!(full.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(full.config.get_application_name(), Some("test"));
        let options = full.config.get_options().unwrap_or_default();
        assert!(options.contains("search_path=team_a -c statement_timeout=5000"), "{options}");
    }

    #[test]
    fn ssl_mode_decides_which_certificates_are_trusted() {
        let table = [
            ("sslmode=disable", SslMode::Disable, CertificateTrust::Any),
            ("sslmode=prefer", SslMode::Prefer, CertificateTrust::Any),
            ("sslmode=require", SslMode::Require, CertificateTrust::Public),
            ("sslmode=verify-ca", SslMode::Require, CertificateTrust::Public),
            ("sslrootcert=system", SslMode::Require, CertificateTrust::Public),
            (
                "sslmode=prefer&sslrootcert=a.pem",
                SslMode::Prefer,
                CertificateTrust::File("a.pem".into()),
            ),
        ];
        for (parameters, mode, trust) in table {
            let settings =
                PostgresSettings::parse(&format!("postgres://host/?{parameters}")).expect("good");
            assert_eq!(
                (settings.config.get_ssl_mode(), settings.trust),
                (mode, trust),
                "{parameters}"
            );
        }
    }

    #[test]
    fn passwords_appear_in_no_text() {
        let table = [
            "postgres://ann:canary@host/work",
            "postgres://ann:canary@host:port/work",
            "postgres://ann:pass?canary@host/work",
            "postgres://ann:%zzcanary@host/work",
            "postgres://ann:canary@host/work?pool=canary",
            "postgres://ann:canary@host/work?schema=canary%22",
            "postgres://ann:canary@host/work?canary",
            "postgres://ann:canary@host/work?sslmode=canary",
            "postgres://ann:canary@[host/work",
            "sqlite://canary",
        ];
        for url in table {
            let text = match PostgresSettings::parse(url) {
                Ok(settings) => format!("{settings:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!text.contains("canary"), "{url}: {text}");
        }
    }

    #[test]
    fn names_that_would_need_quotes_are_refused() {
        for schema in ["", "1a", "a-b", "A", "pg_temp", "a b", "a;drop", "ä", &"a".repeat(49)] {
            let url = format!("postgres://host/work?schema={schema}");
            assert!(
                matches!(PostgresSettings::parse(&url), Err(StoreError::Invalid(_))),
                "{schema}"
            );
        }
    }
}
