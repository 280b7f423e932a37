//! Tools whose arguments are a type: the type is the one declaration of what a tool takes.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::tool::Tool;
use charla_proto::{Args, BoxFuture, FunctionDeclaration, Invocation, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::args::Schema;

/// A call that was checked, or why it cannot be made.
pub type PreparedCall = Result<Box<dyn Invocation>, ToolError>;

/// A tool that takes its arguments as a type. [`Typed`] makes a [`Tool`] of it.
pub trait TypedTool: Send + Sync + 'static {
    /// What it takes. Its doc comments are what the model reads.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// Its name.
    const NAME: &'static str;

    /// What it does and when to use it, for the model.
    const DESCRIPTION: &'static str;

    /// The schema of what it takes, as JSON, so that no program has to derive it; a test compares it with the type.
    const SCHEMA: &'static str;

    /// Says what would happen. The arguments fit the schema; has no side effects.
    fn prepare(&self, args: Self::Args, cx: &ToolContext) -> impl Future<Output = PreparedCall> + Send;
}

/// A [`TypedTool`] as a [`Tool`]: checks what a model gives before the tool sees it.
pub struct Typed<T> {
    tool: T,
    schema: Arc<Schema>,
}

impl<T: TypedTool> Typed<T> {
    /// This tool.
    pub fn new(tool: T) -> Self {
        Self { tool, schema: schema_of::<T>() }
    }
}

/// The schema of a tool's type: made once in a process, and shared by all its sessions.
fn schema_of<T: TypedTool>() -> Arc<Schema> {
    static MADE: Mutex<BTreeMap<TypeId, Arc<Schema>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        Arc::new(Schema::new(FunctionDeclaration {
            name: T::NAME.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            parameters_json_schema: serde_json::from_str(T::SCHEMA).unwrap_or_default(),
            ..FunctionDeclaration::default()
        }))
    };
    made.entry(TypeId::of::<T>()).or_insert_with(make).clone()
}

/// What is wrong with arguments for the built-in tool of this name, as far as its schema tells: nothing of a session is needed.
pub fn built_in_problem(name: &str, args: Args) -> Option<ToolError> {
    let schemas = [
        schema_of::<crate::ask_user::AskUser>(),
        schema_of::<crate::command::ListBackgroundProcesses>(),
        schema_of::<crate::command::ReadBackgroundOutput>(),
        schema_of::<crate::command::RunShellCommand>(),
        schema_of::<crate::files::ListDirectory>(),
        schema_of::<crate::files::ReadFile>(),
        schema_of::<crate::files::ReadManyFiles>(),
        schema_of::<crate::files::Replace>(),
        schema_of::<crate::files::SaveMemory>(),
        schema_of::<crate::files::WriteFile>(),
        schema_of::<crate::search::Glob>(),
        schema_of::<crate::search::GrepSearch>(),
        schema_of::<crate::todos::WriteTodos>(),
        schema_of::<crate::web_fetch::WebFetch>(),
        schema_of::<crate::web_search::WebSearch>(),
    ];
    schemas.iter().find(|schema| schema.declaration().name == name)?.check(args).err()
}

impl<T: TypedTool> Tool for Typed<T> {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(&'a self, args: Args, cx: &'a ToolContext) -> BoxFuture<'a, PreparedCall> {
        Box::pin(async move { self.tool.prepare(self.schema.read(args)?, cx).await })
    }
}

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;
    use schemars::transform::RecursiveTransform;
    use serde::Deserialize;
    use serde_json::{Map, Value, json};

    use super::*;

    /// The schema of an object with the fields of `T` and no others.
    fn parameters<T: JsonSchema>() -> Value {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let generator = settings.with_transform(RecursiveTransform(plain)).into_generator();
        let mut schema = generator.into_root_schema_for::<T>().to_value();
        let mut take = |key: &str| schema.get_mut(key).map(Value::take);
        let properties = take("properties").unwrap_or_else(|| Map::new().into());
        let required = take("required").unwrap_or_else(|| Vec::<Value>::new().into());
        // Written out: `json!` would copy all of it once more.
        let fields = [
            ("type", Value::from("object")),
            ("properties", properties),
            ("required", required),
            ("additionalProperties", Value::from(false)),
        ];
        fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Map<_, _>>().into()
    }

    /// Leaves what every provider understands: an optional field may be left out, so it need not take null too.
    fn plain(schema: &mut schemars::Schema) {
        let Some(fields) = schema.as_object_mut() else { return };
        fields.retain(|key, _| !["format", "default"].contains(&key.as_str()));
        if let Some(types) = fields.get_mut("type")
            && let Some([one, null]) = types.as_array().map(Vec::as_slice)
            && null == "null"
        {
            *types = one.clone();
        }
        if let Some(Value::String(words)) = fields.get_mut("description") {
            *words = words.replace('\n', " ");
        }
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct BuildArgs {
        /// What to build,
        /// by name.
        #[schemars(length(min = 1))]
        target: String,
        /// How many at once.
        #[schemars(range(min = 1))]
        jobs: Option<u32>,
        #[serde(default)]
        force: bool,
        /// What to leave out.
        #[serde(default)]
        filter: BuildFilter,
    }

    #[derive(Default, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct BuildFilter {
        tests: Option<bool>,
    }

    /// What stands in the file, beside what the type says.
    fn compare<T: TypedTool>() {
        let derived = parameters::<T::Args>().to_string() + "\n";
        let name = T::NAME;
        assert_eq!(T::SCHEMA, derived, "write it to crates/tools/src/schemas/{name}.json");
    }

    #[test]
    fn the_schemas_that_are_written_down_are_those_of_the_types() {
        compare::<crate::ask_user::AskUser>();
        compare::<crate::command::ListBackgroundProcesses>();
        compare::<crate::command::ReadBackgroundOutput>();
        compare::<crate::command::RunShellCommand>();
        compare::<crate::files::ListDirectory>();
        compare::<crate::files::ReadFile>();
        compare::<crate::files::ReadManyFiles>();
        compare::<crate::files::Replace>();
        compare::<crate::files::SaveMemory>();
        compare::<crate::files::WriteFile>();
        compare::<crate::search::Glob>();
        compare::<crate::search::GrepSearch>();
        compare::<crate::todos::WriteTodos>();
        compare::<crate::web_fetch::WebFetch>();
        compare::<crate::web_search::WebSearch>();
    }

    #[test]
    fn the_schema_of_arguments_says_what_a_model_needs_and_no_more() {
        let expected = json!({
            "type": "object",
            "properties": {
                "target": { "description": "What to build, by name.", "type": "string", "minLength": 1 },
                "jobs": { "description": "How many at once.", "type": "integer", "minimum": 1 },
                "force": { "type": "boolean" },
                "filter": {
                    "description": "What to leave out.",
                    "type": "object",
                    "properties": { "tests": { "type": "boolean" } },
                },
            },
            "required": ["target"],
            "additionalProperties": false,
        });
        assert_eq!(parameters::<BuildArgs>(), expected);
    }
}
