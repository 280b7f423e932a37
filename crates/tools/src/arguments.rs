//! Arguments read into the types of the tools that run things, talk to the network or to the person.

use charla_proto::{Args, FunctionDeclaration, ToolError};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the arguments; a mistake is told with the argument's name. Unknown ones are passed over.
pub(crate) fn read<T: DeserializeOwned>(args: Args) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(Value::Object(args)).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!("`{path}`: ") };
        invalid(format!("{place}{}", error.inner()))
    })
}

/// Arguments that cannot be used, and why.
pub(crate) fn invalid(message: impl std::fmt::Display) -> ToolError {
    fault("invalid_args", format!("The arguments are not valid: {message}."))
}

/// A failure of this kind.
pub(crate) fn fault(kind: &str, message: impl Into<String>) -> ToolError {
    ToolError { kind: kind.to_owned(), message: message.into() }
}

/// A declaration; `schema` is the JSON Schema of the arguments.
pub(crate) fn declare(name: &str, description: &str, schema: Value) -> FunctionDeclaration {
    FunctionDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters_json_schema: schema,
        ..FunctionDeclaration::default()
    }
}
