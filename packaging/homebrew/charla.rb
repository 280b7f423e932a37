# The formula; packaging/release.sh fills in the address and the hash of the sources.
class Charla < Formula
  desc "Provider-neutral AI agent: terminal, script, browser, editor"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "rust" => :build

  def install
    # Where `charla update --check` asks.
    ENV["CHARLA_RELEASE_URL"] = homepage
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    system bin/"charla", "man", "--into", "man"
    man1.install Dir["man/*.1"]
    generate_completions_from_executable(bin/"charla", "completions", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/charla --version")
    assert_match "is no address", shell_output("#{bin}/charla update --check --from nowhere 2>&1", 42)
  end
end
