use super::*;

/// Names that hold secrets, as people and programs give them.
const SECRET: &[&str] = &[
    ".env",
    "a/.env.production",
    "a/.ENV",
    ".env-prod",
    ".env_x",
    ".env.local",
    ".env~",
    ".envrc",
    "prod.env",
    "/h/.ssh/id_ed25519",
    "/h/.ssh/deploy",
    "/h/.ssh/known_hosts",
    "/h/.ssh",
    "/h/.config/gh/hosts.yml",
    "/h/.config/gcloud/x",
    "tls/server.KEY",
    "cert.pem",
    "AuthKey_1.p8",
    "/h/.aws/credentials",
    "/h/.aws/sso/cache/x.json",
    "/h/.azure/msal_token_cache.json",
    "/h/.kube/config",
    "/h/.docker/config.json",
    "my-service-account-1.json",
    "x_service_account.json",
    "/etc/shadow",
    "sudoers",
    "credentials",
    "config/credentials.yml",
    "google-credentials.json",
    "/h/.charla/google-credentials.json",
    "/h/.charla/keys.json",
    "client_secret.json",
    "client_secret_1.apps.googleusercontent.com.json",
    "secrets.yml",
    "secrets.json",
    "secrets.toml",
    "terraform.tfvars",
    "terraform.tfstate",
    "oauth_creds.json",
    "application_default_credentials.json",
    ".git/config",
    "vendor/x/.git/config",
    ".npmrc",
    ".pgpass",
    "/proc/self/environ",
    "/proc/1/task/1/environ",
    "/h/.mozilla/firefox/x/key4.db",
    "id_rsa",
    "id_rsa_work",
    "/h/.claude.json",
    "/h/.codex/auth.json",
    "/h/.local/share/opencode/auth.json",
    "/h/.qwen/.env",
    "./.env/.",
];

const PLAIN: &[&str] = &[
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env-example",
    "example.env",
    "environment.rs",
    "id_rsa.pub",
    "/h/.config/git/config",
    "key.rs",
    "config",
    "config.json",
    "keys.md",
    "keys.json",
    "credentials.rs",
    "src/credentials/mod.rs",
    "src/shadow.css",
    "id_rsa.rs",
    ".env.d.ts",
    "process.env",
    "/proc/cpuinfo",
    "/",
    "",
];

#[test]
fn names_tell_secrets_from_templates_and_public_keys() {
    for path in SECRET {
        assert!(looks_secret(Path::new(path)), "{path}");
        assert!(word_names_secret(path), "{path}");
    }
    for path in PLAIN {
        assert!(!looks_secret(Path::new(path)), "{path}");
        assert!(!word_names_secret(path), "{path}");
    }
}

#[test]
fn a_secret_is_seen_wherever_it_stands_in_a_word() {
    for word in ["HEAD:.env", "--file=.env.local", "@.env", "-f.env", "-C.ssh", "x,.env", "<(cat .env)"] {
        assert!(word_names_secret(word), "{word}");
    }
    for word in ["-rf", "--", "-", "--file=.env.example", "a=b"] {
        assert!(!word_names_secret(word), "{word}");
    }
}

#[test]
fn patterns_are_compared_with_the_whole_list() {
    use PatternDots::{Matched, Written};
    let may = |pattern: &str, dots| pattern_may_match_secret(pattern, dots);
    let both = [
        "*",
        ".e*",
        "*.pem",
        ".*",
        "id_*",
        "config/*",
        "[a-z]*",
        "*.json",
        ".pg*",
        "*-account.json",
        "?*",
        ".[a-f]nv",
        ".[!x]nv",
        ".[[:alpha:]]nv",
        ".{x,env}",
        "@(.env|x)",
        ".ssh/*",
        "**/*",
        "**",
        ".ENV*",
        "*.{md,pem}",
        "*.k?y",
        r"\.env*",
        "*.tf*",
        "[",
        "secrets.y*ml",
        ".env",
        "{a,{b,.env}}",
        "*.[A-z]em",
        "*.local",
        ".docker/*",
        "**/config.js*",
        "i[c-e][A-_]rsa",
    ];
    for pattern in both {
        assert!(may(pattern, Written) && may(pattern, Matched), "{pattern}");
    }
    for pattern in [
        "*.rs",
        "src/*.py",
        "test_*.c",
        "*.{ts,tsx}",
        "src/**/*.go",
        "[Mm]akefile",
        "README*",
        "*.txt",
        "src/*.lock",
        "*.md",
        "x[.]rs",
    ] {
        assert!(!may(pattern, Written) && !may(pattern, Matched), "{pattern}");
    }
    // A wildcard of the shell does not match a leading dot; that of an include pattern does.
    for pattern in ["*env", "*rc", "?env", "[.e]env", "*netrc"] {
        assert!(may(pattern, Matched), "{pattern}");
    }
    for pattern in ["?gpass", "*.npmrc"] {
        assert!(!may(pattern, Written), "{pattern}");
    }
    assert!(may(&"x".repeat(5000), Written) && may(&"{a,b}".repeat(10), Written));
}

#[test]
fn every_name_on_the_list_is_met_by_itself_and_by_a_star() {
    for file in FILES {
        let example = file.replace('*', "x");
        assert!(word_names_secret(&example), "{example}");
        assert!(pattern_may_match_secret(&format!("{example}*"), PatternDots::Written), "{example}*");
        assert_eq!(*file, file.to_lowercase());
    }
    for folder in FOLDERS {
        assert!(word_names_secret(&format!("~/{folder}/x")), "{folder}");
        assert_eq!(*folder, folder.to_lowercase());
    }
}

#[test]
fn folders_are_known_whose_files_are_secret_for_their_sake() {
    for folder in [".kube", "home/.docker", ".ssh", ".ssh/keys", ".config", "x/.AWS", ".git"] {
        assert!(makes_secret(Path::new(folder)), "{folder}");
    }
    for folder in ["src", "kube", "docs/config", "", ".github"] {
        assert!(!makes_secret(Path::new(folder)), "{folder}");
    }
}
