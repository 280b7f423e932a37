# Does what Homebrew does with a formula, without Homebrew: ruby try.rb FORMULA BINARY PREFIX
#
# FORMULA is installed below PREFIX and its test is run. BINARY stands in for what `cargo install` builds; every other
# command is run as it is written.
require "fileutils"
require "pathname"
require "tmpdir"

# Homebrew's own words, as far as the formula uses them.
class Formula
  class << self
    attr_accessor :about
    attr_reader :tested

    %i[desc homepage url sha256 license depends_on].each do |word|
      define_method(word) { |value| (self.about ||= {})[word] = value }
    end

    def test(&steps)
      @tested = steps
    end

    def inherited(formula)
      super
      (@all ||= []) << formula
    end

    attr_reader :all
  end

  def initialize(binary, prefix, version)
    @binary, @prefix, @version = Pathname(binary), Pathname(prefix), version
  end

  attr_reader :prefix, :version

  def homepage
    self.class.about.fetch(:homepage)
  end

  def bin
    prefix/"bin"
  end

  def man1
    Folder.new(prefix/"share/man/man1")
  end

  def std_cargo_args(path:)
    raise "#{path} is no package" unless File.exist?("#{path}/Cargo.toml")

    ["--locked", "--root", prefix.to_s, "--path", path]
  end

  def system(*words)
    words = words.map(&:to_s)
    if words.first(2) == %w[cargo install]
      bin.mkpath
      FileUtils.install(@binary, bin/"charla", mode: 0o755)
    else
      Kernel.system(*words) || raise("#{words.join(" ")} failed")
    end
  end

  def generate_completions_from_executable(*words, shells:)
    places = { bash: "etc/bash_completion.d/charla", zsh: "share/zsh/site-functions/_charla", fish: "share/fish/vendor_completions.d/charla.fish" }
    shells.each do |shell|
      script = shell_output(words.map(&:to_s).join(" ") + " #{shell}")
      raise "no completions for #{shell}" if script.empty?

      (prefix/places.fetch(shell)).tap { |file| file.dirname.mkpath }.write(script)
    end
  end

  def shell_output(line, code = 0)
    said = `#{line}`
    raise "#{line}: exit code #{$?.exitstatus} instead of #{code}\n#{said}" unless $?.exitstatus == code

    said
  end

  def assert_match(wanted, text)
    raise "#{wanted.inspect} is not in #{text.inspect}" unless text.match?(wanted.is_a?(String) ? Regexp.escape(wanted) : wanted)
  end

  # A folder that files are moved to.
  Folder = Struct.new(:path) do
    def install(files)
      raise "there is nothing to install" if files.empty?

      path.mkpath
      FileUtils.mv(files, path)
    end
  end
end

file, binary, prefix = ARGV.map { |path| File.expand_path(path) }
load file
formula = Formula.all.first
about = formula.about
missing = about.reject { |word, value| word == :depends_on || value.is_a?(String) && !value.empty? && !value.include?("@") }
raise "not filled in: #{missing.keys.join(", ")}" unless missing.empty?

version = about.fetch(:url)[/-([0-9][0-9.]*)\.tar\.gz\z/, 1] or raise "no version in #{about[:url]}"
made = formula.new(binary, prefix, version)
Dir.mktmpdir do |folder|
  ENV["HOME"] = folder
  # The sources are where the formula is installed from; what it makes besides goes away.
  FileUtils.mkpath("#{folder}/crates/cli") && FileUtils.touch("#{folder}/crates/cli/Cargo.toml")
  Dir.chdir(folder) do
    made.install
    made.instance_eval(&formula.tested)
  end
end
