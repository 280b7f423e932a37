//! The tools of an agent: some of those that its caller has.

use std::sync::Arc;

use charla_proto::FunctionDeclaration;
use charla_proto::tool::{Tool, Toolbox};

use crate::agents::Agent;

/// A toolbox of which only the tools that an agent has can be seen and called.
pub(super) struct OnlyTools {
    inner: Arc<dyn Toolbox>,
    agent: Arc<Agent>,
}

impl OnlyTools {
    pub(super) fn new(inner: Arc<dyn Toolbox>, agent: Arc<Agent>) -> Self {
        Self { inner, agent }
    }
}

impl Toolbox for OnlyTools {
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.inner.get(name).filter(|tool| self.agent.has(&tool.declaration().name))
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        let mut all = self.inner.declarations();
        all.retain(|declaration| self.agent.has(&declaration.name));
        all
    }

    fn nearest(&self, name: &str) -> Option<String> {
        self.inner.nearest(name).filter(|meant| self.agent.has(meant))
    }

    fn withholds(&self, name: &str) -> bool {
        self.inner.withholds(name)
    }
}
