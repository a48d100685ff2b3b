//! What the binary is built for.

/// A platform.
pub(crate) struct ReleaseTarget {
    /// The name that the compiler has for it.
    pub(crate) triple: &'static str,
    /// The end of the name of its npm package.
    pub(crate) npm: &'static str,
    /// What npm calls the system, the processor and the C library.
    pub(crate) os: &'static str,
    pub(crate) cpu: &'static str,
    pub(crate) libc: Option<&'static str>,
}

/// Every platform. Only the first two are built and tried by `--try`.
pub(crate) const TARGETS: [ReleaseTarget; 7] = [
    linux("x86_64-unknown-linux-gnu", "linux-x64", "x64", "glibc"),
    linux("x86_64-unknown-linux-musl", "linux-x64-musl", "x64", "musl"),
    linux("aarch64-unknown-linux-gnu", "linux-arm64", "arm64", "glibc"),
    linux("aarch64-unknown-linux-musl", "linux-arm64-musl", "arm64", "musl"),
    other("x86_64-apple-darwin", "darwin-x64", "darwin", "x64"),
    other("aarch64-apple-darwin", "darwin-arm64", "darwin", "arm64"),
    other("x86_64-pc-windows-msvc", "win32-x64", "win32", "x64"),
];

const fn linux(
    triple: &'static str,
    npm: &'static str,
    cpu: &'static str,
    libc: &'static str,
) -> ReleaseTarget {
    ReleaseTarget { triple, npm, os: "linux", cpu, libc: Some(libc) }
}

const fn other(
    triple: &'static str,
    npm: &'static str,
    os: &'static str,
    cpu: &'static str,
) -> ReleaseTarget {
    ReleaseTarget { triple, npm, os, cpu, libc: None }
}

impl ReleaseTarget {
    pub(crate) fn find(triple: &str) -> Result<&'static ReleaseTarget, String> {
        let known = || TARGETS.map(|target| target.triple).join(", ");
        let found = TARGETS.iter().find(|target| target.triple == triple);
        found.ok_or_else(|| format!("`{triple}` is no target of ours; known: {}", known()))
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.os == "win32"
    }

    /// File name of the binary.
    pub(crate) fn program(&self) -> &'static str {
        if self.is_windows() { "foxwedge.exe" } else { "foxwedge" }
    }

    /// Name of the archive, and of the folder in it, without the ending.
    pub(crate) fn archive(&self, version: &str) -> String {
        format!("foxwedge-{version}-{}", self.triple)
    }

    /// How the name of the archive ends.
    pub(crate) fn ending(&self) -> &'static str {
        if self.is_windows() { "zip" } else { "tar.gz" }
    }

    /// Name of the npm package with the binary.
    pub(crate) fn package(&self) -> String {
        format!("@foxwedge/cli-{}", self.npm)
    }
}
