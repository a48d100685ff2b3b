//! `cargo xtask sdks`: official SDKs read what `foxwedge convert` wrote.
//!
//! Every fixture is converted to every other format, and the SDKs of that format read the result:
//! whole and seven bytes at a time, plainly and with their own helpers. What they understood is
//! compared with what the fixture says. They also read the fixtures themselves, so that a wrong
//! fixture is not taken for a wrong conversion. Repaired requests are compared with their types.

mod fixture;
mod judge;
mod requests;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    SuiteError, binary,
    install::{Language, PackageFolder},
    script::{ScriptJob, run_jobs, run_languages},
    skip,
    verdict::VerdictTable,
};
use crate::{options::TaskOptions, workspace};
use fixture::{FixtureKind, SdkFixture};
use requests::RequestJob;

/// The scripts and the pinned lists.
const SCRIPTS: &str = "acceptance/sdk";

/// Reads everything, prints the verdict, and fails if anything was misread.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let mut installed = Vec::new();
    for language in Language::ALL {
        match PackageFolder::install(language, SCRIPTS, "sdks") {
            Ok(packages) => installed.push(packages),
            Err(missing) => skip(missing)?,
        }
    }
    if installed.is_empty() {
        return Ok(());
    }
    let binary = binary(options)?;
    let mut table = VerdictTable::new(["format", "SDK", "language", "reader"], ["jobs", "ok"]);
    let documents = documents(&binary)?;
    let jobs = |packages: &PackageFolder| {
        documents.iter().flat_map(|it| it.jobs(packages.language)).collect()
    };
    for (packages, job, result) in run_languages(&installed, "read", jobs)? {
        let mode = job.mode.name();
        let [jobs, ok] =
            table.row((job.target, job.language, mode), || row_texts(packages, job.target, mode));
        *jobs += 1;
        match judge::judge(&job, &result) {
            Ok(()) => *ok += 1,
            Err(why) => table.fail(&job.label(), &why),
        }
    }
    for document in &documents {
        if let Err(why) = &document.path {
            let (from, to) = (document.fixture.format.name(), document.target.name());
            let path = document.fixture.path.display();
            table.fail(&format!("convert --from {from} --to {to} {path}"), why);
        }
    }
    // Only Python's types exist at run time.
    if let Some(packages) = installed.iter().find(|it| it.language == Language::Python) {
        let requests = RequestJob::repair_all(&binary, &converted_folder())?;
        let results = run_jobs(packages.language.name(), packages.script("read"), &requests)?;
        for (job, result) in requests.iter().zip(&results) {
            let [jobs, ok] = table.row((job.format, packages.language, "request"), || {
                row_texts(packages, job.format, "request")
            });
            *jobs += 1;
            match RequestJob::judge(result) {
                Ok(()) => *ok += 1,
                Err(why) => table.fail(&job.label(), &why),
            }
        }
    }
    Ok(table.print()?)
}

/// The texts of a row of the table.
fn row_texts(packages: &PackageFolder, format: Format, mode: &str) -> [String; 4] {
    let language = packages.language;
    let sdk = packages.label(package(language, format).unwrap_or_default());
    [format.name().to_owned(), sdk, language.name().to_owned(), mode.to_owned()]
}

/// Where documents for the SDKs are written.
fn converted_folder() -> PathBuf {
    workspace::root().join("target/sdks/converted")
}

/// A document that SDKs read, and the fixture that says what it means.
struct SdkDocument {
    fixture: SdkFixture,
    target: Format,
    /// Where it is, or why it could not be converted.
    path: Result<PathBuf, String>,
}

/// Every fixture, and some of them cut off early: as they are, and in every other format.
fn documents(binary: &Path) -> Result<Vec<SdkDocument>, String> {
    let folder = converted_folder();
    // What an older run left must not be read for what this one writes.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut documents = Vec::new();
    for fixture in fixture::all(&folder)? {
        for target in Format::ALL {
            let path = if target == fixture.format {
                Ok(fixture.path.clone())
            } else {
                convert(binary, &fixture, target, &folder)
            };
            documents.push(SdkDocument { fixture: fixture.clone(), target, path });
        }
    }
    Ok(documents)
}

/// Converts a fixture as a user does; where the result is, or what the binary complains about.
fn convert(
    binary: &Path,
    fixture: &SdkFixture,
    target: Format,
    folder: &Path,
) -> Result<PathBuf, String> {
    let mut command = Command::new(binary);
    command.args(["convert", "--from", fixture.format.name(), "--to", target.name()]);
    let output = command.arg(&fixture.path).output();
    let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
    // A stream that failed or was cut off is converted, and the exit code says so.
    let is_whole = fixture.kind == FixtureKind::Response || fixture.expected["stop"].is_string();
    if output.status.code() != Some(if is_whole { 0 } else { 1 }) {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, complaint.trim()));
    }
    let (name, from, to) = (&fixture.name, fixture.format.name(), target.name());
    let path = folder.join(format!("{name}.{from}.to.{to}.{}", fixture.kind.ending(target)));
    fs::write(&path, output.stdout).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// The package of a language that reads a format.
fn package(language: Language, format: Format) -> Option<&'static str> {
    match (language, format) {
        (_, Format::OpenaiChat | Format::OpenaiResponses) => Some("openai"),
        (Language::Python, Format::Anthropic) => Some("anthropic"),
        (Language::TypeScript, Format::Anthropic) => Some("@anthropic-ai/sdk"),
        (Language::Python, Format::Gemini | Format::GeminiInteractions) => Some("google-genai"),
        (Language::TypeScript, Format::Gemini | Format::GeminiInteractions) => {
            Some("@google/genai")
        }
        (Language::Python, Format::Bedrock) => Some("botocore"),
        (Language::TypeScript, Format::Bedrock) => None,
    }
}

/// How an SDK reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ReadMode {
    /// What arrives is taken as it comes.
    Plain,
    /// What arrives must also fit the SDK's own types.
    Strict,
    /// The SDK assembles the stream itself.
    Helper,
}

impl ReadMode {
    const ALL: [ReadMode; 3] = [ReadMode::Plain, ReadMode::Strict, ReadMode::Helper];

    fn name(self) -> &'static str {
        match self {
            ReadMode::Plain => "plain",
            ReadMode::Strict => "strict",
            ReadMode::Helper => "helper",
        }
    }

    /// Whether an SDK can read something so: not what its maker left out.
    fn reads(self, language: Language, target: Format, fixture: &SdkFixture) -> bool {
        // Types do not allow, and some helpers refuse, what is not known yet. Streamed free-text
        // calls of Chat are known to neither, though OpenAI sends them.
        let is_source = target == fixture.format;
        let is_stream = fixture.kind == FixtureKind::Stream;
        let beyond = is_source && fixture.name == "unknown-events"
            || target == Format::OpenaiChat && is_stream && fixture.name == "custom-call";
        let checks_types = language == Language::Python && target != Format::Gemini;
        let has_helper = match target {
            Format::Bedrock | Format::GeminiInteractions => false,
            Format::OpenaiChat => is_stream,
            Format::OpenaiResponses | Format::Anthropic | Format::Gemini => true,
        };
        match self {
            // Strict is plain, and more.
            ReadMode::Plain => beyond || !checks_types,
            ReadMode::Strict => checks_types && !beyond,
            ReadMode::Helper => has_helper && !beyond,
        }
    }
}

/// How many bytes of a stream arrive at a time; 0 is all at once. Seven bytes split every line, and
/// many a character.
const CHUNK_SIZES: [usize; 2] = [0, 7];

/// One reading of one document.
struct SdkJob<'s> {
    fixture: &'s SdkFixture,
    target: Format,
    path: &'s Path,
    language: Language,
    mode: ReadMode,
    chunk_size: usize,
}

impl SdkJob<'_> {
    /// Whether the document is the fixture itself.
    fn is_source(&self) -> bool {
        self.target == self.fixture.format
    }
}

impl ScriptJob for SdkJob<'_> {
    fn line(&self) -> Value {
        json!({
            "format": self.target.name(),
            "kind": self.fixture.kind.name(),
            "path": self.path,
            "reader": self.mode.name(),
            "piece": self.chunk_size,
        })
    }

    fn label(&self) -> String {
        let (format, kind, mode) = (self.target.name(), self.fixture.kind.name(), self.mode.name());
        let (path, language) = (self.path.display(), self.language.name());
        format!("{format} {kind} {path} {mode} {} ({language})", self.chunk_size)
    }
}

impl SdkDocument {
    /// All readings in a language.
    fn jobs(&self, language: Language) -> Vec<SdkJob<'_>> {
        let SdkDocument { fixture, target, path } = self;
        let target = *target;
        let (Ok(path), Some(_)) = (path, package(language, target)) else { return Vec::new() };
        let is_stream = fixture.kind == FixtureKind::Stream;
        let sizes = if is_stream { &CHUNK_SIZES[..] } else { &CHUNK_SIZES[..1] };
        let modes = ReadMode::ALL.into_iter().filter(|it| it.reads(language, target, fixture));
        let jobs = modes.flat_map(|mode| {
            sizes.iter().map(move |&chunk_size| SdkJob {
                fixture,
                target,
                path,
                language,
                mode,
                chunk_size,
            })
        });
        jobs.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_that_reads_is_pinned() {
        for language in Language::ALL {
            let packages = PackageFolder::pinned(language, SCRIPTS).expect("a list");
            for name in Format::ALL.into_iter().filter_map(|it| package(language, it)) {
                let label = packages.label(name);
                let version = label.rsplit(' ').next().unwrap_or_default();
                assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{label}");
            }
        }
    }
}
