//! The variables that a command sees: a short list of names, plus some that keep programs from
//! using a terminal that does not exist. A list of secret names would never be complete.

use std::ffi::{OsStr, OsString};

use foxwedge_process::MARK_VARIABLE;

/// Variables that programs usually need.
const DEFAULT_VARIABLES: [&str; 71] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "CI",
    // Locations and settings of developer tools.
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CC",
    "CONDA_DEFAULT_ENV",
    "CONDA_PREFIX",
    "CXX",
    "DENO_DIR",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "MANPATH",
    "NODE_PATH",
    "NVM_BIN",
    "NVM_DIR",
    "PKG_CONFIG_PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    // Certificates.
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    // Windows.
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERNAME",
    "USERPROFILE",
];
/// Prefixes of such variables.
const DEFAULT_PREFIXES: [&str; 2] = ["LC_", "XDG_"];
/// Passed unless they contain a user name and password.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
/// No colors, no pagers, no prompts.
const FIXED_VARIABLES: [(&str, &str); 9] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CLICOLOR", "0"),
    ("CARGO_TERM_COLOR", "never"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// The variables that a command sees. `pass` adds names.
pub(super) fn visible_variables(
    all: impl Iterator<Item = (OsString, OsString)>,
    pass: &[String],
) -> Vec<(OsString, OsString)> {
    let visible = all.filter(|(name, value)| {
        is_usual(name, value) || pass.iter().any(|passed| name == passed.as_str())
    });
    // If a name occurs twice, the last value counts.
    visible.chain(FIXED_VARIABLES.map(|(name, value)| (name.into(), value.into()))).collect()
}

fn is_usual(name: &OsStr, value: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let upper = name.to_ascii_uppercase();
    let is_proxy = PROXIES.contains(&upper.as_str());
    // Names are case-insensitive only on Windows, and for proxies.
    let name = if cfg!(windows) { upper.as_str() } else { name };
    DEFAULT_VARIABLES.contains(&name)
        || name == MARK_VARIABLE
        || DEFAULT_PREFIXES.iter().any(|family| name.starts_with(family))
        || is_proxy && !value.to_string_lossy().contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_visible(name: &str, value: &str, pass: &[&str]) -> bool {
        let all = [(OsString::from(name), OsString::from(value))];
        let pass: Vec<String> = pass.iter().map(|name| (*name).to_owned()).collect();
        let visible = visible_variables(all.into_iter(), &pass);
        assert!(visible.iter().any(|(name, value)| name == "TERM" && value == "dumb"));
        visible.iter().any(|(one, _)| one == name)
    }

    #[test]
    fn only_listed_variables_are_visible_and_colors_are_off() {
        let table = [
            ("PATH", true),
            ("HOME", true),
            ("LANG", true),
            ("LC_ALL", true),
            ("XDG_CACHE_HOME", true),
            ("CARGO_HOME", true),
            ("FOXWEDGE_CALL", true),
            ("OPENAI_API_KEY", false),
            ("github_token", false),
            ("Client_Secret_2", false),
            ("PGPASSWORD", false),
            ("MYSQL_PASSWD", false),
            ("MYSQL_PWD", false),
            ("GOOGLE_APPLICATION_CREDENTIALS", false),
            ("DATABASE_URL", false),
            ("GH_PAT", false),
            ("NPM_AUTH", false),
            ("SLACK_WEBHOOK_URL", false),
            ("MY_PASS", false),
            ("FOXWEDGE_TOKEN", false),
            ("SSH_AUTH_SOCK", false),
            ("path", cfg!(windows)),
            ("UNHEARD_OF", false),
            ("FORCE_COLOR", false),
        ];
        for (name, expected) in table {
            assert_eq!(is_visible(name, "x", &[]), expected, "{name}");
        }
    }

    #[test]
    fn proxy_is_visible_only_without_a_password() {
        for name in ["HTTP_PROXY", "https_proxy", "ALL_PROXY", "no_proxy"] {
            assert!(is_visible(name, "http://proxy.example:3128", &[]), "{name}");
            assert!(!is_visible(name, "http://ada:canary@proxy.example:3128", &[]), "{name}");
        }
    }

    #[test]
    fn passed_variables_are_visible_by_exact_name() {
        assert!(is_visible("DATABASE_URL", "x", &["DATABASE_URL"]));
        assert!(!is_visible("DATABASE_URL_2", "x", &["DATABASE_URL"]));
        assert!(!is_visible("DATABASE", "x", &["DATABASE_URL"]));
    }
}
