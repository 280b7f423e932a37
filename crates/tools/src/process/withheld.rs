//! Which of a user's variables the processes we start may see.
//!
//! A command's output goes to a model, and a command that a model wrote may send what it sees anywhere. So no variable
//! that looks like a secret is handed on, and what opens doors without being one, such as the socket of a key agent, only
//! to commands that a person or a rule has approved.

use std::collections::BTreeSet;

use charla_proto::carries_credential;

/// Who gets a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every child.
    Every,
    /// Only what was approved.
    Approved,
    /// No child.
    Nobody,
}

/// What decides about variables beside their names: the keys this user has, and what they let through.
#[derive(Clone, Debug, Default)]
pub struct Withheld {
    keys: BTreeSet<String>,
    values: BTreeSet<String>,
    passed: BTreeSet<String>,
}

/// Values shorter than this are too common to be told from others.
const LEAST_VALUE: usize = 8;

/// They open a door: a key agent, a message bus, a screen, a cluster. Or they change what a command line means, which was
/// judged without them.
const APPROVED: [&str; 20] = [
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "KRB5CCNAME",
    "KUBECONFIG",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "BASH_ENV",
    "ENV",
    "CDPATH",
    "GLOBIGNORE",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
];

/// What the variables of git begin with that unasked commands get: the user's settings, and who they are. The others choose
/// another repository, other attributes or programs.
const OF_GIT: [&str; 6] = [
    "GIT_CONFIG",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_",
    "GIT_OPTIONAL_LOCKS",
];

/// Harmless, although their names resemble those of secrets.
const HARMLESS: [&str; 10] = [
    "PWD",
    "OLDPWD",
    "GOPRIVATE",
    "PASSWORD_STORE_DIR",
    "TOKENIZERS_PARALLELISM",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_PAGER",
    "AWS_CA_BUNDLE",
];

const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"];

/// What stands anywhere in the name of a secret.
const PARTS: [&str; 10] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "PRIVATE",
    "APIKEY",
    "COOKIE",
    "OAUTH",
];

/// Words of such a name.
const WORDS: [&str; 12] =
    ["HEADERS", "PASS", "PAT", "KEY", "KEYS", "PWD", "PW", "PSWD", "AUTH", "JWT", "BEARER", "DSN"];

/// How the keys and tokens of well-known services begin.
const BEGINNINGS: [&str; 14] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AIza",
    "AKIA",
    "hf_",
];

impl Withheld {
    /// Beside what looks like a secret, these variables hold keys of model providers, and the user lets those through.
    pub fn new(keys: impl IntoIterator<Item = String>, passed: impl IntoIterator<Item = String>) -> Self {
        Self {
            keys: keys.into_iter().collect(),
            values: BTreeSet::new(),
            passed: passed.into_iter().collect(),
        }
    }

    /// The same, which knows the keys' values among these variables: a copy under another name is no less secret.
    pub(super) fn with_values<'a>(&self, variables: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let keys = variables.filter(|(name, _)| self.keys.contains(*name));
        let values =
            keys.map(|(_, value)| value.trim().to_owned()).filter(|value| value.len() >= LEAST_VALUE);
        Self { values: values.collect(), ..self.clone() }
    }

    /// Who gets this variable.
    pub fn reach(&self, name: &str, value: &str) -> Reach {
        let known = name.to_ascii_uppercase();
        if self.passed.contains(name) {
            Reach::Approved
        } else if self.keys.contains(name) || self.values.contains(value.trim()) {
            Reach::Nobody
        } else if APPROVED.contains(&&*known) || known.starts_with("BASH_FUNC_") || chooses_for_git(&known) {
            Reach::Approved
        } else if PROXIES.contains(&&*known) && is_secret_value(value) {
            // Without it nothing that was approved could reach the network.
            Reach::Approved
        } else if is_secret_name(name) || is_secret_value(value) {
            Reach::Nobody
        } else {
            Reach::Every
        }
    }
}

fn chooses_for_git(name: &str) -> bool {
    name.starts_with("GIT_") && !OF_GIT.iter().any(|start| name.starts_with(start))
}

/// True for names that commonly hold a key, a password or another secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if HARMLESS.contains(&&*name) {
        return false;
    }
    let name = name.replace("TOKENIZER", "");
    let api_key = name.split_once("API").is_some_and(|(_, rest)| rest.contains("KEY"));
    api_key
        || name.starts_with("AWS_")
        || PARTS.iter().any(|part| name.contains(part))
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// True for a value that is a secret whatever its name: an address with a password in it, a private key, a known token.
fn is_secret_value(value: &str) -> bool {
    let value = value.trim();
    BEGINNINGS.iter().any(|beginning| value.starts_with(beginning) && value.len() > beginning.len() + 8)
        || (value.contains("-----BEGIN") && value.contains("PRIVATE KEY"))
        || carries_credential(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(name: &str, value: &str) -> Reach {
        Withheld::default().reach(name, value)
    }

    #[test]
    fn secrets_reach_no_child() {
        for name in [
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "db_password",
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "GITHUB_PAT",
            "AZURE_DEVOPS_EXT_PAT",
            "GOOGLE_VERTEX_ACCESS_TOKEN",
            "AWS_SESSION_TOKEN",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "NPM_TOKEN",
            "npm_config__auth",
            "DB_PASS",
            "MYSQL_PWD",
            "PGPASSWORD",
            "REDISCLI_AUTH",
            "WORK_KEY",
            "SIGNING_KEY",
            "SSH_PRIVATE_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_OAUTH_CLIENT_SECRET",
            "CLIENT_SECRET",
            "CARGO_REGISTRY_TOKEN",
            "SENTRY_DSN",
            "ERLANG_COOKIE",
            "GPG_PASSPHRASE",
            "apikey",
            "RAPIDAPI_KEY",
            "DOCKER_AUTH_CONFIG",
            "VAULT_TOKEN",
            "MY_PASSWD",
            "JWT",
        ] {
            assert_eq!(reach(name, "x"), Reach::Nobody, "{name}");
        }
        for (name, value) in [
            ("DATABASE_URL", "postgres://ada:s3cret@db/app"),
            ("CELERY_BROKER", "redis://:s3cret@host:6379/0"),
            ("UPSTREAMS", "http://a/ http://u:p@b/"),
            ("X", "ghp_0123456789abcdef"),
            ("Y", "sk-ant-0123456789"),
            ("CERT", "-----BEGIN RSA PRIVATE KEY-----\nabc"),
        ] {
            assert_eq!(reach(name, value), Reach::Nobody, "{name}={value}");
        }
    }

    #[test]
    fn what_commands_need_reaches_them() {
        for (name, value) in [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/h"),
            ("PWD", "/w"),
            ("OLDPWD", "/w"),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C"),
            ("TERM", "xterm"),
            ("TMPDIR", "/t"),
            ("USER", "ada"),
            ("SHELL", "/bin/bash"),
            ("EDITOR", "vi"),
            ("TZ", "UTC"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("VIRTUAL_ENV", "/v"),
            ("RUSTUP_HOME", "/r"),
            ("CARGO_HOME", "/c"),
            ("JAVA_HOME", "/j"),
            ("GOPATH", "/g"),
            ("GOPRIVATE", "git.example/*"),
            ("NODE_ENV", "test"),
            ("RUST_LOG", "debug"),
            ("SSH_ASKPASS", "/bin/ask"),
            ("PASSWORD_STORE_DIR", "/p"),
            ("AWS_REGION", "eu"),
            ("KEYMAP", "de"),
            ("COLORTERM", "1"),
            ("DATABASE_URL", "sqlite:///tmp/x.db"),
            ("REPOSITORY", "ssh://git@host/x.git"),
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("XDG_CONFIG_HOME", "/x"),
            ("LS_COLORS", "di=01;34"),
            ("PKG_CONFIG_PATH", "/p"),
            ("COMPATIBLE", "1"),
        ] {
            assert_eq!(reach(name, value), Reach::Every, "{name}={value}");
        }
    }

    #[test]
    fn what_opens_doors_reaches_only_what_was_approved() {
        for (name, value) in [
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
            ("GPG_AGENT_INFO", "/run/gpg"),
            ("BASH_ENV", "/h/.env.sh"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("https_proxy", "http://u:p@proxy:3128"),
        ] {
            assert_eq!(reach(name, value), Reach::Approved, "{name}={value}");
        }
    }

    #[test]
    fn keys_are_known_by_name_and_by_value_and_the_user_lets_some_through() {
        let withheld = Withheld::new(["PLAIN".to_owned()], ["GITHUB_TOKEN".to_owned()]);
        let withheld = withheld.with_values([("PLAIN", "abcdefgh"), ("OTHER", "12345678")].into_iter());
        assert_eq!(withheld.reach("PLAIN", "abcdefgh"), Reach::Nobody);
        assert_eq!(withheld.reach("COPY", "abcdefgh"), Reach::Nobody);
        assert_eq!(withheld.reach("OTHER", "12345678"), Reach::Every);
        assert_eq!(withheld.reach("GITHUB_TOKEN", "x"), Reach::Approved);
    }
}
