//! Which modules need which, and whether any of them need each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Module, modules_of, paths};

/// A crate's modules, and where the names lead that they import.
struct Modules {
    known: BTreeSet<Vec<String>>,
    imported: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl Modules {
    fn new(modules: &[Module]) -> Self {
        let known = modules.iter().map(|module| module.path.clone()).collect();
        let mut all = Self { known, imported: BTreeMap::new() };
        for module in modules {
            for path in paths(&module.tokens) {
                if let (Some(name), Some(target)) = (path.name, all.absolute(&module.path, &path.segments)) {
                    all.imported.insert((module.path.clone(), name), target);
                }
            }
        }
        all
    }

    fn child(&self, path: &[String], name: &str) -> Option<Vec<String>> {
        let child: Vec<String> = path.iter().cloned().chain([name.to_owned()]).collect();
        self.known.contains(&child).then_some(child)
    }

    /// A path from the crate's root; nothing for one that leads out of the crate.
    fn absolute(&self, at: &[String], segments: &[String]) -> Option<Vec<String>> {
        let mut start = at.to_vec();
        let mut rest = segments;
        match rest.first()?.as_str() {
            "crate" => (start, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    start.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                self.child(at, first)?;
            }
        }
        start.extend(rest.iter().cloned());
        Some(start)
    }

    /// The module in which what this path names is declared.
    fn home(&self, path: &[String], depth: usize) -> Vec<String> {
        let mut module: Vec<String> = Vec::new();
        for (index, name) in path.iter().enumerate() {
            if let Some(child) = self.child(&module, name) {
                module = child;
                continue;
            }
            if let Some(imported) = self.imported.get(&(module.clone(), name.clone()))
                && depth < 8
            {
                let further = imported.iter().chain(&path[index + 1..]).cloned().collect::<Vec<_>>();
                return self.home(&further, depth + 1);
            }
            break;
        }
        module
    }
}

/// Which siblings each module needs, with a place where it does; the key is their parent and the module.
type Needs = BTreeMap<(Vec<String>, String), BTreeMap<String, String>>;

fn needs(modules: &[Module]) -> Needs {
    let all = Modules::new(modules);
    let mut needs = Needs::new();
    for module in modules {
        for path in paths(&module.tokens) {
            let Some(target) = all.absolute(&module.path, &path.segments) else { continue };
            let home = all.home(&target, 0);
            let common = module.path.iter().zip(&home).take_while(|(one, other)| one == other).count();
            // A parent and its child are one thing in two files.
            if let (Some(from), Some(to)) = (module.path.get(common), home.get(common)) {
                let key = (module.path[..common].to_vec(), from.clone());
                let place = format!("{} ({})", module.place(), path.segments.join("::"));
                needs.entry(key).or_default().entry(to.clone()).or_insert(place);
            }
        }
    }
    needs
}

/// A way from a module back to itself, in words.
fn cycle(needs: &Needs) -> Option<String> {
    fn search(needs: &Needs, parent: &[String], way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        let Some(last) = way.last().cloned() else { return false };
        let next = needs.get(&(parent.to_vec(), last.clone()));
        for to in next.into_iter().flat_map(BTreeMap::keys) {
            if let Some(start) = way.iter().position(|one| one == to) {
                way.drain(..start);
                way.push(to.clone());
                return true;
            }
            if !done.contains(to) {
                way.push(to.clone());
                if search(needs, parent, way, done) {
                    return true;
                }
                way.pop();
            }
        }
        done.insert(last);
        false
    }
    needs.keys().find_map(|(parent, from)| {
        let mut way = vec![from.clone()];
        search(needs, parent, &mut way, &mut BTreeSet::new()).then(|| {
            let step = |pair: &[String]| {
                let place = &needs[&(parent.clone(), pair[0].clone())][&pair[1]];
                format!("{} needs {}: {place}", pair[0], pair[1])
            };
            way.windows(2).map(step).collect::<Vec<_>>().join("\n")
        })
    })
}

#[test]
fn no_module_of_the_library_and_the_command_line_needs_one_that_needs_it() {
    for krate in ["charla", "cli"] {
        let needs = needs(&modules_of(krate));
        assert!(needs.len() > 5, "{krate}: hardly any modules were found");
        if let Some(cycle) = cycle(&needs) {
            panic!("modules of `{krate}` need each other:\n{cycle}");
        }
    }
}
