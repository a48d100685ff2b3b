# A template: `cargo xtask dist --finish` writes the version, the address and the checksums.
class Foxwedge < Formula
  desc "Keeps LLM-agent conversations with tool calls valid"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["Apache-2.0", "MIT"]

  on_macos do
    on_arm do
      url "@RELEASES@/foxwedge-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256:aarch64-apple-darwin@"
    end
    on_intel do
      url "@RELEASES@/foxwedge-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256:x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@RELEASES@/foxwedge-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@RELEASES@/foxwedge-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "foxwedge"
    generate_completions_from_executable(bin/"foxwedge", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/foxwedge --version")
    (testpath/"request.json").write '[{"role":"user","content":"hello"}]'
    system bin/"foxwedge", "check", "request.json"
  end
end
