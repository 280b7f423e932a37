//! What programs that we start for ourselves get to see of the environment.
//!
//! A model never asked for them and no policy judges them: Python for the engine, the engine, a key command, an editor. So they
//! are found where no workspace can put them, and get no key but what they are for.

use std::collections::BTreeSet;

use charla_providers::catalog;
use charla_tools::process::{Reach, Withheld};

use crate::environment::Environment;
pub use crate::own_programs::HelperVariables;
use crate::own_programs::{BASICS, FOLDERS, of};
use crate::settings::{KeySource, Settings};

/// How the variables of mathematics libraries, graphics cards and llama.cpp itself begin.
const COMPUTING: [&str; 14] = [
    "CUDA_",
    "NVIDIA_",
    "HIP_",
    "HSA_",
    "ROCR_",
    "ROCM_",
    "GGML_",
    "LLAMA_",
    "OMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "VK_",
    "SYCL_",
];

/// Which variables hold keys of the providers that there are under these settings.
fn key_variables(settings: &Settings) -> BTreeSet<String> {
    let built_in =
        catalog::providers().iter().flat_map(|provider| provider.key_env).map(|name| (*name).to_owned());
    let own = settings.providers.values().filter_map(|provider| match &provider.api_key {
        Some(KeySource::Env(name)) => Some(name.clone()),
        _ => None,
    });
    built_in.chain(own).collect()
}

/// What no child gets under these settings.
pub(crate) fn withheld(settings: &Settings) -> Withheld {
    Withheld::new(key_variables(settings), settings.tools.pass_variables.iter().cloned())
}

/// For the engine.
pub(crate) fn engine(environment: &Environment, settings: &Settings) -> HelperVariables {
    let withheld = withheld(settings);
    let wanted = |name: &str| {
        BASICS.contains(&name)
            || FOLDERS.contains(&name)
            || COMPUTING.iter().any(|start| name.starts_with(start))
    };
    of(environment, |name, value| wanted(name) && withheld.reach(name, value) != Reach::Nobody)
}

/// For a command that prints a key: it may need a token to get there, but no other provider's key.
pub(crate) fn key_command(environment: &Environment) -> HelperVariables {
    let keys = key_variables(&Settings::default());
    of(environment, |name, _| !keys.contains(name))
}

/// For the user's editor.
pub fn editor_variables(environment: &Environment, settings: &Settings) -> HelperVariables {
    let withheld = withheld(settings);
    of(environment, |name, value| withheld.reach(name, value) != Reach::Nobody)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_programs::{SYSTEM, installer};

    fn names(variables: &HelperVariables) -> Vec<&str> {
        let mut names: Vec<&str> = variables.iter().filter_map(|(name, _)| name.to_str()).collect();
        names.sort_unstable();
        names
    }

    fn surroundings(folder: &std::path::Path) -> Environment {
        let path = format!(".:bin::{0}/work/bin:{0}/link:/usr/bin", folder.display());
        let libraries = format!("{}/work/lib:/opt/lib:", folder.display());
        let mut environment = Environment::of([
            ("PATH", path.as_str()),
            ("LD_LIBRARY_PATH", &libraries),
            ("HOME", "/h"),
            ("LANG", "C.UTF-8"),
            ("GEMINI_API_KEY", "key-1"),
            ("WORK", "key-2-of-mine"),
            ("COPY", "key-2-of-mine"),
            ("GITHUB_TOKEN", "t"),
            ("PYTHONPATH", "/evil"),
            ("HTTPS_PROXY", "http://u:p@proxy"),
            ("PIP_INDEX_URL", "https://index.example"),
            ("CUDA_VISIBLE_DEVICES", "0"),
            ("VAULT_ADDR", "https://vault"),
            ("TERM", "xterm"),
        ]);
        environment.directory = folder.join("work");
        environment.home = Some("/h".into());
        environment
    }

    #[test]
    fn each_helper_gets_what_it_needs_and_a_path_outside_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("work/bin")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("work/bin"), folder.path().join("link")).unwrap();
        let environment = surroundings(folder.path());
        let settings = r#"{"providers": {"own": {"apiKey": {"env": "WORK"}}}}"#;
        let settings: Settings = serde_json::from_str(settings).unwrap();
        let path = |variables: &HelperVariables| {
            variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone())
        };
        let installer = installer(&environment);
        assert_eq!(names(&installer), ["HOME", "HTTPS_PROXY", "LANG", "PATH", "PIP_INDEX_URL"]);
        let engine = engine(&environment, &settings);
        assert_eq!(names(&engine), ["CUDA_VISIBLE_DEVICES", "HOME", "LANG", "LD_LIBRARY_PATH", "PATH"]);
        assert!(engine.contains(&("LD_LIBRARY_PATH".into(), "/opt/lib".into())), "{engine:?}");
        let editor = editor_variables(&environment, &settings);
        assert!(!names(&editor).iter().any(|name| ["GEMINI_API_KEY", "WORK", "GITHUB_TOKEN"].contains(name)));
        assert!(names(&editor).contains(&"TERM"));
        let command = key_command(&environment);
        assert!(names(&command).contains(&"GITHUB_TOKEN") && !names(&command).contains(&"GEMINI_API_KEY"));
        for variables in [&installer, &engine, &editor, &command] {
            assert_eq!(path(variables), Some("/usr/bin".into()));
        }
    }

    #[test]
    fn no_search_path_is_no_working_folder() {
        let mut environment = Environment::of([("PATH", ".::bin")]);
        environment.directory = "/w".into();
        assert_eq!(installer(&environment), [("PATH".into(), SYSTEM.into())]);
        assert_eq!(environment.program("sh"), None);
    }
}
