//! The model a session is bound to, and what it is given with each request.

use std::sync::Arc;

use charla_proto::{ApprovalMode, Content, GenerateRequest, Tool};

use super::host::{BoundModel, Equipment, Host, Situation};

/// A model, and tools and instruction as they fit the situation.
pub(super) struct Binding {
    pub(super) host: Arc<dyn Host>,
    pub(super) model: BoundModel,
    /// With the situation and the version it was made for.
    equipment: Option<(Situation, u64, Equipment)>,
    /// Counts the models somebody asked for: the last one is meant.
    pub(super) wishes: u64,
}

impl Binding {
    pub(super) fn new(host: Arc<dyn Host>, model: BoundModel) -> Self {
        Self { host, model, equipment: None, wishes: 0 }
    }

    /// Another model answers from the next request on.
    pub(super) fn bind(&mut self, model: BoundModel) {
        self.model = model;
        self.forget();
    }

    /// Tools and instruction are asked for anew.
    pub(super) fn forget(&mut self) {
        self.equipment = None;
    }

    /// Tools and instruction for this mode and presence.
    pub(super) fn equipment(&mut self, mode: ApprovalMode, somebody: bool) -> Equipment {
        let is_for = |then: &Situation| {
            then.mode == mode && then.somebody == somebody && then.model == self.model.reference
        };
        // Looked at first: what changes meanwhile is asked for the next time.
        let version = self.host.equipment_version();
        if let Some((then, made_for, equipment)) = &self.equipment
            && is_for(then)
            && *made_for == version
        {
            return equipment.clone();
        }
        let situation = Situation { model: self.model.reference.clone(), mode, somebody };
        let equipment = self.host.equip(&situation);
        self.equipment = Some((situation, version, equipment.clone()));
        equipment
    }

    /// A request with these contents.
    pub(super) fn request(
        &mut self,
        contents: Vec<Arc<Content>>,
        mode: ApprovalMode,
        somebody: bool,
    ) -> GenerateRequest {
        let Equipment { toolbox, instruction } = self.equipment(mode, somebody);
        let mut request = self.model.template.clone();
        request.system_instruction = instruction;
        request.contents = contents;
        let declarations = toolbox.declarations();
        if !declarations.is_empty() {
            request.tools.push(Tool::functions(declarations));
        }
        request
    }
}
