//! The URL of a store: a file, an in-memory database, or a PostgreSQL server.

use std::{fmt, path::PathBuf, str::FromStr};

use crate::{StoreError, postgres};

/// The URL of a store. `Display` and `Debug` hide passwords.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `sqlite:path`, or a path alone.
    Sqlite(PathBuf),
    /// `memory:` or `sqlite::memory:`. The data ends with the process.
    Memory,
    /// `postgres://…` or `postgresql://…`.
    Postgres(PostgresUrl),
}

/// The URL of a PostgreSQL server. It may contain a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// The URL with its password, for the connection only.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl StoreUrl {
    /// Checks the URL further than its parts tell, without opening the store.
    ///
    /// # Errors
    /// If a parameter of a server is unknown or has an invalid value.
    pub fn check(&self) -> Result<(), StoreError> {
        match self {
            StoreUrl::Sqlite(_) | StoreUrl::Memory => Ok(()),
            StoreUrl::Postgres(url) => postgres::check_url(url.secret()),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<StoreUrl, StoreError> {
        if matches!(text, "memory:" | ":memory:" | "sqlite::memory:" | "sqlite://:memory:") {
            return Ok(StoreUrl::Memory);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(StoreUrl::Postgres(PostgresUrl(text.to_owned())));
        }
        let path = match text.strip_prefix("sqlite:") {
            Some(path) => path.strip_prefix("//").unwrap_or(path),
            None => match text.split_once("://") {
                // The rest of the text may contain a password, so the message does not repeat it.
                Some((scheme, _)) => {
                    return invalid(format!(
                        "unknown store `{scheme}://`: use `sqlite:` or `postgres://`"
                    ));
                }
                None => text,
            },
        };
        if path.is_empty() || path.contains('\0') {
            return invalid(format!("{text:?} names no file"));
        }
        Ok(StoreUrl::Sqlite(PathBuf::from(path)))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            StoreUrl::Memory => formatter.write_str("memory:"),
            StoreUrl::Postgres(url) => url.fmt(formatter),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StoreUrl({self})")
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = hide_password(&self.0).unwrap_or_else(|| self.0.clone());
        let Some((address, query)) = shown.split_once('?') else {
            return formatter.write_str(&shown);
        };
        let query: Vec<&str> = query.split('&').map(shown_parameter).collect();
        write!(formatter, "{address}?{}", query.join("&"))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PostgresUrl({self})")
    }
}

/// Treats everything between the user name and the last `@` as the password. An unescaped password
/// may contain any character, and hiding too much does no harm.
fn hide_password(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (secret, shown) = rest.rsplit_once('@')?;
    let (user, _) = secret.split_once(':')?;
    Some(format!("{scheme}://{user}:***@{shown}"))
}

fn shown_parameter(parameter: &str) -> &str {
    match parameter.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("password") => "password=***",
        Some(_) | None => parameter,
    }
}

fn invalid<T>(why: String) -> Result<T, StoreError> {
    Err(StoreError::Invalid(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_kind_is_chosen_by_url_prefix() {
        let table = [
            ("runs.db", "sqlite:runs.db"),
            ("./a/runs.db", "sqlite:./a/runs.db"),
            ("sqlite:runs.db", "sqlite:runs.db"),
            ("sqlite:/var/runs.db", "sqlite:/var/runs.db"),
            ("sqlite:///var/runs.db", "sqlite:/var/runs.db"),
            ("sqlite://runs.db", "sqlite:runs.db"),
            ("memory:", "memory:"),
            ("sqlite::memory:", "memory:"),
            ("postgres://host/db", "postgres://host/db"),
            ("postgresql://me@host/db", "postgresql://me@host/db"),
            (
                "mysql://me:secret@host/db",
                "unknown store `mysql://`: use `sqlite:` or `postgres://`",
            ),
            ("", "\"\" names no file"),
            ("sqlite:", "\"sqlite:\" names no file"),
        ];
        for (text, expected) in table {
            let found = match text.parse::<StoreUrl>() {
                Ok(url) => url.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn passwords_are_not_printed() {
        let table = [
            ("postgres://me:secret@host/db", "postgres://me:***@host/db"),
            ("postgres://me:sec/r?e@t@host/db", "postgres://me:***@host/db"),
            ("postgres://me:@host:5432/db?a=b", "postgres://me:***@host:5432/db?a=b"),
            ("postgres://host/db?password=secret&a=b", "postgres://host/db?password=***&a=b"),
            ("postgres://host/db?a=b&sslpassword=secret", "postgres://host/db?a=b&password=***"),
        ];
        for (text, expected) in table {
            let url: StoreUrl = text.parse().expect(text);
            assert_eq!(url.to_string(), expected);
            assert_eq!(format!("{url:?}"), format!("StoreUrl({expected})"));
        }
    }
}
